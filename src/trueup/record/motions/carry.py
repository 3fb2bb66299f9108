"""Carry a thing about while a camera watches: hand and eye tell the same motion twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.record.motions.probe import Course, Probe, raised

_WAY: tuple[tuple[float, float, float], ...] = (
    (0.18, 0.5, 0.08),
    (0.24, 0.25, 0.06),
    (0.20, -0.1, 0.13),
    (0.25, -0.45, 0.07),
    (0.17, -0.6, 0.10),
    (0.22, 0.05, 0.16),
    (0.15, 0.3, 0.06),
)
"""Where it is carried: m from the robot's foot, rad to its left, m above where it stood."""
_TURNS = (
    ("wrist_roll", 1.0),
    ("wrist_flex", -0.5),
    ("wrist_roll", -1.0),
    ("wrist_flex", 0.5),
)
"""How the wrist turns at each place: zeros of the last joints look like another hold otherwise."""
_RAISED_M = 0.015  # a thing that came no higher was not in the hand


@dataclass(frozen=True, kw_only=True)
class Carry(Probe):
    """Take the thing up and carry it from place to place: zeros of the joints, and the camera.

    Places that the hand cannot reach are left out; at least two must be left.
    """

    kind = "carry"
    _sizes: ClassVar[tuple[str, ...]] = ()

    press_rad: float = 0.3
    """How far the gripper is told to close beyond where it stops."""
    leg_s: float = 1.2
    """How long each leg takes, from rest to rest."""
    still_s: float = 0.2
    """How long to stay at each place."""

    by_table: bool = False
    """Take the thing where the table has it, not as high as it is seen: an eye may lean."""

    def __post_init__(self) -> None:
        self._check(
            0.02 <= self.press_rad <= 0.6, f"a press of {self.press_rad} rad", "Give 0.02 to 0.6."
        )
        self._check(0.3 <= self.leg_s <= 10, f"{self.leg_s} s for a leg", "Give 0.3 to 10.")
        self._check(0 <= self.still_s <= 10, f"{self.still_s} s of rest", "Give up to 10.")

    def visit(self, course: Course) -> None:
        if self.by_table:
            course.settle()
        course.grasp(self.press_rad)
        course.go("raise", raised(course.thing, 0.05), seconds=1.0)
        legs = 0
        for place in _places(course):
            try:
                course.go("carry", place, seconds=self.leg_s)
            except TrueupError:  # out of reach from where this thing stood
                continue
            legs += 1
            course.go("still", seconds=self.still_s)
            joint, angle = _TURNS[legs % len(_TURNS)]
            course.turn("turn", joint, angle, seconds=0.8)
            course.go("still", seconds=self.still_s)
        if legs < 2:
            raise TrueupError(
                f"The hand can carry the {self.object} to {legs} of {len(_WAY)} places.",
                fix="Put it nearer to the middle of the arm's reach.",
            )
        course.go("home", raised(course.thing, 0.05), seconds=1.2)
        course.go("down", raised(course.thing, 0.004), seconds=1.0)
        course.go("let go", seconds=0.5, grip=course.opened)
        course.go("up", course.over(course.thing), seconds=0.8)

    def found(self, episode: Episode) -> dict[str, float]:
        place = f"{self.object}_position"
        if place not in episode.signals:
            return {}
        height = episode[place].values[:, 2]
        return {"raised_m": float(np.nanmax(height) - height[0])}

    def missed(self, episode: Episode) -> bool:
        return self.found(episode).get("raised_m", _RAISED_M) < _RAISED_M

    def otherwise(self) -> Carry:
        return replace(self, by_table=True)


def _places(course: Course) -> list[np.ndarray]:
    """(n, 3) each, about the robot's foot."""
    level = np.array([1.0, 1.0, 0.0])
    found = []
    for radius, angle, height in _WAY:
        ahead = np.array([np.cos(angle), np.sin(angle), 0.0])
        ground = course.thing * (1.0 - level)
        found.append(raised(course.foot * level + radius * ahead + ground, height))
    return found
