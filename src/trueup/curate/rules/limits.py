"""Stops: a joint that is pressed against the end of its range."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import Measured, Sight
from trueup.curate.survey import Survey
from trueup.curate.world_view import WorldView
from trueup.episodes import JointUnits
from trueup.episodes.episode import JOINTS
from trueup.episodes.units import SO101

_NEAR = 0.01  # of the range: this close to its end a joint touches it
_SUFFIX = ".pos"


class Limits(Measured):
    """The share of time for which a joint is at an end of its range."""

    name = "limits"
    summary = "a joint at the end of its range for longer than elsewhere"
    rare = 0.1
    floor = 0.03

    def __init__(self) -> None:
        self._ranges: dict[str, tuple[float, float]] = {}

    def blind(self, sight: Sight) -> str:
        self._ranges = ranges(sight.survey, sight.world)
        if self._ranges:
            return ""
        unit = sight.survey.unit.get(JOINTS)
        if unit is None:
            return "there are no joint positions"
        return f"the ends of the joints are not known (joint positions in {unit})"

    def measured(self, look: Look) -> Mapping[Place, float]:
        found = {}
        for place, values, _ in look.columns():
            if place.signal == JOINTS and place.column in self._ranges:
                low, high = self._ranges[place.column]
                margin = _NEAR * (high - low)
                found[place] = float(np.mean((values < low + margin) | (values > high - margin)))
        return found

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return f"{place} is at the end of its range for {100 * value:.0f} % of the time"


def ranges(survey: Survey, world: WorldView | None) -> dict[str, tuple[float, float]]:
    """The ends of each joint in the dataset's unit, from its world or, for an SO-101, as known."""
    names, unit = survey.names.get(JOINTS, ()), JointUnits.of(survey.unit.get(JOINTS, ""))
    if world is not None and unit is JointUnits.RAD:
        known = world.ranges
        return {name: known[name] for name in names if name in known}
    return {
        name: _ends(unit, joint)
        for name in names
        if unit is not None and (joint := name.removesuffix(_SUFFIX)) in SO101
    }


def _ends(unit: JointUnits, joint: str) -> tuple[float, float]:
    """Of a joint of the SO-101, as LeRobot's driver or our model counts."""
    span = SO101[joint]
    if unit is JointUnits.RAD:
        return span.middle - span.half, span.middle + span.half
    if joint == "gripper":
        return 0.0, 100.0
    most = float(np.rad2deg(span.half)) if unit is JointUnits.DEGREES else 100.0
    return -most, most
