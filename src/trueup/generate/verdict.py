"""Why an attempt failed, in words that can be counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.generate.motion.hand import SITE
from trueup.generate.motion.senses import Things
from trueup.simulate import CpuWorlds, Step
from trueup.worlds import sensor_slots

_FAR = 0.01  # m that an arm may lack to a place that it was to reach
_HELD = 0.045  # m between fingertips and an object in the hand
_CARRIED = 0.015  # m that an object has moved in a hand that holds it

BROKE_DOWN = "the physics broke down"
LOST = "the object left the part of the table that the arm reaches"
OUT_OF_REACH = "the arm could not reach to where it was to close its hand"
NEVER_HELD = "the object was never in the hand"
DROPPED = "the object was in the hand and slipped out of it"
TOO_LATE = "the time was up before the task was done"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How an attempt ended.

    Attributes:
        success: Whether the task was done, for as long as the world wants it.
        why: Why not, in words; empty where it was.
    """

    success: bool
    why: str = ""


class Watch:
    """Follows objects and hands in n worlds, to say afterwards what went wrong.

    Args:
        worlds: The batch.
    """

    def __init__(self, worlds: CpuWorlds) -> None:
        self._worlds = worlds
        names = [signal.name for signal in worlds.world.observations]
        seen = any(name.endswith("_orientation") for name in names)
        thing = Things.of(worlds.world).thing if seen else None
        slots = sensor_slots(worlds.compiled.model)
        self._thing = f"truth/{thing}_position" if f"truth/{thing}_position" in slots else None
        self._hand = f"truth/{SITE}_position" if f"truth/{SITE}_position" in slots else None
        n = worlds.n
        self._start = np.zeros((n, 3))
        self._held, self._holds = np.zeros(n, bool), np.zeros(n, bool)
        self._last: Step | None = None

    def begin(self, rows: np.ndarray) -> None:
        """Forget what was in some worlds, which were just reset."""
        self._held[rows] = self._holds[rows] = False
        if self._thing:
            self._start[rows] = self._worlds.truth[self._thing][rows]

    def see(self, step: Step) -> None:
        """Take note of one step of all worlds."""
        self._last = step
        if not (self._thing and self._hand):
            return
        place = self._worlds.truth[self._thing]
        apart = np.linalg.norm(place - self._worlds.truth[self._hand], axis=1)
        moved = np.linalg.norm(place - self._start, axis=1)
        self._holds = apart < _HELD
        self._held |= self._holds & (moved > _CARRIED)

    def verdict(self, row: int, *, far: float) -> Verdict:
        """How the attempt in a row ended just now.

        Args:
            row: The world.
            far: m that the arm lacked to where it was to close its hand.
        """
        step = self._last
        assert step is not None
        if step.success[row]:
            return Verdict(success=True)
        if step.diverged[row]:
            return Verdict(success=False, why=BROKE_DOWN)
        if step.failure[row]:
            return Verdict(success=False, why=LOST)
        if far > _FAR:
            return Verdict(success=False, why=OUT_OF_REACH)
        if self._thing and not self._held[row]:
            return Verdict(success=False, why=NEVER_HELD)
        if self._thing and not self._holds[row]:
            return Verdict(success=False, why=DROPPED)
        return Verdict(success=False, why=TOO_LATE)
