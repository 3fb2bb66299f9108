"""What comes back when gaps are closed, alone and one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trueup.diagnose import GapReport, Interaction, Share
from trueup.plan.action import GAPS

_NORMAL_90 = 1.6449


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Lost success as a function of how far each gap is closed.

    A Shapley share holds half of what its gap loses together with another. So the loss with gap g
    closed by the part f_g of it is, with own_g = share_g - sum_h I_gh / 2,

        sum_g own_g (1 - f_g) + sum_gh I_gh (1 - f_g) (1 - f_h).

    Two gaps that only hurt together (I > 0): closing either gives all of it back, and the second
    then nothing. Two that each suffice to fail (I < 0): closing one alone gives back less than its
    share.

    Attributes:
        shares: (g,) or (n, g) points by gap, in the order of `GAPS`.
        pairs: (g, g) or (n, g, g) interactions, symmetric, 0 on the diagonal.
    """

    shares: np.ndarray
    pairs: np.ndarray

    def __call__(self, closed: np.ndarray) -> np.ndarray:
        """Points that stay lost when gaps are closed by these parts (..., g)."""
        open_ = 1.0 - closed
        own = self.shares - 0.5 * self.pairs.sum(axis=-1)
        together = np.einsum("...gh,...g,...h->...", self.pairs, open_, open_)
        return (own * open_).sum(axis=-1) + 0.5 * together

    @staticmethod
    def of(report: GapReport) -> Loss:
        """At the report's best values."""
        shares = np.array([report.share(gap).points for gap in GAPS])
        return Loss(shares=shares, pairs=_matrix({p.gaps: p.points for p in report.interactions}))

    @staticmethod
    def drawn(report: GapReport, generator: np.random.Generator, n: int) -> Loss:
        """Possible losses, n of them, as wide as the report's intervals say."""
        shares = np.stack([_draws(report.share(gap), generator, n) for gap in GAPS], axis=1)
        pairs = np.zeros((n, len(GAPS), len(GAPS)))
        for pair in report.interactions:
            values = _draws(pair, generator, n)
            pairs += values[:, None, None] * _matrix({pair.gaps: 1.0})
        return Loss(shares=shares, pairs=pairs)


def _draws(found: Share | Interaction, generator: np.random.Generator, n: int) -> np.ndarray:
    """Around the value, each side as wide as its end of the 90 % interval."""
    z = generator.standard_normal(n) / _NORMAL_90
    below, above = found.points - found.low, found.high - found.points
    return found.points + z * np.where(z < 0, max(below, 0.0), max(above, 0.0))


def _matrix(points: Mapping[tuple[str, str], float]) -> np.ndarray:
    place = {gap: i for i, gap in enumerate(GAPS)}
    pairs = np.zeros((len(GAPS), len(GAPS)))
    for (a, b), value in points.items():
        if a in place and b in place and a != b:
            pairs[place[a], place[b]] += value
            pairs[place[b], place[a]] += value
    return pairs
