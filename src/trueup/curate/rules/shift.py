"""Time: channels shifted against each other, actions that do not lead, frames that are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.curate.fence import Fence, Side
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.rules.rule import Check, Measured, Sight
from trueup.episodes.episode import JOINTS

_LONGEST_S = 0.6
_MOVES = 0.3  # of a column's span: what moves less says nothing about time
_SURE = 0.7  # correlation: below it two columns do not follow each other at all


class Shift(Measured):
    """A lag between command and joint that is not that of the dataset."""

    name = "shift"
    summary = "a joint that follows its command earlier or later than in other episodes"
    side = Side.BOTH
    floor = 0.25  # frames

    def blind(self, sight: Sight) -> str:
        return paired(sight)

    def measured(self, look: Look) -> Mapping[Place, float]:
        lags = {Place(JOINTS): overall_lag(look)}
        for place, told, seen, span in look.pairs:
            if np.ptp(told) > _MOVES * span and np.ptp(seen) > _MOVES * span:
                lags[place] = lag(told[:, None], seen[:, None], look.period_s)
        return lags

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        whom = "its joints follow" if not place.column else f"{place} follows"
        return (
            f"{whom} the commands by {value:.1f} frames, where that is {fence.middle:.1f} in "
            "other episodes"
        )


class Lead(Check):
    """States that come before the actions that are to cause them."""

    name = "lead"
    summary = "actions that follow the states instead of leading them"
    habit = 0.5
    advice = "a policy would learn to repeat what it sees; shift the actions before training on it"

    def blind(self, sight: Sight) -> str:
        return paired(sight)

    def fault(self, look: Look) -> str:
        found = overall_lag(look)
        if not found <= -0.5:
            return ""
        return f"its joints move {-found:.1f} frames before they are told to"


class Clock(Measured):
    """Frames that are missing between two."""

    name = "clock"
    summary = "longer without a frame than others"

    def measured(self, look: Look) -> Mapping[Place, float]:
        return {
            Place(name): float(np.log(np.diff(channel.time_s).max() / look.period_s + 1e-3))
            for name, channel in look.channels.items()
        }

    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        return f"{place} has no reading for {np.exp(value):.1f} frames"


def paired(sight: Sight) -> str:
    """Why nothing can be said about commands and joints; empty where it can."""
    names = sight.survey.names
    if not set(names.get("command", ())) & set(names.get(JOINTS, ())):
        return "there are no commands and joint positions of the same names"
    return ""


def overall_lag(look: Look) -> float:
    """Frames by which all joints together follow their commands; NaN where nothing moves."""
    moving = [
        (told / span, seen / span)
        for _, told, seen, span in look.pairs
        if np.ptp(told) > _MOVES * span and np.ptp(seen) > _MOVES * span
    ]
    if not moving:
        return np.nan
    told, seen = (np.stack(columns, axis=1) for columns in zip(*moving, strict=True))
    return lag(told, seen, look.period_s)


def lag(told: np.ndarray, seen: np.ndarray, period_s: float) -> float:
    """Frames by which changes (t, k) follow others best; NaN where they hardly do.

    By the correlation of what changes, at whole frames, and between them by a parabola.
    """
    a, b = np.diff(told, axis=0), np.diff(seen, axis=0)
    most = min(round(_LONGEST_S / period_s), len(a) // 3)
    if most < 1:
        return np.nan
    shifts = np.arange(-most, most + 1)
    fits = np.array([_correlation(a, b, s) for s in range(-most, most + 1)])
    best = int(np.argmax(fits))
    if fits[best] < _SURE:
        return np.nan
    if 0 < best < len(fits) - 1:
        left, mid, right = fits[best - 1 : best + 2]
        curve = left - 2.0 * mid + right
        bend = 0.5 * (left - right) / curve if curve < 0.0 else 0.0
        return float(shifts[best] + bend)
    return float(shifts[best])


def _correlation(a: np.ndarray, b: np.ndarray, shift: int) -> float:
    n = len(a) - abs(shift)
    x, y = a[max(0, -shift) :][:n], b[max(0, shift) :][:n]
    size = np.sqrt((x**2).sum() * (y**2).sum())
    return float((x * y).sum() / size) if size > 0.0 else 0.0
