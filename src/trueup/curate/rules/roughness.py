"""Rough: jerk all along, a burst of noise, a jump from one frame to the next."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import HUNDREDTH, Measured, sized, times

_WINDOW_S = 0.25


class Jerk(Measured):
    """The third difference of a column, over the whole episode."""

    name = "jerk"
    summary = "jerkier than other episodes, all along"
    matters = HUNDREDTH

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            place: sized(float(np.sqrt(np.mean(np.diff(values, 3) ** 2))), span)
            for place, values, span in look.columns()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return f"{place} is {times(value, fence)} as jerky as is ordinary"


class Burst(Measured):
    """Steps to and fro, frame by frame, where they are worst for a quarter of a second.

    What moves does not turn round at every frame, not even in a collision; noise and spikes do.
    """

    name = "burst"
    summary = "goes to and fro from frame to frame for a moment: noise, spikes"
    matters = HUNDREDTH

    def measured(self, look: Look) -> Mapping[Place, float]:
        frames = max(2, round(_WINDOW_S / look.period_s))
        return {
            place: sized(worst(_turning(values), frames), span)
            for place, values, span in look.columns()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return f"{place} goes to and fro for a moment, {times(value, fence)} as far as is ordinary"


class Jump(Measured):
    """The largest step of a column from one frame to the next."""

    name = "jump"
    summary = "goes too far from one frame to the next"
    matters = HUNDREDTH

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            place: sized(float(np.abs(np.diff(values)).max()), span)
            for place, values, span in look.columns()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return (
            f"{place} jumps by {100 * np.exp(value):.3g} % of its range in one frame, "
            f"{times(value, fence)} what is ordinary"
        )


def _turning(values: np.ndarray) -> np.ndarray:
    """The size of two steps where the second takes back the first, else 0."""
    step = np.diff(values)
    return np.sqrt(np.maximum(-step[1:] * step[:-1], 0.0))


def worst(values: np.ndarray, frames: int) -> float:
    """The largest root mean square over some frames in a row."""
    squares = np.convolve(values**2, np.ones(min(frames, len(values))), mode="valid")
    return float(np.sqrt(max(squares.max(initial=0.0), 0.0) / frames))
