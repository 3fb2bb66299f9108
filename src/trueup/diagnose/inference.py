"""From the signature of trials to each gap's part of the loss, learned from a bank."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.diagnose.bank import Bank
from trueup.diagnose.planted import GAPS
from trueup.diagnose.telling import share_told

_FOLDS = 4
_LEAST = 0.05  # of success: worlds that lose less have no cause to learn from
_NEIGHBOURS = 80
_NEAREST = 0.2  # of all bent worlds: those whose trials blame as much on what nobody identified
_HALF = 0.5
_NOBODY = 0.1  # of what recordings clear a gap of: as much of it has no cause in the space
_ALIKE = 0.1  # of a loss: worlds in which recordings say so much more or less against the reading
_ELSE = 0.15  # of a loss: numbers that cost so much and that nobody identified are a second cause


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How the loss splits up if its cause is inside the space.

    Attributes:
        parts: (8,) of the loss, each gap of `GAPS`; they add up to 1, or to less where recordings
            contradict what trials look like.
        low: (8,) lower ends of their 90 % intervals.
        high: (8,) upper ends.
        elsewhere: How likely numbers that recordings do not tell cost a part of it, too, as a share
            of 1.
        odds: How many times as likely what recordings say against the answer is, if the cause is
            outside the space.
    """

    parts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    elsewhere: float = 1.0
    odds: float = 1.0


class Reader:
    """Reads signatures as somebody would who has seen every world of a bank.

    Networks are trained on all but a part of the worlds, and judged on that part; intervals follow
    from how far off they were there, among worlds whose answer was alike.

    Args:
        bank: What was simulated.
        trials: How many trials will be read.
        identified: Parameters that recordings tell: what these cost, gap by gap, is known.
        seed: Of the networks.

    Attributes:
        count: How many trials are read.
    """

    def __init__(
        self, bank: Bank, trials: int, identified: Collection[str] = (), *, seed: int = 0
    ) -> None:
        known = {name.split("/")[0] for name in identified}
        self._known = [g for g, gap in enumerate(GAPS) if gap in known]
        self.count = max([k for k in bank.signatures if k <= trials] or [min(bank.signatures)])
        raw, self._features = bank.signatures[self.count], bank.features
        self._middle, self._scale = _scales(raw)
        lost = bank.nominal - bank.success
        rows = np.flatnonzero(lost > _LEAST)
        self._loss, self._noise = lost[rows], bank.noise[rows]
        self._shares = bank.shares[rows]
        seen = share_told(bank.parameters, bank.bent, identified)[rows]
        told = bank.alone[rows] * seen
        self._untold = _untold(bank.alone[rows], seen)
        unseen = (np.maximum(bank.alone[rows], 0.0) * (1.0 - seen)).sum(axis=1)
        self._elsewhere = unseen > _ELSE * self._loss
        x = self._inputs(raw[rows])
        y = _proportions(bank.shares[rows])
        weight = np.minimum(self._loss / 0.3, 1.0)
        fold = np.arange(len(rows)) % _FOLDS
        self._judged = np.zeros_like(y)
        from trueup.diagnose.splitter import fitted, read  # with torch, which takes seconds

        self._nets: list[Any] = []
        for k in range(_FOLDS):
            others = fold != k
            net = fitted(x[others], y[others], weight[others], seed=seed + k)
            self._judged[~others] = read(net, x[~others])
            self._nets.append(net)
        self._against = self._refuted(self._judged, told, self._loss)
        self._judged = self._heeded(self._judged, told, self._loss)
        self._blamed = _beyond(self._judged, told, self._loss)

    def read(self, values: np.ndarray, loss: float, alone: Mapping[str, float]) -> Answer:
        """Split a loss up.

        Args:
            values: (F,) the signature.
            loss: What was lost, as a share of 1.
            alone: What the identified numbers of each gap cost by themselves.
        """
        here = _told(alone, 1), np.array([loss])
        read = self._read(values[None])
        parts = self._heeded(read, *here)[0]
        low, high = np.array([self._interval(g, parts) for g in range(len(GAPS))]).T
        return Answer(
            parts=parts,
            low=low,
            high=high,
            elsewhere=self._other(_beyond(parts[None], *here)[0]),
            odds=self._odds(self._refuted(read, *here)[0]) if self._known else 1.0,
        )

    def parts(
        self,
        raw: np.ndarray,
        features: Sequence[str],
        loss: np.ndarray,
        alone: Mapping[str, float],
    ) -> np.ndarray:
        """(n, 8) of losses (n,), read as `read` does; of signatures (n, F) with these features."""
        of = {name: i for i, name in enumerate(features)}
        columns = [of.get(name, -1) for name in self._features]
        known = np.array(columns) >= 0
        read = self._read(np.where(known, raw[:, columns], self._middle))
        return self._heeded(read, _told(alone, len(raw)), loss)

    @property
    def judged(self) -> np.ndarray:
        """(N,) whether the most costly gap was named first, in worlds that were kept out."""
        return self._judged.argmax(axis=1) == self._shares.argmax(axis=1)

    # ----------------------------------------------------------------------------------------------

    def _read(self, raw: np.ndarray) -> np.ndarray:
        """(n, 8) parts by signatures (n, F) alone."""
        from trueup.diagnose.splitter import read

        return np.mean([read(net, self._inputs(raw)) for net in self._nets], axis=0)

    def _inputs(self, raw: np.ndarray) -> np.ndarray:
        """(n, F) squashed marks."""
        z = np.clip((raw - self._middle) / self._scale, -30.0, 30.0)
        return np.sign(z) * np.log1p(np.abs(z))

    def _heeded(self, parts: np.ndarray, told: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """(n, 8) parts, in which recordings are heeded where marks mislead.

        A gap whose identified numbers cost less than it is blamed for can only be to blame for the
        others of its numbers, those that recordings do not tell. What it is not to blame for falls
        to the other gaps, and a little of it to none.
        """
        found = self._cleared(parts, told, loss)
        taken = (parts - found).sum(axis=1)
        return found / (found.sum(axis=1) + _NOBODY * taken)[:, None]

    def _cleared(self, parts: np.ndarray, told: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """(n, 8) parts, less what recordings say that gaps are not to blame for."""
        found = parts.copy()
        for g in self._known:
            cost = np.clip(told[:, g] / np.maximum(loss, _LEAST), 0.0, 1.0)
            less = cost + self._untold[g] * np.maximum(parts[:, g] - cost, 0.0)
            found[:, g] = np.minimum(parts[:, g], less)
        return found

    def _refuted(self, parts: np.ndarray, told: np.ndarray, loss: np.ndarray) -> np.ndarray:
        """(n,) of losses, what is blamed on gaps that recordings clear, and explained by none."""
        taken = (parts - self._cleared(parts, told, loss)).sum(axis=1)
        explained = np.maximum(told, 0.0).sum(axis=1) / np.maximum(loss, _LEAST)
        return taken * (1.0 - np.clip(explained, 0.0, 1.0))

    def _odds(self, refuted: float) -> float:
        """How many times as likely that is if the cause is outside the space.

        Half of what lies outside looks like something inside, to trials and recordings alike. The
        trials blame the other half on any gap, and recordings may clear any part of that.
        """
        low, high = max(refuted - _ALIKE, 0.0), min(refuted + _ALIKE, 1.0)
        alike = ((self._against >= low) & (self._against <= high)).sum() + 1
        inside = alike / (len(self._against) + 1) / (high - low)
        return float(_HALF + _HALF / inside)

    def _other(self, blamed: float) -> float:
        """How many bent worlds have a cause that recordings do not tell, of those read alike."""
        many = max(round(_NEAREST * len(self._blamed)), 1)
        near = np.argsort(np.abs(self._blamed - blamed), kind="stable")[:many]
        every = float(np.mean(self._elsewhere)) if len(self._elsewhere) else 1.0
        return float((self._elsewhere[near].sum() + every) / (len(near) + 1))

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


def _told(alone: Mapping[str, float], count: int) -> np.ndarray:
    """(count, 8) what the identified numbers of each gap cost by themselves."""
    found = np.zeros((count, len(GAPS)))
    for gap, cost in alone.items():
        found[:, GAPS.index(gap)] = cost
    return found


def _beyond(parts: np.ndarray, told: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """(n,) of losses (n,), the part that gaps are blamed for beyond what is identified of them."""
    identified = told / np.maximum(loss, _LEAST)[:, None]
    return np.maximum(parts - np.maximum(identified, 0.0), 0.0).sum(axis=1)


def _untold(alone: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(8,) of what bends of a gap cost, the share that recordings would not tell of."""
    cost = np.maximum(alone, 0.0)
    return 1.0 - (cost * seen).sum(axis=0) / np.maximum(cost.sum(axis=0), 1e-9)


def _proportions(shares: np.ndarray) -> np.ndarray:
    positive = np.maximum(shares, 0.0)
    return positive / (positive.sum(axis=1, keepdims=True) + 1e-9)
