"""What motions say about a robot's wiring and calibration, as numbers for each of n bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.deploy.wiring.exercise import WIGGLE_SPEED, Sweep
from trueup.deploy.wiring.gravity import Gravity
from trueup.deploy.wiring.trace import Trace

_STEADY = 0.4  # the last share of a stroke, when the joint has taken up speed
_FELT_RAD = 0.005  # droop that varies by less along a sweep says nothing about weight
_MARGIN_RAD = 0.3  # near its ends a joint takes up speed, or meets its stop
_NEAR_RAD = 0.5
_ALIKE = 0.05  # of what was told: two answers that differ by less are one and the same


@dataclass(frozen=True, kw_only=True)
class Response:
    """How n bodies answered while one joint was wiggled.

    Attributes:
        gain: (n, nu) motion of each joint as a share of what the one was told.
        slope: (n,) the same of the joint itself while it keeps moving, when friction takes no part.
        droop: (n,) error of the joint that does not depend on its direction, rad.
        drag: (n,) error that does: friction and damping, at the speed of the wiggle, rad.
    """

    gain: np.ndarray
    slope: np.ndarray
    droop: np.ndarray
    drag: np.ndarray

    def like(self, other: Response) -> bool:
        """Whether all bodies answered as they did the other time."""
        apart = np.abs(self.gain - other.gain).max(), np.abs(self.slope - other.slope).max()
        return bool(max(apart) < _ALIKE)


def response(trace: Trace, joint: int) -> Response:
    """What a wiggle of one joint shows."""
    told = trace.command[:, joint]
    centred = told - told.mean()
    moved = trace.position - trace.position.mean(axis=0)
    gain = np.einsum("k,knj->nj", centred, moved) / (centred @ centred)
    rising, falling = (_steady(trace, joint, sign) for sign in (1.0, -1.0))
    up, down = (
        trace.error[np.concatenate(rows), :, joint].mean(axis=0) for rows in (rising, falling)
    )
    slope = np.mean([_slope(trace, joint, rows) for rows in (*rising, *falling)], axis=0)
    return Response(gain=gain, slope=slope, droop=0.5 * (up + down), drag=0.5 * (up - down))


def _slope(trace: Trace, joint: int, rows: np.ndarray) -> np.ndarray:
    """(n,) how far a joint goes for what it is told, over some turns."""
    told, read = trace.command[rows, joint], trace.position[rows][:, :, joint]
    centred = told - told.mean()
    return np.einsum("k,kn->n", centred, read - read.mean(axis=0)) / (centred @ centred)


def _steady(trace: Trace, joint: int, sign: float) -> list[np.ndarray]:
    """The turns towards the end of each long stroke of a joint in one direction."""
    steps = sign * np.diff(trace.command[:, joint], prepend=trace.command[0, joint])
    going = np.flatnonzero(steps > 1e-9)
    strokes = np.split(going, np.flatnonzero(np.diff(going) > 1) + 1)
    longest = max(map(len, strokes))
    return [s[int((1.0 - _STEADY) * len(s)) :] for s in strokes if len(s) > 0.75 * longest]


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What a sweep recorded: up, at rest above, down, at rest below.

    Attributes:
        sweep: What was meant.
        up: On the way up.
        top: At rest there.
        down: On the way down.
        bottom: At rest there.
    """

    sweep: Sweep
    up: Trace
    top: Trace
    down: Trace
    bottom: Trace


@dataclass(frozen=True, kw_only=True)
class Carriage:
    """How a joint of n bodies carries its load along its sweeps.

    Attributes:
        weight: (n,) its droop as a multiple of what the model says; 1 is as it should be.
        expected: How much droop the model says varies along the way, rad: what weight rests on.
        bias: (n,) error that neither direction nor place explains, rad.
        drag: (n,) error that changes sign with the direction, rad.
    """

    weight: np.ndarray
    expected: float
    bias: np.ndarray
    drag: np.ndarray


def carriage(swept: Sequence[Swept], gravity: Gravity) -> Carriage:
    """Fit weight, bias and drag to the errors of a joint along all its sweeps."""
    strokes = [part for one in swept for part in _strokes(one, gravity)]
    table = np.concatenate(
        [np.stack([s.droop, np.ones_like(s.droop), s.signs], axis=1) for s in strokes]
    )
    found = np.concatenate([s.error for s in strokes])
    along = table[:, 0]
    if np.ptp(along) < _FELT_RAD:  # nothing to weigh with
        rest, *_ = np.linalg.lstsq(table[:, 1:], found - along[:, None], rcond=None)
        fitted = np.concatenate([np.ones((1, rest.shape[1])), rest])
    else:
        fitted, *_ = np.linalg.lstsq(table, found, rcond=None)
    weight, bias, drag = fitted
    return Carriage(weight=weight, expected=float(np.ptp(along)), bias=bias, drag=drag)


def droop_at(swept: Swept, carried: Carriage, gravity: Gravity, end: float) -> np.ndarray:
    """(n,) error at an end of a sweep that does not depend on the direction, rad.

    What the model says of it, and what the errors near that end have beyond: a cable that pulls,
    a servo that has grown warm.
    """
    beyond = []
    for stroke in _strokes(swept, gravity):
        near = np.abs(stroke.told - end) < _MARGIN_RAD + _NEAR_RAD
        explained = np.outer(stroke.droop, carried.weight) + np.outer(stroke.signs, carried.drag)
        beyond.append((stroke.error - explained)[near].mean(axis=0))
    return carried.weight * _droop(gravity, swept.sweep, np.array([end]))[0] + np.mean(
        beyond, axis=0
    )


@dataclass(frozen=True, kw_only=True)
class _Stroke:
    """A way up or down without its ends: what was told (k,), errors (k, n), nominal droop (k,)."""

    told: np.ndarray
    error: np.ndarray
    droop: np.ndarray
    signs: np.ndarray


def _strokes(swept: Swept, gravity: Gravity) -> list[_Stroke]:
    sweep, found = swept.sweep, []
    for trace, sign in ((swept.up, 1.0), (swept.down, -1.0)):
        told = trace.command[:, sweep.joint]
        steps = np.abs(np.diff(told, prepend=told[0])) > 1e-9
        inside = (told > sweep.low + _MARGIN_RAD) & (told < sweep.high - _MARGIN_RAD) & steps
        error = trace.error[inside, :, sweep.joint]
        places = told[inside] - sign * np.abs(error).mean()  # about where the joints are
        droop = _droop(gravity, sweep, places)
        found.append(
            _Stroke(told=told[inside], error=error, droop=droop, signs=np.full_like(droop, sign))
        )
    return found


def _droop(gravity: Gravity, sweep: Sweep, places: np.ndarray) -> np.ndarray:
    poses = np.stack([sweep.at(place) for place in places])
    return gravity.droop(poses)[:, sweep.joint]


def sticking(wiggled: Response, carried: Carriage, sweep: Sweep) -> np.ndarray:
    """(n,) error that is left when a joint comes to rest, rad: drag without its part of speed."""
    rise = (carried.drag - wiggled.drag) / (sweep.speed - WIGGLE_SPEED)
    return np.maximum(wiggled.drag - rise * WIGGLE_SPEED, 0.0)


def at_rest(trace: Trace, joint: int) -> np.ndarray:
    """(n,) where a joint came to rest."""
    return trace.position[:, :, joint].mean(axis=0)


def pace_ratio(swept: Swept) -> np.ndarray | None:
    """(n,) how far a joint went, as a share of its speed times the time that should have passed.

    One where a turn lasts what it should; more where it lasts longer. None without speed readings.
    """
    if swept.up.velocity is None:
        return None
    joint, went, ran = swept.sweep.joint, 0.0, 0.0
    for trace in (swept.up, swept.down):
        assert trace.velocity is not None
        told = trace.command[:, joint]
        inside = np.abs(told - 0.5 * (swept.sweep.low + swept.sweep.high)) < 0.5 * (
            swept.sweep.high - swept.sweep.low - _MARGIN_RAD
        )
        position, velocity = trace.position[inside][:, :, joint], trace.velocity[inside]
        steps = np.diff(trace.time_s[inside])[:, None]
        mean = 0.5 * (velocity[1:, :, joint] + velocity[:-1, :, joint])
        went = went + np.abs(position[-1] - position[0])
        ran = ran + np.abs((mean * steps).sum(axis=0))
    return went / np.maximum(ran, 1e-6)


def stale_share(swept: Swept) -> np.ndarray:
    """(n,) share of turns in which a moving joint read exactly what it read before."""
    joint = swept.sweep.joint
    same = [
        np.diff(trace.position[:, :, joint], axis=0) == 0.0
        for trace in (_moving(swept.up, joint), _moving(swept.down, joint))
    ]
    return np.concatenate(same).mean(axis=0)


def _moving(trace: Trace, joint: int) -> Trace:
    steps = np.abs(np.diff(trace.command[:, joint], prepend=trace.command[0, joint])) > 1e-9
    rows = np.flatnonzero(steps)
    rows = rows[len(rows) // 4 :]
    return Trace(
        time_s=trace.time_s[rows],
        command=trace.command[rows],
        position=trace.position[rows],
        velocity=None if trace.velocity is None else trace.velocity[rows],
    )
