"""Cut off: it begins or ends in the middle of a motion, or where no other does.

How long it is does not count: a quick demonstration is short, and good.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence, Side
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import Measured, Sight

_END_S = 0.2
_BRISK = 0.95  # of its own speeds: what is quick for this episode
_REST = 0.02  # of that: what counts as standing
_FRAMES = 3


class Truncation(Measured):
    """Motion at the very beginning or end, where others stand still."""

    name = "truncation"
    summary = "begins or ends in full motion, where others stand still"
    rare = 0.1
    floor = 0.3

    def blind(self, sight: Sight) -> str:
        known = {"command", "joint_position"} & set(sight.survey.signals)
        return "" if known else "there are neither commands nor joint positions"

    def measured(self, look: Look) -> Mapping[Place, float]:
        speed = look.speed
        frames = max(1, round(_END_S / look.period_s))
        if len(speed) < 4 * frames:
            return {}
        brisk = max(float(np.quantile(speed, _BRISK)), 1e-9)
        ends = {"beginning": speed[:frames], "end": speed[-frames:]}
        return {
            Place("", which): float(np.log(max(part.mean() / brisk, _REST)))
            for which, part in ends.items()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        verb = "begins" if place.column == "beginning" else "ends"
        return (
            f"it {verb} at {100 * np.exp(value):.0f} % of its brisk speed, where others are at "
            f"{100 * np.exp(fence.middle):.0f} %"
        )


class Ending(Measured):
    """A last state that is not where the others end, or a first one where none begins."""

    name = "ending"
    summary = "begins or ends where others do not"
    side = Side.BOTH
    floor = 0.05
    rare = 0.12

    def measured(self, look: Look) -> Mapping[Place, float]:
        found = {}
        for place, values, span in look.columns():
            for which, part in (("start", values[:_FRAMES]), ("end", values[-_FRAMES:])):
                found[Place(place.signal, f"{place.column} ({which})")] = float(part.mean() / span)
        return found

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        verb = "begins" if place.column.endswith("(start)") else "ends"
        column = Place(place.signal, place.column.rpartition(" ")[0])
        return (
            f"{column} {verb} {abs(value - fence.middle):.3g} of its ranges from where it "
            f"ordinarily {verb}"
        )
