"""Alike, or not: copies of another episode, and ones that are like no other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import FEWEST, Fence, Side
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.prints import Prints, nearest
from trueup.curate.rules.rule import Measured, Together

_SAME = 1e-5  # of a span: what is closer is the same
_CLOSE = 5e-3  # of a span: two people who do the same thing well differ by more
_ALIKE = 3
_STANDS = 0.05  # of its own brisk speed


class Duplicates(Together):
    """An episode that another one nearly is; the first of them stays."""

    name = "duplicates"
    summary = "nearly a copy of an earlier episode"
    side = Side.BELOW

    def __init__(self) -> None:
        self._partner: np.ndarray = np.zeros(0, int)
        self._close: np.ndarray = np.zeros(0, bool)

    def values(
        self, prints: Prints, pair: tuple[Prints, Prints] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        far, which = nearest(prints.course)
        places = np.flatnonzero(prints.known)
        self._partner = prints.spread(places[which[:, 0]], -1).astype(int)
        self._close = prints.spread(far[:, 0], np.inf) < _CLOSE
        values = prints.spread(np.log(np.maximum(far[:, 0], _SAME)))
        return values, values

    def spared(self, excess: np.ndarray, bad: np.ndarray) -> np.ndarray:
        """The first sound one of several stays: it has no earlier sound one that is its copy."""
        first = (self._partner > np.arange(len(excess))) | (self._partner < 0)
        return np.where(first | bad[self._partner] | ~self._close, 0.0, excess)

    def sentence(self, i: int, value: float, fence: Fence) -> str:
        return f"it is nearly a copy of episode {self._partner[i]}"


class Unlike(Together):
    """Far from every other episode, or from every one of the reference."""

    name = "unlike"
    summary = "far from every other episode, or from the reference set"

    def __init__(self) -> None:
        self._whom = "other episode"

    def values(
        self, prints: Prints, pair: tuple[Prints, Prints] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        if pair is None or len(pair[1].some) < FEWEST:
            values = prints.spread(_loneliness(prints.course, None))
            return values, values
        ours, reference = pair
        self._whom = "episode of the reference"
        ordinary = _loneliness(reference.course, None)
        return ours.spread(_loneliness(ours.course, reference.course)), ordinary

    def sentence(self, i: int, value: float, fence: Fence) -> str:
        factor = np.exp(min(value - fence.middle, 700.0))
        return f"it is {factor:,.3g} times as far as is ordinary from every {self._whom}"


class Idle(Measured):
    """A long time in which the robot does nothing."""

    name = "idle"
    summary = "stands still for a larger share of the time than others"
    rare = 0.1
    floor = 0.05

    def measured(self, look: Look) -> Mapping[Place, float]:
        speed = look.speed
        if len(speed) < 8:
            return {}
        return {Place(): float(np.mean(speed < _STANDS * np.quantile(speed, 0.95)))}

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"it stands still for {100 * value:.0f} % of the time, where "
            f"{100 * fence.middle:.0f} % is ordinary"
        )


def _loneliness(points: np.ndarray, among: np.ndarray | None) -> np.ndarray:
    far, _ = nearest(points, among, k=_ALIKE)
    return np.log(np.maximum(far[:, -1], _SAME))
