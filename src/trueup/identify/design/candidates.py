"""Motions to choose from: each kind of excitation about several poses, as large as is safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from trueup.errors import TrueupError
from trueup.identify.design.safety import Safety
from trueup.record import (
    Body,
    Chirp,
    Excitation,
    Holds,
    Motion,
    Multisine,
    Plan,
    Prbs,
    Steps,
    Triangle,
)

_POSES = 5
_TRIES = 60
_INNER, _OUTER = 0.4, 0.7  # of the way from the middle of a joint's range to its end
_LARGEST_RAD = 0.8
_SPARE_RAD = 0.06  # to a joint's limit

KINDS: tuple[tuple[type[Excitation], dict[str, float]], ...] = (
    (Chirp, {"low_hz": 0.3, "high_hz": 2.0, "corner_hz": 0.4}),
    (Chirp, {"low_hz": 1.0, "high_hz": 6.0, "corner_hz": 1.0}),
    (Multisine, {"low_hz": 0.2, "high_hz": 4.0, "corner_hz": 0.6, "lines": 2}),
    (Prbs, {"bit_s": 0.35, "blend_s": 0.25}),
    (Steps, {"hold_s": 0.6, "blend_s": 0.3}),
    (Triangle, {"cycles": 1}),
    (Triangle, {"cycles": 3}),
    (Holds, {"poses": 4, "blend_s": 0.5}),
)
"""Where the search begins; it changes every number afterwards."""

_CHIRP = {"low_hz": 0.2, "high_hz": 3.0, "corner_hz": 0.5}

_VARIED = {
    "low_hz": (0.1, 2.0),
    "high_hz": (1.0, 8.0),
    "corner_hz": (0.2, 2.0),
    "bit_s": (0.15, 1.0),
    "hold_s": (0.3, 1.5),
    "blend_s": (0.15, 0.9),
    "cycles": (1, 8),
    "poses": (2, 10),
}
"""Numbers of the kinds that are searched, and between which bounds."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One motion that could be recorded.

    Attributes:
        motion: It, as large as is safe.
        plan: Its commands, from where it begins.
        centre: (nu,) where it begins and ends.
        seconds: How long it takes, without the way there.
    """

    motion: Motion
    plan: Plan
    centre: np.ndarray
    seconds: float

    @classmethod
    def of(cls, motion: Excitation, safety: Safety) -> Candidate | None:
        """The largest safe version of a motion; none where there is none."""
        fitted = safety.fitted(motion)
        if fitted is None:
            return None
        centre = np.array(fitted.center_rad or safety.body.ready)
        plan = safety.plan(fitted)
        return cls(motion=fitted, plan=plan, centre=centre, seconds=fitted.duration_s)


def candidates(
    safety: Safety,
    seconds: float,
    generator: np.random.Generator,
    *,
    joints: tuple[tuple[str, ...], ...] = ((),),
) -> list[Candidate]:
    """Each kind about each pose, where there is room; groups of joints take turns with poses."""
    found = []
    for i, pose in enumerate(poses(safety, generator)):
        for kind, numbers in KINDS:
            motion = _made(kind, numbers, safety.body, pose, seconds, joints[i % len(joints)])
            candidate = None if motion is None else Candidate.of(motion, safety)
            if candidate is not None:
                found.append(candidate)
    return found


def poses(safety: Safety, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Poses (nu,) with a free way from and to the ready one: some near it, then some anywhere."""
    body = safety.body
    ready = np.array(body.ready)
    middle, half = _ranges(body)
    centre = np.clip(ready, middle - _INNER * half, middle + _INNER * half)
    low, high = middle - _OUTER * half, middle + _OUTER * half
    drawn = (generator.uniform(low, high) for _ in range(_TRIES))
    count = 0
    for pose in (centre, ready, 0.5 * (centre + ready), *drawn):
        pose = np.round(pose, 3)
        if count < _POSES and safety.free(ready, pose) and safety.free(pose, ready):
            count += 1
            yield pose


def varied(
    candidate: Candidate, safety: Safety, generator: np.random.Generator, size: float
) -> Candidate | None:
    """The same candidate with other numbers; none where these make no sense or have no room."""
    motion, body = candidate.motion, safety.body
    if not isinstance(motion, Excitation):
        return None
    changed: dict[str, object] = {}
    for field in fields(motion):
        if field.name in _VARIED:
            low, high = _VARIED[field.name]
            before = getattr(motion, field.name)
            value = float(np.clip(before * np.exp(size * generator.standard_normal()), low, high))
            changed[field.name] = round(value) if isinstance(before, int) else round(value, 3)
    middle, half = _ranges(body)
    moved = candidate.centre + 0.15 * size * half * generator.standard_normal(body.size)
    moved = np.clip(moved, middle - half + _SPARE_RAD, middle + half - _SPARE_RAD)
    changed["center_rad"] = tuple(np.round(moved, 3).tolist())
    columns = body.columns(motion.joints)
    # larger on purpose: what is safe makes it smaller again
    sizes = np.broadcast_to(motion.amplitude_rad, len(columns)) * np.exp(
        size * (0.5 + generator.standard_normal(len(columns)))
    )
    most = np.minimum(_room(body, moved)[columns], _LARGEST_RAD)
    changed["amplitude_rad"] = _amplitudes(np.minimum(sizes, most))
    try:
        return Candidate.of(replace(motion, **changed), safety)
    except TrueupError:
        return None


def lasting(candidate: Candidate, seconds: float, safety: Safety) -> Candidate | None:
    """The same candidate in another time, if that is safe."""
    if not isinstance(candidate.motion, Excitation):
        return None
    try:
        return Candidate.of(replace(candidate.motion, duration_s=round(seconds, 3)), safety)
    except TrueupError:
        return None


def chirp(
    safety: Safety, centre: np.ndarray, seconds: float, joints: tuple[str, ...]
) -> Candidate | None:
    """The chirp that everyone would record: what a design is held against."""
    motion = _made(Chirp, _CHIRP, safety.body, centre, seconds, joints)
    return None if motion is None else Candidate.of(motion, safety)


def _made(
    kind: type[Excitation],
    numbers: dict[str, float],
    body: Body,
    pose: np.ndarray,
    seconds: float,
    joints: tuple[str, ...],
) -> Excitation | None:
    columns = body.columns(joints)
    room = np.minimum(_room(body, pose)[columns], _LARGEST_RAD)
    try:
        return kind(
            joints=joints,
            amplitude_rad=_amplitudes(room),
            center_rad=tuple(pose.tolist()),
            duration_s=round(seconds, 3),
            **numbers,  # type: ignore[arg-type]
        )
    except TrueupError:
        return None


def _ranges(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half the size of each joint's range; a joint without limits gets half a turn."""
    low, high, ready = (np.array(side) for side in (body.low, body.high, body.ready))
    known = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, low, ready - np.pi), np.where(known, high, ready + np.pi)
    return 0.5 * (low + high), 0.5 * (high - low)


def _room(body: Body, pose: np.ndarray) -> np.ndarray:
    """(nu,) how far each joint can go to both sides."""
    middle, half = _ranges(body)
    return half - np.abs(pose - middle) - _SPARE_RAD


def _amplitudes(sizes: np.ndarray) -> tuple[float, ...]:
    return tuple(float(size) for size in np.round(np.maximum(sizes, 0.005), 4))
