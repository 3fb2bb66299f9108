"""When a hand takes hold of a thing, and when it lets go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.generate.motion.track import Track

_STILL = 0.002  # m: what moves less before the first event is waiting
_SPAN = 0.12  # rad: a gripper that moves less takes hold of nothing
_TAKEN = 0.008  # m that a thing moves with the hand once it is held


@dataclass(frozen=True, kw_only=True)
class Events:
    """When things happened, as rows of a demonstration.

    Attributes:
        ready: The hand is open, after whatever it closed on before.
        close: The gripper begins to close on the thing.
        held: The thing is in the hand.
        release: The gripper begins to open again; none where it does not.
        opened: It is open.
    """

    ready: int
    close: int
    held: int
    release: int | None = None
    opened: int | None = None


def events_of(told: Track, gripper: int, name: str, *, releases: bool) -> Events:
    """When the hand closed on the thing for good, and when it let go."""
    grip, jaw = told.told[:, gripper], told.q[:, gripper]
    span = float(np.ptp(jaw))
    if span < _SPAN:
        raise TrueupError(
            f"{name} takes hold of nothing: its gripper moves by {span:.2f} rad only.",
            fix="Give demonstrations in which the hand closes on the object.",
        )
    shut = jaw < 0.5 * (jaw.max() + jaw.min())
    closings = np.flatnonzero(shut[1:] & ~shut[:-1]) + 1
    if not len(closings):
        raise TrueupError(
            f"{name} never closes its hand after it was open.",
            fix="Give demonstrations that begin with an open hand.",
        )
    crossed = int(closings[-1] if not releases else _lasting(closings, shut))
    close = _back_to(jaw, crossed, falling=True)
    held = _held(told, jaw, crossed)
    before = np.flatnonzero(shut[:crossed])
    ready = min(int(before[-1]) + 1 if len(before) else 0, close - 2)
    if not releases:
        return Events(ready=ready, close=close, held=held)
    openings = np.flatnonzero(~shut[held:]) + held
    if not len(openings):
        return Events(ready=ready, close=close, held=held)
    release = max(_back_to(jaw, int(openings[0]), falling=False), held + 2)
    peak = grip[release:].max()
    opened = int(np.argmax(jaw[release:] > jaw[release] + 0.8 * (peak - jaw[release]))) + release
    opened = max(opened, release + 2)
    return Events(ready=ready, close=close, held=held, release=release, opened=opened)


def _lasting(closings: np.ndarray, shut: np.ndarray) -> int:
    """The closing after which the hand stays shut longest."""
    ends = [np.argmax(~shut[c:]) or len(shut) - c for c in closings]
    return int(closings[int(np.argmax(ends))])


def _back_to(jaw: np.ndarray, crossed: int, *, falling: bool) -> int:
    """The row at which the movement began that crosses the middle here."""
    speed = np.diff(jaw) if not falling else -np.diff(jaw)
    i = crossed - 1
    while i > 0 and speed[i - 1] > 0.02 * np.ptp(jaw):
        i -= 1
    return max(i, 2)


def _held(told: Track, jaw: np.ndarray, crossed: int) -> int:
    """The row at which the jaw stops on the thing, or the thing begins to follow the hand."""
    still = np.flatnonzero(np.abs(np.diff(jaw[crossed:])) < 0.01)
    stalled = crossed + int(still[0]) + 1 if len(still) else len(jaw) - 2
    follows = len(jaw)
    if told.place is not None:
        moved = np.linalg.norm(told.place - told.place[crossed], axis=1)
        risen = np.flatnonzero((moved > _TAKEN)[crossed:])
        follows = crossed + int(risen[0]) if len(risen) else follows
    return min(max(crossed + 1, min(stalled, follows)), len(jaw) - 3)


def begun(tcp: np.ndarray, close: int) -> int:
    """The first row that is not waiting."""
    moved = np.flatnonzero(np.linalg.norm(tcp[:close] - tcp[0], axis=1) > _STILL)
    return max(0, int(moved[0]) - 1) if len(moved) else 0
