"""Surprise: signals that do not follow from each other as in the other episodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.roughness import worst
from trueup.curate.rules.rule import HUNDREDTH, Measured, sized, times

_FRAMES = 5


class Astray(Measured):
    """What the dataset's own dynamics misses, over the whole episode."""

    name = "dynamics"
    summary = "signals that do not follow from each other as elsewhere, all along"
    matters = HUNDREDTH
    rare = 0.06

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            place: sized(float(np.sqrt(np.mean(missed**2))), 1.0)
            for place, missed in look.surprise.items()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return f"what happens to {place} is {times(value, fence)} as hard to foresee as is ordinary"


class Surprise(Measured):
    """What it misses for a moment."""

    name = "surprise"
    summary = "something happens for a moment that no other signal explains"
    matters = HUNDREDTH
    rare = 0.06

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            place: sized(worst(missed, _FRAMES), 1.0) for place, missed in look.surprise.items()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"{place} does for a moment what nothing explains, {times(value, fence)} what is "
            "ordinary"
        )
