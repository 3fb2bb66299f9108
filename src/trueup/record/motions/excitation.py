"""Motions in free air: waves about a pose, which touch nothing and move every joint they name."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from trueup.errors import TrueupError
from trueup.record.body import Body
from trueup.record.motions.motion import Motion, Phase, Plan, Situation
from trueup.record.motions.smooth import FINE_S, ramp, ramp_s, rounded, sampled

APPROACH_SPEED = 0.6
"""rad/s; how fast an arm is brought to where a motion begins, and back."""
APPROACH_ACCELERATION = 2.0
"""rad/s²"""


@dataclass(frozen=True, kw_only=True)
class Excitation(Motion):
    """A wave about a pose, of one joint after the other or of several at once."""

    _sizes: ClassVar[tuple[str, ...]] = ("amplitude_rad",)

    joints: tuple[str, ...] = ()
    """Which joints move; all by default."""
    amplitude_rad: tuple[float, ...] = (0.25,)
    """Furthest from the centre: one number for all joints, or one for each."""
    duration_s: float = 10.0
    """Of the whole wave, without the way there and back."""
    together: bool = True
    """All joints at once, each with a wave of its own; or one after the other, sharing the time."""
    center_rad: tuple[float, ...] = ()
    """The pose to move about, one number for each servo; the robot's ready pose by default."""
    blend_s: float = 0.4
    """Corners and jumps are spread over this long, so that speed and acceleration stay finite."""

    def __post_init__(self) -> None:
        good = self.amplitude_rad and all(np.isfinite(a) and a > 0 for a in self.amplitude_rad)
        self._check(bool(good), f"amplitudes {self.amplitude_rad}", "Give angles above 0.")
        wanted = (1, len(self.joints)) if self.joints else ()
        self._check(
            not wanted or len(self.amplitude_rad) in wanted,
            f"{len(self.amplitude_rad)} amplitudes for {len(self.joints)} joints",
            "Give one for all, or one for each.",
        )
        self._check(
            0 < self.blend_s < self.duration_s < 3600,
            f"a duration of {self.duration_s} s and a blend of {self.blend_s} s",
            "Give a duration below an hour, and a shorter blend.",
        )

    @abstractmethod
    def wave(self, m: int, span_s: float) -> np.ndarray:
        """(T, m) values from -1 to 1 on the fine grid for `span_s`: m joints that move together.

        Jumps and corners are rounded off afterwards.
        """

    def offsets(self, m: int) -> np.ndarray:
        """(T, m) the whole wave on the fine grid, from zero to zero, in amplitudes."""
        if self.together or m == 1:
            return self._smooth(self.wave(m, self.duration_s - self._lengthened_s))
        share = self.duration_s / m
        if share <= self.blend_s:
            raise TrueupError(
                f"The motion {self.title!r} has {self.duration_s} s for {m} joints, one after the "
                f"other, and corners of {self.blend_s} s.",
                fix="Give it a longer duration, fewer joints, or move them together.",
            )
        alone = self._smooth(self.wave(1, share - self._lengthened_s))
        offsets = np.zeros((m * len(alone), m))
        for j in range(m):
            offsets[j * len(alone) : (j + 1) * len(alone), j] = alone[:, 0]
        return offsets

    def commands(
        self, body: Body, period_s: float, *, start: np.ndarray | None = None
    ) -> np.ndarray:
        """(k, nu) position targets: the wave; with a start, from there and back to it."""
        centre = self._centre(body)
        columns = body.columns(self.joints)
        wave = sampled(self.offsets(len(columns)), period_s) * self._amplitudes(columns, body)
        path = np.tile(centre, (len(wave), 1))
        path[:, columns] += wave
        if start is None:
            return path
        there, back = way(start, centre, period_s), way(centre, start, period_s)
        return np.concatenate([start[None], there, path[1:], back])

    def only(self, body: Body, joints: tuple[str, ...]) -> Self:
        """The same motion of some joints, each with the amplitude it had."""
        before, now = body.columns(self.joints), body.columns(joints)
        amplitudes = dict(zip(before, self._amplitudes(before, body), strict=True))
        most = min(self.amplitude_rad)
        return replace(
            self, joints=joints, amplitude_rad=tuple(float(amplitudes.get(i, most)) for i in now)
        )

    def planned(self, situation: Situation, *, end: np.ndarray | None = None) -> Plan:
        body, start, period_s = situation.body, situation.start, situation.period_s
        wave = self.commands(body, period_s)
        n = len(start)
        centre = np.tile(wave[0], (n, 1))
        parts = [
            ("to the start", np.concatenate([start[None], way(start, centre, period_s)])),
            (self.kind, np.repeat(wave[1:, None], n, axis=1)),
        ]
        if end is not None:
            parts.append(("back", way(centre, end, period_s)))
        return Plan(
            motion=self,
            period_s=period_s,
            path=np.concatenate([path for _, path in parts]),
            phases=phased([(name, len(path)) for name, path in parts]),
        )

    @property
    def _lengthened_s(self) -> float:
        """How much longer `_smooth` makes a wave."""
        return self.blend_s

    def _smooth(self, wave: np.ndarray) -> np.ndarray:
        return rounded(wave, self.blend_s)

    def _centre(self, body: Body) -> np.ndarray:
        centre = np.array(self.center_rad or body.ready, float)
        if len(centre) != body.size:
            raise TrueupError(
                f"The motion {self.title!r} has a centre of {len(centre)} angles, but the robot "
                f"has {body.size} servos: {', '.join(body.joints)}.",
                fix="Give one angle for each, or none for the ready pose.",
            )
        return centre

    def _amplitudes(self, columns: list[int], body: Body) -> np.ndarray:
        if len(self.amplitude_rad) not in (1, len(columns)):
            raise TrueupError(
                f"The motion {self.title!r} has {len(self.amplitude_rad)} amplitudes for "
                f"{len(columns)} joints: {', '.join(body.joints[i] for i in columns)}.",
                fix="Give one for all, or one for each.",
            )
        return np.broadcast_to(self.amplitude_rad, len(columns))


def phased(parts: list[tuple[str, int]]) -> tuple[Phase, ...]:
    """Phases one after the other, from their names and lengths; empty ones are left out."""
    phases, first = [], 0
    for name, length in parts:
        if length:
            phases.append(Phase(name=name, first=first, end=first + length))
        first += length
    return tuple(phases)


def way(start: np.ndarray, end: np.ndarray, period_s: float) -> np.ndarray:
    """A slow ramp from pose to pose, (k, ...) after the start."""
    duration = ramp_s(np.asarray(end) - start, APPROACH_SPEED, APPROACH_ACCELERATION)
    return ramp(start, end, duration, period_s)


def fine_time(span_s: float) -> np.ndarray:
    """(T,) the fine grid over a span."""
    return FINE_S * np.arange(round(span_s / FINE_S))
