"""A scripted hand: grasps a cube by inverse kinematics in the nominal world, in all worlds at once.

It sees the first observation and then plays its commands blindly, as a script on a real arm would.
In the nominal world it lifts nearly every cube; in others its failures show what those differ by.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch

from trueup.worlds.so101 import HOME, JOINTS, REACH
from trueup.worlds.tabletop import PAN_AXIS_X
from trueup.worlds.world import World

_OPEN, _SHUT = 0.75, -0.17  # rad of the gripper
_CLEARANCE = 0.004  # m between the cube and the fixed finger on the way down
_ITERATIONS = 60
_DAMPING = 0.02
_AXIS_WEIGHT, _DOWN_WEIGHT = 0.05, 0.01  # m per rad: how much place yields to orientation


class ScriptedLift:
    """Commands that pick a cube up, from where it was first seen.

    Call it with the number of the control step; it answers with commands (n, 6).

    Args:
        world: A world with the SO-101 and a cube; its nominal model is the script's idea of it.
        observation: The first observation: `joint_position`, `cube_position`, `cube_orientation`.
        height: How far to lift, m.
    """

    def __init__(
        self, world: World, observation: dict[str, np.ndarray], *, height: float = 0.11
    ) -> None:
        cube = observation["cube_position"]
        across = _across(observation["cube_orientation"], cube)
        away = -_CLEARANCE * across  # the moving finger pushes the cube over to the fixed one
        start = observation["joint_position"].copy()
        solver = _Kinematics(world, len(cube))
        above, _ = solver.solve(cube + away + np.array([0.0, 0.0, 0.07]), across)
        astride, _ = solver.solve(cube + away, across, start=above)
        raised, _ = solver.solve(cube + np.array([0.0, 0.0, height]), across, start=astride)
        self._times, self._poses = _schedule(
            (0.0, start, None),
            (0.7, above, _OPEN),
            (1.3, astride, _OPEN),
            (1.5, astride, _OPEN),
            (2.0, astride, _SHUT),
            (2.9, raised, _SHUT),
        )
        self._period_s = world.control_period_s

    def __call__(self, k: int, observation: dict[str, np.ndarray]) -> np.ndarray:
        t = (k + 1) * self._period_s
        i = int(np.clip(np.searchsorted(self._times, t), 1, len(self._times) - 1))
        before, after = self._times[i - 1], self._times[i]
        share = np.clip((t - before) / (after - before), 0.0, 1.0)
        ease = share * share * (3.0 - 2.0 * share)
        return (1.0 - ease) * self._poses[i - 1] + ease * self._poses[i]


class _Kinematics:
    """Damped least squares for the tcp of n arms in the nominal world."""

    def __init__(self, world: World, n: int) -> None:
        model = world.model
        self._batch = Batch(model, n)
        self._site = model.site("tcp").id
        self._body = int(model.site_bodyid[self._site])
        self._arm = [int(model.joint(name).qposadr[0]) for name in JOINTS[:5]]
        self._dofs = [int(model.joint(name).dofadr[0]) for name in JOINTS[:5]]
        self._low, self._high = (model.jnt_range[[model.joint(j).id for j in JOINTS[:5]]]).T

    def solve(
        self, place: np.ndarray, across: np.ndarray, *, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Poses (n, 6) that bring the tcp to `place`, the jaw opening along `across`.

        Returns them with the distance (n,) left to the place, m.
        """
        batch, n = self._batch, len(place)
        q = np.tile(REACH[:5], (n, 1)) if start is None else start[:, :5].copy()
        if start is None:
            q[:, 0] = -np.arctan2(place[:, 1], place[:, 0] - PAN_AXIS_X)
        qpos, xpos, xmat = batch.bind("qpos"), batch.bind("site_xpos"), batch.bind("site_xmat")
        left = np.zeros(n)
        for _ in range(_ITERATIONS):
            qpos[:, self._arm] = q
            batch.forward(stage=mujoco.mjtStage.mjSTAGE_POS.value)
            tcp, frame = xpos[:, self._site], xmat[:, self._site].reshape(n, 3, 3)
            jacp, jacr = batch.jac(self._body, tcp)
            jacp, jacr = jacp[:, :, self._dofs], jacr[:, :, self._dofs]
            error = np.concatenate(
                [
                    place - tcp,
                    _AXIS_WEIGHT * np.cross(frame[:, :, 0], across),
                    _DOWN_WEIGHT * np.cross(frame[:, :, 2], [0.0, 0.0, -1.0]),
                ],
                axis=1,
            )
            jacobian = np.concatenate([jacp, _AXIS_WEIGHT * jacr, _DOWN_WEIGHT * jacr], axis=1)
            normal = np.swapaxes(jacobian, 1, 2) @ jacobian + _DAMPING**2 * np.eye(5)
            gradient = np.swapaxes(jacobian, 1, 2) @ error[:, :, None]
            q = np.clip(q + np.linalg.solve(normal, gradient)[:, :, 0], self._low, self._high)
            left = np.linalg.norm(place - tcp, axis=1)
        return np.concatenate([q, np.full((n, 1), HOME[5])], axis=1), left


def _across(quat: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Unit vectors along the cube's faces, of the four the one closest to sideways."""
    w, x, y, z = quat.T
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    sideways = np.arctan2(place[:, 1], place[:, 0] - PAN_AXIS_X) + 0.5 * np.pi
    quarter = 0.5 * np.pi
    yaw = sideways + (yaw - sideways + 0.5 * quarter) % quarter - 0.5 * quarter
    return np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1)


def _schedule(
    *stops: tuple[float, np.ndarray, float | None],
) -> tuple[np.ndarray, list[np.ndarray]]:
    times, poses = [], []
    for time, pose, gripper in stops:
        pose = pose.copy()
        if gripper is not None:
            pose[:, 5] = gripper
        times.append(time)
        poses.append(pose)
    return np.array(times), poses
