"""Stops: an empty hand closed and opened as far as it goes, which shows where its zero is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trueup.record.motions.excitation import phased, way
from trueup.record.motions.motion import Motion, Plan, Situation
from trueup.record.motions.smooth import ramp, ramp_s

AT_LOW, AT_HIGH = "at the lower end", "at the upper end"
"""Phases in which the joint rests where its range ends, or where it stops before that."""
DOWN, UP = "halfway down", "halfway up"
"""Phases in which it rests with nothing near, come from the side from which it goes on to an end:
what it is off by there, it is by its friction."""
_ASIDE = 0.1  # of the range: as far beyond the middle it goes, to come to it from there
_ACCELERATION = 10.0  # rad/s²


@dataclass(frozen=True, kw_only=True)
class Stops(Motion):
    """Tell one joint to go to both ends of its range, with a rest before each; the others rest.

    A joint whose zero is off meets a stop before its range ends, and is pressed on it by as much as
    that. Only for a joint that meets nothing else on its way, such as the jaw of an empty hand.
    """

    kind = "stops"

    joint: str = "gripper"
    """Which joint."""
    speed_rad_s: float = 1.0
    """How fast, at most."""
    still_s: float = 0.6
    """How long it rests at each end, and before."""

    def __post_init__(self) -> None:
        self._check(0 < self.speed_rad_s <= 5, f"{self.speed_rad_s} rad/s", "Give up to 5.")
        self._check(0.3 <= self.still_s <= 10, f"{self.still_s} s of rest", "Give 0.3 to 10.")

    def planned(self, situation: Situation, *, end: np.ndarray | None = None) -> Plan:
        body, start, period_s = situation.body, situation.start, situation.period_s
        (column,) = body.columns((self.joint,))
        low, high = body.low[column], body.high[column]
        self._check(
            math.isfinite(high - low),
            f"the joint {self.joint!r}, whose range has no end",
            "Name a joint with limits.",
        )
        middle, aside = 0.5 * (low + high), _ASIDE * (high - low)
        poses = np.tile(np.array(body.ready, float), (7, len(start), 1))
        poses[:, :, column] = np.array(
            [middle + aside, middle, low, middle - aside, middle, high, middle]
        )[:, None]
        parts = [("to the start", np.concatenate([start[None], way(start, poses[0], period_s)]))]
        for k, (going, resting) in enumerate(
            (
                ("down", DOWN),
                ("down", AT_LOW),
                ("up", ""),
                ("up", UP),
                ("up", AT_HIGH),
                ("down", ""),
            )
        ):
            parts.append((going, self._gone(poses[k], poses[k + 1], period_s)))
            if resting:
                parts.append((resting, self._rest(poses[k + 1], period_s)))
        if end is not None:
            parts.append(("back", way(poses[-1], end, period_s)))
        return Plan(
            motion=self,
            period_s=period_s,
            path=np.concatenate([path for _, path in parts]),
            phases=phased([(name, len(path)) for name, path in parts]),
            stopped=self.joint,
        )

    def _gone(self, start: np.ndarray, end: np.ndarray, period_s: float) -> np.ndarray:
        seconds = ramp_s(end - start, self.speed_rad_s, _ACCELERATION)
        return ramp(start, end, seconds, period_s)

    def _rest(self, pose: np.ndarray, period_s: float) -> np.ndarray:
        return np.repeat(pose[None], math.ceil(self.still_s / period_s), axis=0)
