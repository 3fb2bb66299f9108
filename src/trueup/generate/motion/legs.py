"""A demonstration as legs: what the hand does, told in the frame of the thing that matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from trueup.generate.motion.frames import eased, turned


class Frame(IntEnum):
    """In which frame a leg is told."""

    OBJECT = 0
    """That of the thing to handle, wherever it is and moves to while the leg lasts."""
    HELD = 1
    """That of the thing as it was when the leg before began to close on it."""
    TARGET = 2
    """That of the place to bring it to."""
    HAND = 3
    """That of the hand when the leg began."""


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A part of a demonstration between two events, one row for each control period.

    Attributes:
        name: reach, grasp, carry, release, back or slack.
        frame: Where its numbers hold.
        place: (k, 3) of the fingertips in that frame, m.
        jaw: (k, 3) direction in which the jaw opens, in that frame.
        down: (k, 3) direction in which the fingers point, in that frame.
        grip: (k,) command of the gripper, rad.
        turn: How far the frame was turned from the direction of the shoulder, rad.
        settled: The share of the leg after which the hand is where the leg says; before that it
            comes from wherever it was when the leg began.
    """

    name: str
    frame: Frame
    place: np.ndarray
    jaw: np.ndarray
    down: np.ndarray
    grip: np.ndarray
    turn: float = 0.0
    settled: float = 0.7

    def __len__(self) -> int:
        return len(self.place)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A demonstration that can be carried elsewhere.

    Attributes:
        name: Where it comes from.
        legs: In order.
        reach: How far from the shoulder its object stood, m.
        turn: How its object was turned towards the shoulder, rad.
        works: The share of attempts in which it worked elsewhere, where that was tried.
        people: Who is in it, by pseudonym: what comes of it is theirs, too.
    """

    name: str
    legs: tuple[Leg, ...]
    reach: float = 0.0
    turn: float = 0.0
    works: float = 1.0
    people: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Control steps of all legs."""
        return sum(map(len, self.legs))

    def again(self, period_s: float) -> tuple[Leg, ...]:
        """What to do where the object is not in the hand: open, back off, and from there on."""
        reach = self.legs[0]
        back = backed_off(float(reach.grip[-1]), float(self.grasp.grip[-1]), period_s)
        return (back, descended(reach, period_s), *self.legs[1:])

    @property
    def grasp(self) -> Leg:
        """The leg that closes the hand; the last one where none does."""
        return next((leg for leg in self.legs if leg.name == "grasp"), self.legs[-1])


_OVER = 0.06  # m: how high a hand passes over an object that it comes back to


def backed_off(
    opened: float, shut: float, period_s: float, *, open_s: float = 0.3, rise_s: float = 0.5
) -> Leg:
    """Open the hand where it is, then raise it."""
    k = round((open_s + rise_s) / period_s)
    time_s = period_s * np.arange(1, k + 1)
    height = _OVER * eased((time_s - open_s) / rise_s)
    grip = shut + (opened - shut) * eased(time_s / open_s)
    return still("back", grip, height=height)


def descended(reach: Leg, period_s: float, *, over_s: float = 0.5, down_s: float = 0.6) -> Leg:
    """Come from above to where a reach ends."""
    time_s = period_s * np.arange(1, round((over_s + down_s) / period_s) + 1)
    place, jaw, down = (
        np.tile(values[-1], (len(time_s), 1)) for values in (reach.place, reach.jaw, reach.down)
    )
    place[:, 2] += _OVER * (1.0 - eased((time_s - over_s) / down_s))
    grip = np.full(len(time_s), reach.grip[-1])
    return replace(
        reach, place=place, jaw=jaw, down=down, grip=grip, settled=over_s / (over_s + down_s)
    )


def slackened(opened: float, shut: float, period_s: float, *, lasts_s: float = 0.5) -> Leg:
    """Let go of what is held, in the air."""
    time_s = period_s * np.arange(1, round(lasts_s / period_s) + 1)
    return still("slack", shut + (opened - shut) * eased(time_s / (0.6 * lasts_s)))


def still(name: str, grip: np.ndarray, *, height: np.ndarray | float = 0.0) -> Leg:
    """A leg in the frame of the hand itself: only the gripper moves, or the hand up or down."""
    k = len(grip)
    place = np.zeros((k, 3))
    place[:, 2] = height
    axes = np.broadcast_to(np.eye(3), (k, 3, 3))
    return Leg(name=name, frame=Frame.HAND, place=place, jaw=axes[:, 0], down=axes[:, 2], grip=grip)


class Library:
    """Legs side by side in arrays, so that each of many worlds can be in a leg of its own.

    Args:
        legs: Their position is their number.
    """

    def __init__(self, legs: Sequence[Leg]) -> None:
        self.legs = tuple(legs)
        longest = max(map(len, legs))
        self.length = np.array([len(leg) for leg in legs])
        self.frame = np.array([leg.frame for leg in legs])
        self.turn = np.array([leg.turn for leg in legs])
        self.settled = np.array([leg.settled for leg in legs])
        self.place, self.jaw, self.down = (
            np.stack([_padded(getattr(leg, name), longest) for leg in legs])
            for name in ("place", "jaw", "down")
        )
        self.grip = np.stack([_padded(leg.grip, longest) for leg in legs])

    def at(self, which: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
        """Place, jaw and down (n, 3) of legs (n,) at a step (n,) that may lie between two."""
        last = self.length[which] - 1.0
        step = np.clip(step, 0.0, last)
        before = step.astype(int)
        after = np.minimum(before + 1, last.astype(int))
        share = (step - before)[:, None]
        return tuple(
            (1.0 - share) * values[which, before] + share * values[which, after]
            for values in (self.place, self.jaw, self.down)
        )

    def gripper(self, which: np.ndarray, step: np.ndarray) -> np.ndarray:
        """(n,) what the gripper is told then."""
        return self.grip[which, np.minimum(step.astype(int), self.length[which] - 1)]


def in_frame(
    place: np.ndarray, directions: Sequence[np.ndarray], origin: np.ndarray, yaw: float
) -> tuple[np.ndarray, ...]:
    """Places (k, 3) and directions (k, 3) of the world as a frame at `origin`, turned, has them."""
    return tuple(turned(v, -yaw) for v in (place - origin, *directions))


def _padded(values: np.ndarray, k: int) -> np.ndarray:
    return np.concatenate([values, np.repeat(values[-1:], k - len(values), axis=0)])
