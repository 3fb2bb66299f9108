"""Attempts: each at a point of the space, with a seed, drawn by its number alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.space import Points, Space
from trueup.streams import Streams, seeds_from

_ROUND = 256  # attempts that are drawn together
_POINTS, _SEEDS = range(2)
_CHOICES = 0x67656E  # salt of what is chosen for an attempt: keeps it apart from what happens in it
_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """Some attempts, in order of their numbers.

    Attributes:
        numbers: (n,)
        points: One for each.
        seeds: (n,) the seed of each episode.
    """

    numbers: np.ndarray
    points: Points
    seeds: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def streams(self) -> Streams:
        """Fresh random streams, for what is chosen for each attempt."""
        return Streams(self.seeds, salt=_CHOICES)


class Draw:
    """Attempts without end; number i is the same whenever and beside whatever it is drawn.

    Values of points are rounded to six digits before they are used, so that what a dataset says of
    a world is the whole truth.

    Args:
        space: Where points come from.
        seed: Same seed, same attempts.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        self._rounds: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def numbered(self, numbers: np.ndarray) -> Attempts:
        """The attempts of these numbers, rising."""
        parts = [self._round(int(r)) for r in np.unique(numbers // _ROUND)]
        first = _ROUND * (int(numbers[0]) // _ROUND)
        rounds = np.unique(numbers // _ROUND)
        at = np.searchsorted(rounds, numbers // _ROUND) * _ROUND + numbers % _ROUND
        values = np.concatenate([values for values, _ in parts])
        seeds = np.concatenate([seeds for _, seeds in parts])
        for old in [r for r in self._rounds if r < first // _ROUND]:
            del self._rounds[old]
        return Attempts(
            numbers=numbers, points=Points(self.space.names, values[at]), seeds=seeds[at]
        )

    def _round(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        if r not in self._rounds:
            points, seeds = (np.random.default_rng([self.seed, r, s]) for s in (_POINTS, _SEEDS))
            values = self.space.sample(points, _ROUND).values
            self._rounds[r] = (_rounded(values, self.space), seeds_from(seeds, _ROUND))
        return self._rounds[r]


def _rounded(values: np.ndarray, space: Space) -> np.ndarray:
    """To six digits, within bounds."""
    if not values.shape[1]:
        return values
    size = np.where(values == 0.0, 1.0, np.abs(values))
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(size)))
    low, high = np.array([(p.low, p.high) for p in space]).T
    return np.clip(np.round(values * scale) / scale, low, high)
