"""Disturbances from outside: somebody moves the object, or bumps into the hand."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.generate.motion.repertoire import Mistake
from trueup.simulate import CpuWorlds
from trueup.streams import Streams

_BODY = "gripper"
_AFTER_S, _LATEST_S = 0.2, 0.6  # of an attempt: while the hand is still above
_OBJECT_S, _HAND_S = 0.2, 0.16
_MOVED = (0.01, 0.03)  # m
_FORCE = (4.0, 9.0)  # N


class Nudges:
    """What is done to some worlds from outside, at a moment of its own in each.

    An object is moved over the table as by a finger: that far in every world, whatever it weighs.
    A hand is bumped with a force.

    Args:
        worlds: The batch.
        thing: The body of the object; none where there is none.
    """

    def __init__(self, worlds: CpuWorlds, thing: str | None) -> None:
        model, n = worlds.compiled.model, worlds.n
        self._period_s = worlds.world.control_period_s
        self._qpos, self._qvel = worlds.batch.bind("qpos"), worlds.batch.bind("qvel")
        self._forces = worlds.batch.bind("xfrc_applied")
        self._at, self._dof = _addresses(model, thing)
        self._body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY.value, _BODY)
        self._kind = np.zeros(n, int)
        self._start, self._vector = np.zeros(n), np.zeros((n, 3))

    def begin(self, rows: np.ndarray, mistake: np.ndarray, streams: Streams) -> None:
        """Draw what will happen in some worlds, by the mistake (len(rows),) of each."""
        u = streams.uniform(4)
        self._kind[rows] = mistake
        self._start[rows] = _AFTER_S + (_LATEST_S - _AFTER_S) * u[:, 0]
        angle = 2.0 * np.pi * u[:, 1]
        level = np.stack([np.cos(angle), np.sin(angle), 0.6 * (2.0 * u[:, 3] - 1.0)], axis=-1)
        hand = (mistake == Mistake.HAND_NUDGED)[:, None]
        low, high = np.where(hand, _FORCE[0], _MOVED[0]), np.where(hand, _FORCE[1], _MOVED[1])
        self._vector[rows] = (low + (high - low) * u[:, 2:3]) * level
        if self._body >= 0:
            self._forces[rows, self._body] = 0.0

    def apply(self, age: np.ndarray) -> None:
        """Do it in the worlds whose moment it is, by their control steps (n,) so far."""
        since = age * self._period_s - self._start
        self._move((self._kind == Mistake.OBJECT_NUDGED) & (since >= 0) & (since < _OBJECT_S))
        if self._body < 0:
            return
        hand = self._kind == Mistake.HAND_NUDGED
        now = hand & (since >= 0) & (since < _HAND_S)
        self._forces[hand, self._body, :3] = np.where(now[:, None], self._vector, 0.0)[hand]

    def _move(self, now: np.ndarray) -> None:
        rows = np.flatnonzero(now)
        if self._at < 0 or not len(rows):
            return
        steps = max(1, round(_OBJECT_S / self._period_s))
        self._qpos[rows, self._at : self._at + 2] += self._vector[rows, :2] / steps
        self._qvel[rows, self._dof : self._dof + 6] = 0.0


def _addresses(model: mujoco.MjModel, thing: str | None) -> tuple[int, int]:
    """Where the free joint of a body stands in qpos and in qvel; -1 where there is none."""
    if thing is None:
        return -1, -1
    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT.value, thing)
    if joint < 0 or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
        return -1, -1
    return int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
