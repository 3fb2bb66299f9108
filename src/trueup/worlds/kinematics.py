"""Where a hand is, from what the encoders say: forward kinematics of a chain, for many arms."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import Array


@dataclass(frozen=True)
class _Link:
    """A fixed transform, then a turn about an axis (no axis: the transform alone)."""

    place: np.ndarray
    turn: np.ndarray
    axis: np.ndarray | None
    column: int


class Chain:
    """The kinematic chain from the world to a site, read once from a model.

    Args:
        model: The nominal model; what a controller believes of the robot.
        site: The site at its end.
        joints: Hinges whose positions will be given, in order. Other joints stay at zero.
    """

    def __init__(self, model: mujoco.MjModel, site: str, joints: tuple[str, ...]) -> None:
        at = model.site(site)
        links = [_Link(at.pos.copy(), _matrix(at.quat), None, -1)]
        body = int(model.site_bodyid[at.id])
        ids = [model.joint(joint).id for joint in joints]
        while body:
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            for joint in reversed(range(first, first + count)):
                if joint in ids:
                    axis = model.jnt_axis[joint].copy()
                    links.append(_Link(np.zeros(3), np.eye(3), axis, ids.index(joint)))
            fixed = _Link(model.body_pos[body].copy(), _matrix(model.body_quat[body]), None, -1)
            links.append(fixed)
            body = int(model.body_parentid[body])
        self._links = tuple(reversed(links))

    def __call__(self, q: Array) -> Array:
        """Places (n, 3) of the site for joint positions (n, k)."""
        xp = array_namespace(q)
        # from the site back to the world, so that only vectors are carried along
        place = xp.zeros((q.shape[0], 3), dtype=q.dtype)
        for link in reversed(self._links):
            if link.axis is None:
                turn = xp.asarray(link.turn.T.copy(), dtype=q.dtype)
                place = place @ turn + xp.asarray(link.place, dtype=q.dtype)
            else:
                place = _turned(xp, link.axis, q[:, link.column], place)
        return place


def _turned(xp, axis: np.ndarray, angle: Array, vector: Array) -> Array:
    """Vectors (n, 3) turned about one axis by angles (n,), after Rodrigues."""
    x, y, z = axis
    across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    along = vector @ xp.asarray(np.outer(axis, axis), dtype=vector.dtype)
    side = vector @ xp.asarray(across, dtype=vector.dtype)
    c, s = xp.cos(angle)[:, None], xp.sin(angle)[:, None]
    return vector * c + side * s + along * (1.0 - c)


def _matrix(quat: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quat)
    return flat.reshape(3, 3)
