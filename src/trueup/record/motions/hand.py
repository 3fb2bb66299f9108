"""A hand that is sent to places: inverse kinematics of the nominal arm, for n robots at once."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.errors import TrueupError
from trueup.record.body import Body
from trueup.worlds import World
from trueup.worlds.kinematics import ForwardKinematics

SITE = "tcp"
SPARE_RAD = 0.06
"""What a hand leaves of each joint's range at both ends."""
_ITERATIONS = 80
_DAMPING = 0.02
_ACROSS_WEIGHT, _DOWN_WEIGHT = 0.05, 0.01  # m per rad: how much place yields to orientation
_CLOSE_M = 0.004
_SETTLED_RAD = 1e-5


class Hand:
    """The end of an arm: the site `tcp`, whose x axis is where the jaw opens and z where it points.

    Attributes:
        arm: Commands of the joints that carry the hand.
        grip: The command of the joint that closes it.
        tip_m: How far the fingers reach beyond the site.
        place: Where the hand is, from the commanded joints' positions.
    """

    def __init__(self, world: World, body: Body, n: int) -> None:
        model = world.model
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE.value, SITE) < 0:
            raise TrueupError(
                f"World {world.name!r} has no site named {SITE!r}, so nothing says where the hand "
                "is.",
                fix="Add one between the fingertips, x where the jaw opens, z where it points.",
            )
        self._site = model.site(SITE).id
        self._link = int(model.site_bodyid[self._site])
        joints = [model.joint(name).id for name in body.joints]
        carried = _ancestors(model, self._link)
        self.arm = [i for i, j in enumerate(joints) if int(model.jnt_bodyid[j]) in carried]
        grips = [i for i in range(body.size) if i not in self.arm]
        if len(grips) != 1:
            raise TrueupError(
                f"World {world.name!r} has {len(grips)} joints beyond the hand; a probe needs one "
                "that closes it.",
                fix="Use a world with a two-finger gripper.",
            )
        self.grip = grips[0]
        self.place = ForwardKinematics(model, SITE, body.joints)
        self.tip_m = _tip(model, self._site)
        self._batch, self._n = Batch(model, n), n
        self._qpos = [int(model.jnt_qposadr[joints[i]]) for i in self.arm]
        self._dofs = [int(model.jnt_dofadr[joints[i]]) for i in self.arm]
        self._low = np.array(body.low)[self.arm] + SPARE_RAD
        self._high = np.array(body.high)[self.arm] - SPARE_RAD

    def reached(self, place: np.ndarray, across: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Poses (n, nu) that bring the site to `place` (n, 3), the jaw opening along `across`.

        Damped least squares from `start` (n, nu); what is no part of the arm stays as it is there.
        """
        q = start.copy()
        qpos = self._batch.bind("qpos")
        xpos, xmat = self._batch.bind("site_xpos"), self._batch.bind("site_xmat")
        for _ in range(_ITERATIONS):
            qpos[:, self._qpos] = q[:, self.arm]
            self._batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS.value)
            at, frame = xpos[:, self._site], xmat[:, self._site].reshape(self._n, 3, 3)
            step = self._step(at, frame, place, across)
            q[:, self.arm] = np.clip(q[:, self.arm] + step, self._low, self._high)
            if np.abs(step).max() < _SETTLED_RAD:
                break
        left = np.linalg.norm(place - self.place(q), axis=1)
        if (left > _CLOSE_M).any():
            i = int(left.argmax())
            x, y, z = place[i]
            raise TrueupError(
                f"The hand cannot reach x {x:.3f}, y {y:.3f}, z {z:.3f} m; it comes within "
                f"{1e3 * left[i]:.0f} mm" + (f" in cell {i}." if self._n > 1 else "."),
                fix="Put the object nearer to the middle of the arm's reach.",
            )
        return q

    def _step(
        self, at: np.ndarray, frame: np.ndarray, place: np.ndarray, across: np.ndarray
    ) -> np.ndarray:
        move, turn = self._batch.jac(self._link, at)
        move, turn = move[:, :, self._dofs], turn[:, :, self._dofs]
        error = np.concatenate(
            [
                place - at,
                _ACROSS_WEIGHT * np.cross(frame[:, :, 0], across),
                _DOWN_WEIGHT * np.cross(frame[:, :, 2], [0.0, 0.0, -1.0]),
            ],
            axis=1,
        )
        jacobian = np.concatenate([move, _ACROSS_WEIGHT * turn, _DOWN_WEIGHT * turn], axis=1)
        turned = np.swapaxes(jacobian, 1, 2)
        normal = turned @ jacobian + _DAMPING**2 * np.eye(len(self.arm))
        return np.linalg.solve(normal, turned @ error[:, :, None])[:, :, 0]

    def __repr__(self) -> str:
        return f"Hand(arm={self.arm}, grip={self.grip}, tip_m={self.tip_m:.4f})"


def _ancestors(model: mujoco.MjModel, body: int) -> set[int]:
    found = set()
    while body:
        found.add(body)
        body = int(model.body_parentid[body])
    return found


def _tip(model: mujoco.MjModel, site: int) -> float:
    """How far the solid boxes of the hand's own link reach beyond the site, along its z."""
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.site_quat[site])
    ahead, furthest = turn.reshape(3, 3)[:, 2].copy(), 0.0
    for geom in np.flatnonzero(model.geom_bodyid == model.site_bodyid[site]):
        if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_BOX:
            continue
        mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
        extent = float(np.abs(turn.reshape(3, 3).T @ ahead) @ model.geom_size[geom])
        centre = float((model.geom_pos[geom] - model.site_pos[site]) @ ahead)
        furthest = max(furthest, centre + extent)
    return furthest


def sideways(quat: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Unit vectors (n, 3) along faces of upright things, of the four the closest to sideways.

    Args:
        quat: (n, 4) their orientations.
        away: (n, 2) from the robot to each.
    """
    w, x, y, z = quat.T
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    wanted = np.arctan2(away[:, 1], away[:, 0]) + 0.5 * math.pi
    quarter = 0.5 * math.pi
    yaw = wanted + (yaw - wanted + 0.5 * quarter) % quarter - 0.5 * quarter
    return np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1)
