"""From the signature of trials to each gap's part of the loss, learned from a bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.diagnose.bank import Bank
from trueup.diagnose.planted import GAPS

_FOLDS = 4
_LEAST = 0.05  # of success: worlds that lose less have no cause to learn from
_NEIGHBOURS = 80


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How the loss splits up if its cause is inside the space.

    Attributes:
        parts: (8,) of the loss, each gap of `GAPS`; they add up to 1.
        low: (8,) lower ends of their 90 % intervals.
        high: (8,) upper ends.
    """

    parts: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Reader:
    """Reads signatures as somebody would who has seen every world of a bank.

    Networks are trained on all but a part of the worlds, and judged on that part; intervals follow
    from how far off they were there, among worlds whose answer was alike.

    Args:
        bank: What was simulated.
        trials: How many trials will be read.
        known: Gaps of which recordings tell how much they cost alone.
        seed: Of the networks.
    """

    def __init__(
        self, bank: Bank, trials: int, known: Sequence[str] = (), *, seed: int = 0
    ) -> None:
        self._known = [GAPS.index(gap) for gap in known]
        self.count = max([k for k in bank.signatures if k <= trials] or [min(bank.signatures)])
        raw = bank.signatures[self.count]
        self._middle, self._scale = _scales(raw)
        lost = bank.nominal - bank.success
        rows = np.flatnonzero(lost > _LEAST)
        self._loss, self._noise = lost[rows], bank.noise[rows]
        self._shares = bank.shares[rows]
        x = self._inputs(raw[rows], bank.alone[rows], self._loss)
        y = _proportions(bank.shares[rows])
        weight = np.minimum(self._loss / 0.3, 1.0)
        fold = np.arange(len(rows)) % _FOLDS
        self._judged = np.zeros_like(y)
        from trueup.diagnose.splitter import fitted, read  # with torch, which takes seconds

        self._nets: list[Any] = []
        for k in range(_FOLDS):
            seen = fold != k
            net = fitted(x[seen], y[seen], weight[seen], self._known, seed=seed + k)
            self._judged[~seen] = read(net, x[~seen])
            self._nets.append(net)

    def read(self, values: np.ndarray, loss: float, alone: Mapping[str, float]) -> Answer:
        """Split a loss up.

        Args:
            values: (F,) the signature.
            loss: What was lost, as a share of 1.
            alone: What each known gap costs by itself, as recordings say.
        """
        from trueup.diagnose.splitter import read

        told = np.zeros((1, len(GAPS)))
        for gap, cost in alone.items():
            told[0, GAPS.index(gap)] = cost
        x = self._inputs(values[None], told, np.array([loss]))
        parts = np.mean([read(net, x)[0] for net in self._nets], axis=0)
        low, high = np.array([self._interval(g, parts) for g in range(len(GAPS))]).T
        return Answer(parts=parts, low=low, high=high)

    @property
    def judged(self) -> np.ndarray:
        """(N,) whether the most costly gap was named first, in worlds that were kept out."""
        return self._judged.argmax(axis=1) == self._shares.argmax(axis=1)

    # ----------------------------------------------------------------------------------------------

    def _inputs(self, raw: np.ndarray, alone: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """(n, F + known) squashed marks, and the part of the loss that each known gap explains."""
        z = np.clip((raw - self._middle) / self._scale, -30.0, 30.0)
        told = alone[:, self._known] / np.maximum(loss, _LEAST)[:, None]
        return np.hstack([np.sign(z) * np.log1p(np.abs(z)), np.clip(told, -0.5, 1.5)])

    def _interval(self, g: int, parts: np.ndarray) -> tuple[float, float]:
        """Where the part lies, by how far off like answers were in worlds that were kept out."""
        apart = np.abs(self._judged - parts).sum(axis=1)
        near = np.argsort(apart + 4 * np.abs(self._judged[:, g] - parts[g]))[:_NEIGHBOURS]
        off = self._shares[near, g] / self._loss[near] - self._judged[near, g]
        chance = self._noise[near, g] / self._loss[near]
        true = max(off.var() - np.minimum(chance, 1.0).mean() ** 2, 0.1 * off.var())
        off = off.mean() + (off - off.mean()) * np.sqrt(true / (off.var() + 1e-12))
        low, high = np.quantile(off, [0.05, 0.95])
        return float(parts[g] + min(low, 0.0)), float(parts[g] + max(high, 0.0))


def _scales(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and spread of each number, unmoved by outliers."""
    low, middle, high = np.quantile(raw, [0.1, 0.5, 0.9], axis=0)
    return middle, np.maximum((high - low) / 2.56, 1e-3 * np.abs(middle) + 1e-6)


def _proportions(shares: np.ndarray) -> np.ndarray:
    positive = np.maximum(shares, 0.0)
    return positive / (positive.sum(axis=1, keepdims=True) + 1e-9)
