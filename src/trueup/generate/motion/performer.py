"""Performing legs in many worlds at once: one hand each, led along its own plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.generate.motion.frames import azimuth, eased, face_yaw, nearest_quarter, turned, unit
from trueup.generate.motion.hand import Hand, Pose
from trueup.generate.motion.legs import Frame, Library
from trueup.generate.motion.senses import Sensed
from trueup.generate.motion.servos import Servos
from trueup.worlds import World

_LEAD_S = 0.12  # the servos of an SO-101 follow about this much later
_GAIN = 0.2  # of what is left to the place, taken up in each control step
_MOST = 0.04  # m that are ever taken up
_FOLLOW = 0.5  # how much of an object's movement is followed in each control step
_LOST = 0.045  # m between fingertips and an object that is in the hand
_CHECKED = 0.35  # of a carry: what is not in the hand then was not grasped
_NEAR = 0.008  # m: a hand this close to where it should be has arrived
_STALLED = 0.25  # rad/s: a gripper slower than this is open, or shut, or holds something
_ARRIVAL_S, _GRIP_S = 0.3, 1.2  # longest waits at the end of a leg
_HURRY = 1.5  # how much faster than it was told a leg is run through where time is short
_SPARE_S = 0.3  # that is meant to be left when a plan is over: servos follow late

TRIES = 2
"""How often what is not in the hand is gone back for."""

LONGER = 2.0
"""An attempt that has to find its way back may take this many times the world's own time."""

_ARRIVING, _GRIPPING = ("reach",), ("grasp", "release", "slack")


@dataclass(frozen=True, kw_only=True)
class Plans:
    """What n hands are to do: legs of a library in order, each row padded with -1.

    Attributes:
        legs: (n, p) numbers of legs.
        stop: (n, p) the share of each leg after which the next one begins.
        shift: (n, p, 3) how far each leg is moved in its frame, m.
        wrong: (n, p) whether a leg is a mistake, which nobody should learn.
        retry: (n, tries) the places in the row that are jumped to, one after the other, where the
            object is not in the hand when it should be; -1 for never.
        speed: (n,) how fast the legs are run through; 1 as they were told.
    """

    legs: np.ndarray
    stop: np.ndarray
    shift: np.ndarray
    wrong: np.ndarray
    retry: np.ndarray
    speed: np.ndarray

    def __len__(self) -> int:
        return len(self.legs)

    @classmethod
    def none(cls, n: int, p: int) -> Plans:
        """Plans that hold still."""
        return cls(
            legs=np.full((n, p), -1),
            stop=np.ones((n, p)),
            shift=np.zeros((n, p, 3)),
            wrong=np.zeros((n, p), bool),
            retry=np.full((n, TRIES), -1),
            speed=np.ones(n),
        )

    def write(self, rows: np.ndarray, other: Plans) -> None:
        """Row k of `other` becomes row rows[k] here."""
        for name, values in vars(self).items():
            given = getattr(other, name)
            values[rows, ..., *[slice(side) for side in given.shape[1:]]] = given

    def take(self, rows: np.ndarray) -> Plans:
        """Some of them."""
        return Plans(**{name: values[rows] for name, values in vars(self).items()})


class Performer:
    """Leads n hands through their plans; call it once a control period.

    In each step a hand is told to be where its leg says it should be a moment later, for servos
    follow late; and what the fingertips missed before is taken up little by little, so that worlds
    with other masses, offsets and gains are performed in alike. Where waiting has cost time, the
    rest is run through faster. Commands stay within what a servo can pull and how fast it can turn.

    Attributes:
        wrong: (n,) whether the step now is part of a mistake.
        retried: (n,) whether an object that was not in the hand was gone back for.
        far: (n,) m that the arm lacked to the place where it was to close, the last time.
        over: (n,) whether the plan has come to its end.

    Args:
        world: Its nominal model is what the arm believes of itself.
        library: The legs.
        n: Hands.
        most: Legs of the longest plan.
    """

    def __init__(self, world: World, library: Library, n: int, *, most: int) -> None:
        self.hand, self.library = Hand(world), library
        self.plans = Plans.none(n, most)
        self._period_s = world.control_period_s
        self._lead = _LEAD_S / self._period_s
        self._servos = Servos(world.model, self._period_s)
        self._names = np.array([leg.name for leg in library.legs])
        self._arriving = np.isin(self._names, _ARRIVING)
        self._gripping = np.isin(self._names, _GRIPPING)
        self._gripper = next(i for i in range(world.model.nu) if i not in self.hand.arm)
        self._slow, self._jaw = np.zeros(n, int), np.zeros(n)
        self.wrong, self.retried = np.zeros(n, bool), np.zeros(n, bool)
        self.over, self.far = np.zeros(n, bool), np.zeros(n)
        self._tries, self._steps = np.zeros(n, int), world.steps
        self._left, self._longer = np.zeros(n), np.zeros(n, bool)
        self._after = np.zeros((n, most))
        self._at = np.zeros(n, int)
        self._step = np.zeros(n)
        self._fresh = np.ones(n, bool)
        self._q = np.zeros((n, world.model.nu))
        self._told = np.zeros((n, world.model.nu))
        self._origin, self._yaw = np.zeros((n, 3)), np.zeros(n)
        self._base = np.zeros((3, n, 3))  # of the hand when its leg began: place, jaw, down
        self._gap = np.zeros((3, n, 3))  # from where the leg begins to where the hand was
        self._wanted = np.zeros((3, n, 3))
        self._past = np.zeros((round(self._lead) + 1, n, 3))
        self._taken = np.zeros((n, 3))

    def begin(self, rows: np.ndarray, plans: Plans, hold: np.ndarray, back: np.ndarray) -> None:
        """Start plans in some worlds, whose servos are told `hold` (len(rows), nu) now.

        Where `back` (len(rows),), the plan has a way back in it and may take longer.
        """
        self.plans.write(rows, plans)
        self._left[rows] = np.where(back, LONGER, 1.0) * self._steps - _SPARE_S / self._period_s
        self._longer[rows] = back
        self._after[rows] = _after(self.plans.take(rows), self.library.length)
        pose = self.hand.pose(hold)
        self._wanted[:, rows] = pose.place, pose.jaw, pose.down
        self._past[:, rows] = pose.place
        self._q[rows] = self._told[rows] = hold
        self._at[rows], self._step[rows], self._fresh[rows] = 0, 0.0, True
        self._taken[rows], self.far[rows], self._tries[rows] = 0.0, 0.0, 0
        self._jaw[rows], self._slow[rows] = hold[:, self._gripper], 0
        self._origin[rows], self._yaw[rows] = 0.0, 0.0
        self._base[:, rows] = self._gap[:, rows] = 0.0
        for flags in (self.wrong, self.retried, self.over):
            flags[rows] = False

    def __call__(self, sensed: Sensed) -> np.ndarray:
        """Commands (n, nu)."""
        legs = self._legs(sensed)
        self._anchor(legs, sensed)
        self._aim(legs)
        self._take_up(sensed)
        wanted = Pose(
            place=self._wanted[0] + self._taken, jaw=self._wanted[1], down=self._wanted[2]
        )
        self._q, left = self.hand.towards(self._q, wanted)
        closing = self._names[legs] == "grasp"
        self.far = np.where(closing & (self._step < 1.0), left, self.far)
        gripper = self.library.gripper(legs, self._step)
        wanted_q = np.broadcast_to(gripper[:, None], self._q.shape).copy()
        wanted_q[:, self.hand.arm] = self._q[:, self.hand.arm]
        self._told = self._servos.told(self._told, wanted_q, sensed.joints)
        self._step += self._pace(legs)
        self._left -= 1.0
        return self._told.copy()

    def _pace(self, legs: np.ndarray) -> np.ndarray:
        """(n,) how fast legs are run through: as planned, or faster where time is short."""
        needed = self._after[np.arange(len(legs)), self._at] + self.library.length[legs]
        needed = needed - self._step
        short = np.clip(needed / np.maximum(self._left, 1.0), 0.0, _HURRY)
        return np.maximum(self.plans.speed, short)

    def _legs(self, sensed: Sensed) -> np.ndarray:
        """(n,) the leg of each hand now; a plan that is over stays at the end of its last."""
        rows, plans = np.arange(len(self._at)), self.plans
        self._go_back(sensed, plans.legs[rows, self._at])
        length = self.library.length[plans.legs[rows, self._at]]
        late = self._step - plans.stop[rows, self._at] * length
        ended = (late >= 0) & self._ready(sensed, plans.legs[rows, self._at], late)
        following = np.minimum(self._at + 1, plans.legs.shape[1] - 1)
        last = (plans.legs[rows, following] < 0) | (following == self._at)
        last |= (following[:, None] == plans.retry).any(axis=1)
        self.over |= ended & last
        onwards = ended & ~last
        self._at = np.where(onwards, following, self._at)
        self._step[onwards] = 0.0
        self._fresh |= onwards
        self.wrong = plans.wrong[rows, self._at]
        return plans.legs[rows, self._at]

    def _ready(self, sensed: Sensed, legs: np.ndarray, late: np.ndarray) -> np.ndarray:
        """(n,) whether the event has come that the end of a leg waits for, or has waited enough.

        Where delays are long, a hand arrives later than it should, and a jaw closes slowly.
        """
        jaw = sensed.joints[:, self._gripper]
        still = np.abs(jaw - self._jaw) < _STALLED * self._period_s
        self._slow, self._jaw = np.where(still, self._slow + 1, 0), jaw.copy()
        away = np.linalg.norm(self._wanted[0] - sensed.tcp, axis=1) > _NEAR
        late_s = late * self._period_s
        coming = self._arriving[legs] & away & (late_s < _ARRIVAL_S)
        gripping = self._gripping[legs] & (self._slow < 3) & (late_s < _GRIP_S)
        return ~(coming | gripping)

    def _go_back(self, sensed: Sensed, legs: np.ndarray) -> None:
        """Jump to the part of a plan that fetches an object which is not in the hand."""
        where = self.plans.retry[np.arange(len(legs)), np.minimum(self._tries, TRIES - 1)]
        carrying = (self._names[legs] == "carry") & (self._tries < TRIES) & (where >= 0)
        late = self._step >= _CHECKED * self.library.length[legs]
        lost = np.linalg.norm(sensed.object_place - sensed.tcp, axis=1) > _LOST
        back = carrying & late & lost
        self.retried |= back
        self._tries[back] += 1
        self.over[back] = False
        self._left += np.where(back & ~self._longer, (LONGER - 1.0) * self._steps, 0.0)
        self._longer |= back
        self._at = np.where(back, where, self._at)
        self._step[back] = 0.0
        self._fresh |= back

    def _anchor(self, legs: np.ndarray, sensed: Sensed) -> None:
        """Bring origin and turn of each leg's frame up to date."""
        frame, fresh = self.library.frame[legs], self._fresh
        for kind, place, yaw in (
            (Frame.OBJECT, sensed.object_place, face_yaw(sensed.object_quat)),
            (Frame.TARGET, sensed.target_place, azimuth(sensed.target_place)),
        ):
            here = frame == kind
            wanted = azimuth(place) + self.library.turn[legs]
            near = np.where(fresh, wanted, self._yaw)
            yaw = nearest_quarter(yaw, near) if kind is Frame.OBJECT else wanted
            share = np.where(fresh, 1.0, _FOLLOW)
            follow = np.where(here, share, 0.0)
            self._origin += follow[:, None] * (place - self._origin)
            self._yaw += follow * (yaw - self._yaw)
        hand = (frame == Frame.HAND) & fresh
        self._base[:, hand] = self._wanted[:, hand]

    def _aim(self, legs: np.ndarray) -> None:
        """Where each hand should be: on its leg, or on the way there from where it was."""
        rows = np.arange(len(legs))
        told = self.library.at(legs, self._step + self._lead * self.plans.speed)
        place = told[0] + self.plans.shift[rows, self._at]
        fixed = np.stack(
            [self._origin + turned(place, self._yaw), *(turned(v, self._yaw) for v in told[1:])]
        )
        own = (self.library.frame[legs] == Frame.HAND)[:, None]
        moved = np.stack([self._base[0] + place, self._base[1], self._base[2]])
        on_leg = np.where(own, moved, fixed)
        # a jaw that opens the other way round is the same jaw
        across = (on_leg[1] * self._wanted[1]).sum(-1) < 0
        on_leg[1] = np.where(across[:, None], -on_leg[1], on_leg[1])
        self._gap[:, self._fresh] = (self._wanted - on_leg)[:, self._fresh]
        self._fresh[:] = False
        length = self.library.length[legs] * self.plans.stop[rows, self._at]
        left = 1.0 - eased(self._step / np.maximum(self.library.settled[legs] * length, 1.0))
        aim = on_leg + left[:, None] * self._gap
        self._wanted = np.stack([aim[0], unit(aim[1]), unit(aim[2])])

    def _take_up(self, sensed: Sensed) -> None:
        """Add to the command what the fingertips have missed so far."""
        self._past = np.concatenate([self._past[1:], self._wanted[:1]])
        missed = self._past[0] - sensed.tcp
        taken = self._taken + _GAIN * missed
        length = np.linalg.norm(taken, axis=1, keepdims=True)
        self._taken = taken * np.minimum(1.0, _MOST / np.maximum(length, 1e-9))


def _after(plans: Plans, length: np.ndarray) -> np.ndarray:
    """(n, p) control steps of what follows each leg of a plan, as far as it goes by itself."""
    after = np.zeros(plans.legs.shape)
    steps = np.where(plans.legs >= 0, plans.stop * length[plans.legs], 0.0)
    for at in range(plans.legs.shape[1] - 1, 0, -1):
        goes_on = ~(plans.retry == at).any(axis=1)
        after[:, at - 1] = np.where(goes_on, steps[:, at] + after[:, at], 0.0)
    return after
