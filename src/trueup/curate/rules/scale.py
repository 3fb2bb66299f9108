"""Scale: another unit, or values where no other episode has any."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence, Side
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import Measured
from trueup.curate.survey import root_mean_square

_FACTORS = {180.0 / np.pi: "degrees instead of radians", 1000.0: "thousandths"}
_NEAR = 0.35  # of a logarithm


class Units(Measured):
    """How large the numbers of a whole signal are, beside what is ordinary."""

    name = "units"
    summary = "a signal in another unit"
    side = Side.BOTH
    floor = 0.25

    def measured(self, look: Look) -> Mapping[Place, float]:
        found = {}
        for name, channel in look.channels.items():
            if name in look.survey.turned:  # it has no unit
                continue
            ratio = root_mean_square(channel) / look.survey.size[name]
            found[Place(name)] = float(np.log(max(float(np.median(ratio)), 1e-6)))
        return found

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        off = value - fence.middle
        for factor, words in _FACTORS.items():
            if abs(abs(off) - np.log(factor)) < _NEAR:
                turned = words if off > 0 else f"a unit {factor:.3g} times larger"
                return f"{place} is {np.exp(off):.3g} times as large as elsewhere: {turned}?"
        return f"{place} is {np.exp(off):.3g} times as large as is ordinary"


class Range(Measured):
    """How far a column goes beyond where the others stay."""

    name = "range"
    summary = "values far from those of other episodes"
    rare = 0.1
    side = Side.BOTH
    floor = 0.3

    def measured(self, look: Look) -> Mapping[Place, float]:
        found = {}
        for place, values, span in look.columns():
            found[Place(place.signal, f"{place.column} (high)")] = float(values.max() / span)
            found[Place(place.signal, f"{place.column} (low)")] = float(values.min() / span)
        return found

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"{place} ends {abs(value - fence.middle):.3g} of its ordinary ranges from where "
            "others end"
        )
