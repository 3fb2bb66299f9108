"""Motions that make a robot show how it is wired and calibrated, planned before torque is on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import mujoco
import numpy as np

from trueup.deploy.wiring.clearance import Clearance
from trueup.policies import Interface

WIGGLE_RAD = 0.12
"""How far each joint is moved to either side in the first test: seven degrees."""
WIGGLE_SPEED = 0.25  # rad/s
TRAVEL_SPEED = 1.0  # from one motion to the next
_SWEEP_SPEED = 0.9  # or less, where a servo could not keep up; unlike a wiggle's: see `sticking`
_DWELL_S = 0.2  # at rest before and after each motion
_STARTS, _CLIMBS, _STEPS = 200, 12, 60  # of the search for a pose with room
_LOOKS = 24  # places along the way of a joint at which room is measured
_NEAR = 5  # of them, from an end inwards, must be free


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One joint from one side to the other and back, the others still.

    Attributes:
        joint: Which, by number.
        pose: (nu,) where the others are.
        low: Where it turns at the lower side.
        high: Where it turns at the upper side.
        at_low: Whether that is the joint's lower limit.
        at_high: Whether that is its upper limit.
        entry: Where on its way it is come to from home, and left.
        speed: How fast, rad/s.
    """

    joint: int
    pose: np.ndarray
    low: float
    high: float
    at_low: bool
    at_high: bool
    entry: float
    speed: float

    def at(self, position: float) -> np.ndarray:
        """(nu,) the pose with the joint at some position."""
        pose = self.pose.copy()
        pose[self.joint] = position
        return pose

    def upwards(self, period_s: float) -> np.ndarray:
        """(k, nu) commands from `low` to `high`."""
        return travelled([self.at(self.low), self.at(self.high)], period_s, self.speed)

    def downwards(self, period_s: float) -> np.ndarray:
        """(k, nu) commands from `high` to `low`."""
        return travelled([self.at(self.high), self.at(self.low)], period_s, self.speed)


def wiggle(pose: np.ndarray, joint: int, interface: Interface) -> np.ndarray:
    """(k, nu) one joint to one side, to the other, once more and back, inside its limits."""
    low, high = interface.low[joint], interface.high[joint]
    middle = pose[joint]
    if high - low > 2.0 * WIGGLE_RAD:
        middle = np.clip(middle, low + WIGGLE_RAD, high - WIGGLE_RAD)
    stops = [pose]
    for position in (*(middle + WIGGLE_RAD * np.array([1, -1, 1])), pose[joint]):
        stop = pose.copy()
        stop[joint] = np.clip(position, low, high)
        stops.append(stop)
    return travelled(stops, interface.period_s, WIGGLE_SPEED)


def travelled(stops: list[np.ndarray], period_s: float, speed: float) -> np.ndarray:
    """(k, nu) commands along straight lines from stop to stop, no joint faster than `speed`."""
    rest = max(1, round(_DWELL_S / period_s))
    rows = [np.repeat(stops[0][None], rest, axis=0)]
    for start, stop in pairwise(stops):
        steps = max(1, int(np.ceil(np.abs(stop - start).max() / (speed * period_s))))
        shares = np.linspace(0.0, 1.0, steps + 1)[1:, None]
        rows.append(start + shares * (stop - start))
    return np.concatenate([*rows, np.repeat(stops[-1][None], rest, axis=0)])


def sweeps(clearance: Clearance, interface: Interface, home: np.ndarray) -> list[Sweep]:
    """Sweeps that bring every joint to both its limits, where there is room to go there.

    The other joints stay as they are where that leaves room, and else go to a pose that does, found
    by trying. What cannot be reached is left out; see `Sweep.at_low`, `Sweep.at_high`.
    """
    generator = np.random.default_rng(0)
    found: list[Sweep] = []
    for joint, (low, high) in enumerate(zip(interface.low, interface.high, strict=True)):
        if not np.isfinite([low, high]).all():
            continue
        mine: list[Sweep] = []
        for end in (low, high):
            if not any(abs(end - reached) < 1e-9 for s in mine for reached in (s.low, s.high)):
                search = _Search(clearance, interface, joint, end)
                pose = search.pose(home, generator)
                mine += [] if pose is None else [search.sweep(pose)]
        found += mine
    return found


class _Search:
    """Looks for a pose of the other joints that leaves one joint room to reach one of its ends."""

    def __init__(self, clearance: Clearance, interface: Interface, joint: int, end: float) -> None:
        self.clearance, self.joint = clearance, joint
        self.low, self.high = np.array(interface.low), np.array(interface.high)
        far = self.low[joint] if end == self.high[joint] else self.high[joint]
        self.places = np.linspace(end, far, _LOOKS)

    def pose(self, home: np.ndarray, generator: np.random.Generator) -> np.ndarray | None:
        """A pose that leaves room and can be reached from home: home itself where it will do."""
        if self._good(home, home):
            return home
        starts = generator.uniform(self.low, self.high, (_STARTS, len(home)))
        starts[:, self.joint] = home[self.joint]
        for start in sorted(starts, key=self._room, reverse=True)[:_CLIMBS]:
            pose = self._climbed(start, generator)
            for near in (0.0, 0.25, 0.5, 0.75):  # the way there is shorter, where it will do
                if self._good(home, pose + near * (home - pose)):
                    pose = pose + near * (home - pose)
            if self._good(home, pose):
                return pose
        return None

    def _climbed(self, pose: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The pose moved to where there is more room, until there is enough."""
        room = self._room(pose)
        for _ in range(_STEPS):
            if room >= 0.0:
                break
            other = np.clip(pose + generator.normal(0.0, 0.2, len(pose)), self.low, self.high)
            other[self.joint] = pose[self.joint]
            if (left := self._room(other)) > room:
                pose, room = other, left
        return pose

    def _good(self, home: np.ndarray, pose: np.ndarray) -> bool:
        return self._room(pose) >= 0.0 and self.clearance.path(home, self._way(pose))

    def sweep(self, pose: np.ndarray) -> Sweep:
        """As far from the end as there is room."""
        clear = self.clearance.clear(self._at(pose, self.places))
        reached = self.places[: len(clear) if clear.all() else int(clear.argmin())]
        return Sweep(
            joint=self.joint,
            pose=pose,
            low=float(reached.min()),
            high=float(reached.max()),
            at_low=bool(reached.min() == self.low[self.joint]),
            at_high=bool(reached.max() == self.high[self.joint]),
            entry=float(self.places[_NEAR - 1]),
            speed=_speed(self.clearance.model, self.joint),
        )

    def _way(self, pose: np.ndarray) -> list[np.ndarray]:
        return list(self._at(pose, self.places[_NEAR - 1 :: -1]))

    def _room(self, pose: np.ndarray) -> float:
        """The least room near the end."""
        return min(self.clearance.room(at)[0] for at in self._at(pose, self.places[:_NEAR]))

    def _at(self, pose: np.ndarray, places: np.ndarray) -> np.ndarray:
        poses = np.repeat(pose[None], len(places), axis=0)
        poses[:, self.joint] = places
        return poses


def _speed(model: mujoco.MjModel, joint: int) -> float:
    """Half of what the nominal servo could do at full torque, where that is less than usual."""
    dof = int(model.jnt_dofadr[model.actuator_trnid[joint, 0]])
    force, damping = float(model.actuator_forcerange[joint, 1]), float(model.dof_damping[dof])
    if not model.actuator_forcelimited[joint] or damping <= 0.0:
        return _SWEEP_SPEED
    return min(_SWEEP_SPEED, 0.5 * (force - float(model.dof_frictionloss[dof])) / damping)
