"""Scripted experts: one for each task, as waypoints in the frames of object and target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.generate.motion.frames import eased
from trueup.generate.motion.legs import Frame, Leg, Source
from trueup.worlds import World

_OPEN, _SHUT = 0.5, -0.17  # rad of the gripper
_AWAY = (0.0, -0.004, 0.0)  # m: the moving finger pushes the object over to the fixed one


@dataclass(frozen=True, kw_only=True)
class _Stop:
    """Where the hand should be after so many seconds of its leg."""

    after_s: float
    place: tuple[float, float, float]
    grip: float


def _reach() -> Leg:
    above = (_AWAY[0], _AWAY[1], 0.07)
    stops = (
        _Stop(after_s=0.0, place=above, grip=0.6),
        _Stop(after_s=0.55, place=above, grip=_OPEN),
        _Stop(after_s=1.1, place=_AWAY, grip=_OPEN),
        _Stop(after_s=1.2, place=_AWAY, grip=_OPEN),
    )
    return _leg("reach", Frame.OBJECT, stops, settled=0.45)


def _grasp() -> Leg:
    stops = (
        _Stop(after_s=0.0, place=_AWAY, grip=_OPEN),
        _Stop(after_s=0.5, place=_AWAY, grip=_SHUT),
        _Stop(after_s=0.6, place=_AWAY, grip=_SHUT),
    )
    return _leg("grasp", Frame.HELD, stops)


def _lift() -> tuple[Leg, ...]:
    stops = (
        _Stop(after_s=0.0, place=_AWAY, grip=_SHUT),
        _Stop(after_s=0.8, place=(0.0, 0.0, 0.11), grip=_SHUT),
        _Stop(after_s=1.6, place=(0.0, 0.0, 0.11), grip=_SHUT),
    )
    return _reach(), _grasp(), _leg("carry", Frame.HELD, stops)


def _push() -> tuple[Leg, ...]:
    """Pinch the cube and drag it: one that is only knocked about ends beside the mark."""
    height = 0.0115  # of the fingertips over the mark
    stops = tuple(_Stop(after_s=t, place=(0.0, 0.0, height), grip=_SHUT) for t in (0.0, 1.6, 2.4))
    return _reach(), _grasp(), _leg("carry", Frame.TARGET, stops, settled=0.65)


def _place() -> tuple[Leg, ...]:
    over, low = (0.0, 0.0, 0.085), (0.0, 0.0, 0.05)
    carry = (
        _Stop(after_s=0.0, place=(0.0, 0.0, 0.0125), grip=_SHUT),
        _Stop(after_s=0.6, place=over, grip=_SHUT),
        _Stop(after_s=1.5, place=over, grip=_SHUT),
        _Stop(after_s=1.9, place=low, grip=_SHUT),
    )
    release = (
        _Stop(after_s=0.0, place=low, grip=_SHUT),
        _Stop(after_s=0.4, place=low, grip=_OPEN),
    )
    leave = (
        _Stop(after_s=0.0, place=low, grip=_OPEN),
        _Stop(after_s=0.6, place=(0.0, 0.0, 0.12), grip=_OPEN),
        _Stop(after_s=1.0, place=(0.0, 0.0, 0.12), grip=_OPEN),
    )
    return (
        _reach(),
        _grasp(),
        _leg("carry", Frame.TARGET, carry, settled=0.75),
        _leg("release", Frame.TARGET, release),
        _leg("leave", Frame.TARGET, leave),
    )


def _go() -> tuple[Leg, ...]:
    stops = tuple(_Stop(after_s=t, place=(0.0, 0.0, 0.0), grip=0.6) for t in (0.0, 1.6))
    return (_leg("reach", Frame.TARGET, stops, settled=0.6),)


_SCRIPTS: dict[str, Callable[[], tuple[Leg, ...]]] = {
    "so101/reach": _go,
    "so101/push": _push,
    "so101/lift": _lift,
    "so101/place": _place,
}


def scripted(world: World) -> Source:
    """The scripted expert of a world."""
    if world.name not in _SCRIPTS:
        raise TrueupError(
            f"There is no scripted expert for the world {world.name!r}; there is one for "
            f"{', '.join(_SCRIPTS)}.",
            fix="Give recorded episodes or a trained policy as the source.",
        )
    return Source(name="script", legs=_SCRIPTS[world.name]())


def _leg(name: str, frame: Frame, stops: tuple[_Stop, ...], *, settled: float = 0.7) -> Leg:
    """A leg through stops, at rest at each, one row for each control period of the SO-101."""
    times = np.array([stop.after_s for stop in stops])
    at = PERIOD_S * np.arange(1, round(times[-1] / PERIOD_S) + 1)
    i = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    share = eased((at - times[i - 1]) / (times[i] - times[i - 1]))
    values = np.array([(*stop.place, stop.grip) for stop in stops])
    rows = (1.0 - share)[:, None] * values[i - 1] + share[:, None] * values[i]
    k = len(rows)
    return Leg(
        name=name,
        frame=frame,
        place=rows[:, :3],
        jaw=np.tile([0.0, 1.0, 0.0], (k, 1)),
        down=np.tile([0.0, 0.0, -1.0], (k, 1)),
        grip=rows[:, 3],
        settled=settled,
    )


PERIOD_S = 0.04
"""Time between the rows of a scripted leg: the control period of the SO-101's worlds."""
