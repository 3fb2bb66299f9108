"""Force: peaks of current or torque, servos that are held back, bodies that press or overlap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import Measured, Sight, sized, times
from trueup.curate.rules.shift import paired
from trueup.curate.survey import Survey

_UNITS = ("A", "mA", "N", "N·m", "Nm")
_WORDS = ("current", "effort", "force", "torque", "load")
_SHALLOW_M = 1e-4


class Force(Measured):
    """Peaks of what a servo draws or a sensor feels; else of contacts in the world."""

    name = "force"
    summary = "peaks of current, torque or contact force"
    rare = 0.1

    def blind(self, sight: Sight) -> str:
        if forces(sight.survey) or sight.world is not None:
            return ""
        return f"there is no signal of current, torque or force, and {sight.blind}"

    def measured(self, look: Look) -> Mapping[Place, float]:
        found: dict[Place, float] = {}
        for name in forces(look.survey):
            channel = look.channels.get(name)
            if channel is not None:
                peaks = np.abs(channel.values).max(axis=0)
                for column, peak, span in zip(
                    channel.names, peaks, look.survey.span[name], strict=True
                ):
                    found[Place(name, column)] = sized(float(peak), float(span))
        if not found and look.touch is not None:
            found[Place("contact force")] = float(np.log(max(look.touch.force_n, 0.1)))
        return found

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return f"the peak of {place} is {times(value, fence)} what is ordinary"


class Strain(Measured):
    """How far a servo is from where it is told to be, at most: it is blocked, or pushes."""

    name = "strain"
    summary = "a servo that is held away from its command"
    rare = 0.1
    floor = 0.02

    def blind(self, sight: Sight) -> str:
        return paired(sight)

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            place: float(np.quantile(np.abs(told - seen), 0.98) / span)
            for place, told, seen, span in look.pairs
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"{place} is {100 * value:.0f} % of its range away from its command, where "
            f"{100 * fence.middle:.0f} % is ordinary"
        )


class Penetration(Measured):
    """How deep bodies overlap in the recorded states."""

    name = "penetration"
    summary = "bodies that overlap in the recorded states"
    rare = 0.1
    floor = 0.25

    def blind(self, sight: Sight) -> str:
        return "" if sight.world is not None else sight.blind

    def measured(self, look: Look) -> Mapping[Place, float]:
        if look.touch is None:
            return {}
        return {Place("contact"): float(np.log(max(look.touch.depth_m, _SHALLOW_M)))}

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"bodies overlap by {1e3 * np.exp(value):.1f} mm, where "
            f"{1e3 * np.exp(fence.middle):.1f} mm is ordinary"
        )


def forces(survey: Survey) -> list[str]:
    """Signals that tell a force, by their unit or their name."""
    return [
        name
        for name, unit in survey.unit.items()
        if unit in _UNITS or any(word in name.lower() for word in _WORDS)
    ]
