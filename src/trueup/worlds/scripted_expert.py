"""Scripted experts: what a hand that sees the truth would do next, from wherever it is.

Other than `ScriptedLift`, which plays a plan blindly, an expert answers to every moment anew: it
has no memory and no clock. So it can be asked what should be done in situations that it did not
bring about itself, and a policy can learn from its answers to those that the policy gets into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.worlds.scripted_arm import Arm, Posture
from trueup.worlds.so101 import JOINTS
from trueup.worlds.tabletop import PAN_AXIS_X
from trueup.worlds.world import World

_OPEN, _SHUT = 0.5, -0.5  # rad of the gripper; nothing to hold lets it shut so far
_ASTRIDE = 0.012  # m: this near to its middle, the fingers close on a cube
_SLACK = 0.012  # m more, while they do
_CLEARANCE = 0.006  # m between the cube and the fixed finger on the way down
_FUNNEL, _STEEP, _HOVER = 0.006, 4.0, 0.06  # m aside that needs no height, m/m, m of height at most
_SQUARE, _ASKEW = 0.12, 0.15  # rad of the jaw against the cube that needs none, m/rad of the rest
_AJAR, _NARROW = 0.3, 0.1  # rad of a gripper that is open enough to come down, m/rad below that
_CLOSING = 0.4  # rad of a gripper that is closing
_HELD_N = 0.4  # N of grip that count as a grasp
_GAIN = 0.65  # of the way left, that the joints are pulled
_FREE, _CARRYING = 0.08, 0.05  # m of it at most
_STUCK, _STUCK_AT = 0.8, 0.015  # of the joints' friction, that is added; rad at which it is


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What an expert goes by, for n worlds.

    Attributes:
        tcp: (n, 3) where the fingertips really are, m.
        cube: (n, 3) where the cube really is.
        target: (n, 3) where it should go; nan where the task has no such place.
        held: (n,) whether it is in the hand.
    """

    tcp: np.ndarray
    cube: np.ndarray
    target: np.ndarray
    held: np.ndarray


Signals = Mapping[str, np.ndarray]
Advice = Callable[[Signals, Signals], np.ndarray]
"""From what the robot reads and what is true, by name, to targets (n, servos) for its servos.

What is true are the world's privileged signals, where servos are (`true_joint_position`), and the
numbers of the point, as `simulate.advice.known` puts them together.
"""

Carry = Callable[[Seen], tuple[np.ndarray, np.ndarray]]
"""From what is seen to where the fingertips should be (n, 3), and whether to let go (n,)."""


def _lift(seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Up, and nearer to the shoulder where the arm could not raise it otherwise."""
    x, y = seen.tcp[:, 0] - PAN_AXIS_X, seen.tcp[:, 1]
    share = np.minimum(1.0, 0.23 / np.maximum(np.hypot(x, y), 1e-9))
    place = np.stack([PAN_AXIS_X + share * x, share * y, np.full_like(x, 0.11)], axis=-1)
    return place, np.zeros(len(place), bool)


def _push(seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Pinch the cube and drag it: one that is only knocked about ends beside the mark."""
    place = seen.target + (seen.tcp - seen.cube)
    place[:, 2] = 0.014
    return place, np.zeros(len(place), bool)


def _place(seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Up, across, down, let go, and up again."""
    off = seen.cube[:, :2] - seen.target[:, :2]
    aside = np.abs(off).max(axis=1)
    above = seen.cube[:, 2] - seen.target[:, 2]
    place = seen.target + (seen.tcp - seen.cube)
    place[:, 2] = np.where(aside < 0.02, 0.05, 0.09) + seen.target[:, 2]
    low = (above < 0.05) & (aside > 0.045)  # a cube that is not high enough would hit the wall
    place[:, :2] = np.where(low[:, None], seen.tcp[:, :2], place[:, :2])
    free = (aside < 0.025) & (above < 0.065) | (aside < 0.045) & (above < 0.03)
    place[:, 2] = np.where(free & ~seen.held, 0.15, place[:, 2])
    return place, free


_TASKS: dict[str, Carry] = {"so101/push": _push, "so101/lift": _lift, "so101/place": _place}


class Expert:
    """Fetches a cube and does with it what the task asks.

    It sees the truth, also where that differs from what the robot reads: readings that are off by
    a few degrees would lead the hand past the cube, and a soft servo hangs lower than a stiff one.

    Args:
        world: One of those that `expert_of` knows.
        carry: What to do with a cube in the hand.
    """

    def __init__(self, world: World, carry: Carry) -> None:
        model = world.model
        self._carry, self._arm = carry, Arm(model, "tcp", JOINTS[:5])
        self._kp = np.abs(model.actuator_gainprm[:5, 0])
        dofs = [int(model.joint(joint).dofadr[0]) for joint in JOINTS[:5]]
        self._friction = model.dof_frictionloss[dofs].copy()

    def __call__(self, observation: Signals, privileged: Signals) -> np.ndarray:
        """Targets (n, 6) for the servos."""
        q = privileged["true_joint_position"]
        at = self._arm.posture(q[:, :5])
        seen = _seen(observation, privileged)
        jaw = _jaw(at, privileged["true_cube_orientation"])
        place, closing = _fetching(seen, at, jaw, q[:, 5])
        carried, free = self._carry(seen)
        busy = seen.held | free
        place = np.where(busy[:, None], carried, place)
        jaw = np.where(busy[:, None], at.turn[:, :, 0], jaw)
        way = place - seen.tcp
        most = np.where(seen.held, _CARRYING, _FREE)
        way *= np.minimum(1.0, most / np.maximum(np.linalg.norm(way, axis=1), 1e-9))[:, None]
        moved = _GAIN * self._arm.moved(at, way, jaw)
        kp = _of_joints(privileged, "kp", self._kp)
        friction = _of_joints(privileged, "frictionloss", self._friction)
        against = at.torque + _STUCK * friction * np.tanh(moved / _STUCK_AT)
        shut = (closing | seen.held) & ~free
        gripper = np.where(shut, _SHUT, _OPEN)
        return np.concatenate([q[:, :5] + moved + against / kp, gripper[:, None]], axis=1)


def expert_of(world: World) -> Advice | None:
    """The scripted expert of a world, where there is one: its own `expert()`, or one of ours."""
    own = getattr(world, "expert", None)
    if own is not None:
        return own()
    carry = _TASKS.get(world.name)
    return None if carry is None else Expert(world, carry)


def _of_joints(known: Signals, name: str, nominal: np.ndarray) -> np.ndarray:
    """(n or 1, 5) a number of each joint's drive: the point's, or nominal where that has none."""
    columns = [
        known.get(f"actuation/{joint}/{name}", np.array([usual]))
        for joint, usual in zip(JOINTS[:5], nominal, strict=True)
    ]
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _seen(observation: Signals, privileged: Signals) -> Seen:
    cube, force = privileged["true_cube_position"], privileged["grip_force"]
    squeezed = -(force[:, :3] * force[:, 3:]).sum(axis=1)
    return Seen(
        tcp=privileged["true_tcp_position"],
        cube=cube,
        target=observation.get("target_position", np.full_like(cube, np.nan)),
        held=squeezed > _HELD_N**2,
    )


def _jaw(at: Posture, quat: np.ndarray) -> np.ndarray:
    """(n, 3) the direction along the cube's faces that the jaw is nearest to."""
    w, x, y, z = quat.T
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    now = np.arctan2(at.turn[:, 1, 0], at.turn[:, 0, 0])
    quarter = 0.5 * np.pi
    yaw = now + (yaw - now + 0.5 * quarter) % quarter - 0.5 * quarter
    return np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1)


def _fetching(
    seen: Seen, at: Posture, jaw: np.ndarray, gripper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where fingertips go that hold nothing, and whether they close: down a funnel to the cube."""
    middle = seen.cube - _CLEARANCE * jaw  # the moving finger pushes it over to the fixed one
    away = middle - seen.tcp
    aside = np.linalg.norm(away[:, :2], axis=1)
    askew = np.arccos(np.clip((at.turn[:, :, 0] * jaw).sum(axis=1), -1.0, 1.0))
    needed = _STEEP * (aside - _FUNNEL) + _ASKEW * (askew - _SQUARE) + _NARROW * (_AJAR - gripper)
    place = middle.copy()
    near = np.linalg.norm(away, axis=1) < _ASTRIDE + np.where(gripper < _CLOSING, _SLACK, 0.0)
    place[:, 2] += np.where(near, 0.0, np.clip(needed, 0.0, _HOVER))
    return place, near
