"""Frozen: a column that reads exactly the same while it should change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import Measured, Sight
from trueup.curate.rules.shift import paired
from trueup.episodes.episode import COMMAND, JOINTS

_MOST = 0.85  # of a run: what is left are spikes
_RUN = 3  # readings that are equal: two may be by chance


class Frozen(Measured):
    """How far a servo was told to go while its reading stood, or moved while its command stood."""

    name = "frozen"
    summary = "a joint that stands while it is told to move, or moves while its command stands"
    floor = 0.03

    def blind(self, sight: Sight) -> str:
        return paired(sight)

    def measured(self, look: Look) -> Mapping[Place, float]:
        found: dict[Place, float] = {}
        for place, told, seen, span in look.pairs:
            command = Place(COMMAND, place.column)
            found[place] = _gone(told, seen) / span
            found[command] = _gone(seen, told) / span
        return found

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        if place.signal == JOINTS:
            return f"{place} stands still while it is told to go {100 * value:.0f} % of its range"
        return f"{place} stands still while its joint goes {100 * value:.0f} % of its range"


def _gone(moving: np.ndarray, standing: np.ndarray) -> float:
    """How far one column got while the other read exactly the same; a spike does not count."""
    return max(
        (float(np.quantile(np.abs(moving[a:b] - moving[a]), _MOST)) for a, b in runs(standing)),
        default=0.0,
    )


class Stuck(Measured):
    """The longest time for which a column reads exactly the same."""

    name = "stuck"
    summary = "a column that reads exactly the same for longer than elsewhere"
    floor = 0.07
    rare = 0.1

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            place: max((b - a for a, b in runs(values)), default=0) / len(values)
            for place, values, _ in look.columns()
            if not look.survey.unit[place.signal].endswith("/s")  # what stands has no speed
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"{place} reads exactly the same for {100 * value:.0f} % of the time, where "
            f"{100 * fence.middle:.0f} % is ordinary"
        )


def runs(values: np.ndarray) -> list[tuple[int, int]]:
    """First and last-but-one of each stretch of equal values."""
    same = np.concatenate([[False], np.diff(values) == 0.0, [False]])
    edges = np.flatnonzero(np.diff(same.astype(int)))
    return [(a, b + 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if b + 1 - a >= _RUN]
