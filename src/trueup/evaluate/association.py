"""Which columns go with success: a test that holds however few the failures and many the columns.

For each column there are two statistics: the trend of success along its ranks, and the chi-square
of success by quantile bins, which also sees what is bad at both ends or in the middle. The smaller
of their two p-values is only a score. How small it must be is found by dealing the observed
successes out to the episodes at random, again and again, and keeping the best score over all
columns (Westfall and Young 1993, step-down). So the chance of any false claim stays at the level
for any number of columns, also where counts are too small for the chi-square to be one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

_AT_ONCE = 4_000_000  # numbers in a block of shuffled outcomes
_CLOSE = 1.0 + 1e-6  # scores that differ by rounding alone are equal


@dataclass(frozen=True, kw_only=True)
class Associations:
    """How surely each column goes with success.

    Attributes:
        trend: (columns,) p-values of the trend, each for itself.
        bins: (columns,) p-values of the bins, each for itself.
        corrected: (columns,) p-values for both and over all columns.
    """

    trend: np.ndarray
    bins: np.ndarray
    corrected: np.ndarray


def associations(
    values: np.ndarray,
    bins: np.ndarray,
    success: np.ndarray,
    generator: np.random.Generator,
    *,
    shuffles: int = 999,
) -> Associations:
    """Test every column of `values` against success.

    Args:
        values: (n, columns) numbers; only their order counts.
        bins: (n, columns) the bin of each, from 0.
        success: (n,)
        generator: Deals out the outcomes.
        shuffles: How often.
    """
    table = _Table(values, bins)
    trend, by_bins = (p[0] for p in table.p_values(success[None].astype(np.float32)))
    score = np.minimum(trend, by_bins)
    order = np.argsort(score, kind="stable")
    hits = np.zeros(len(order), int)
    rows = max(1, min(shuffles, _AT_ONCE // max(1, len(success))))
    for start in range(0, shuffles, rows):
        dealt = np.tile(success.astype(np.float32), (min(rows, shuffles - start), 1))
        shuffled = np.minimum(*table.p_values(generator.permuted(dealt, axis=1)))[:, order]
        best = np.minimum.accumulate(shuffled[:, ::-1], axis=1)[:, ::-1]  # of this and weaker ones
        hits += (best <= score[order] * _CLOSE).sum(axis=0)
    corrected = np.empty(len(order))
    corrected[order] = np.maximum.accumulate((1 + hits) / (1 + shuffles))
    return Associations(trend=trend, bins=by_bins, corrected=corrected)


class _Table:
    """The columns, ready to be tested against many outcomes at once."""

    def __init__(self, values: np.ndarray, bins: np.ndarray) -> None:
        n, columns = values.shape
        ranks = np.stack([_ranks(column) for column in values.T], axis=1)
        ranks -= ranks.mean(axis=0)
        self._ranks = (ranks / np.sqrt((ranks**2).sum(axis=0))).astype(np.float32)
        self._counts = bins.max(axis=0) + 1
        self._starts = np.cumsum([0, *self._counts])[:-1]
        self._member = np.zeros((n, int(self._counts.sum())), np.float32)
        for j in range(columns):
            self._member[np.arange(n), self._starts[j] + bins[:, j]] = 1.0
        self._sizes = self._member.sum(axis=0)

    def p_values(self, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P-values (k, columns) of trend and bins for outcomes (k, n), with equal sums."""
        n, good = outcomes.shape[1], float(outcomes[0].sum())
        if good in (0.0, n):
            certain = np.ones((len(outcomes), len(self._counts)))
            return certain, certain
        spread = good * (n - good) / (n * (n - 1.0))
        trend = (outcomes @ self._ranks).astype(float) ** 2 / spread
        expected = self._sizes * (good / n)
        off = (outcomes @ self._member - expected) ** 2 / expected
        bins = np.add.reduceat(off, self._starts, axis=1).astype(float) * (n / (n - good))
        return special.chdtrc(1, trend), special.chdtrc(self._counts - 1, bins)


def _ranks(column: np.ndarray) -> np.ndarray:
    """Ranks from 0; equal values share their mean."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - 0.5 * (counts + 1))[place]
