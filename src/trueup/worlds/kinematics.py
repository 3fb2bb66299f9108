"""Where a hand is, from what the encoders say: forward kinematics of a chain, for many arms."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from array_api_compat import array_namespace

from trueup.effects import Array


@dataclass(frozen=True)
class _Link:
    """A fixed transform; or, with an axis, a joint: a turn about or a move along it.

    `place` is then where the axis passes, and `rest` the joint position of the model as drawn.
    """

    place: np.ndarray
    turn: np.ndarray
    axis: np.ndarray | None = None
    column: int = -1
    slides: bool = False
    rest: float = 0.0


class ForwardKinematics:
    """The kinematic chain from the world to a site, read once from a model.

    Args:
        model: The nominal model; what a controller believes of the robot.
        site: The site at its end.
        joints: Hinges and slides whose positions will be given, in order; others stay as drawn.
    """

    def __init__(self, model: mujoco.MjModel, site: str, joints: tuple[str, ...]) -> None:
        at = model.site(site)
        links = [_Link(at.pos.copy(), _matrix(at.quat))]
        body = int(model.site_bodyid[at.id])
        ids = [model.joint(joint).id for joint in joints]
        while body:
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            for joint in reversed(range(first, first + count)):
                if joint in ids:
                    links.append(_joint(model, joint, ids.index(joint)))
            links.append(_Link(model.body_pos[body].copy(), _matrix(model.body_quat[body])))
            body = int(model.body_parentid[body])
        self._links = tuple(reversed(links))

    def __call__(self, q: Array) -> Array:
        """Places (n, 3) of the site for joint positions (n, k)."""
        xp = array_namespace(q)
        # from the site back to the world, so that only vectors are carried along
        place = xp.zeros((q.shape[0], 3), dtype=q.dtype)
        for link in reversed(self._links):
            if link.axis is None:
                place = _times(xp, place, link.turn.T) + xp.asarray(link.place, dtype=q.dtype)
                continue
            moved = q[:, link.column] - link.rest
            if link.slides:
                place = place + moved[:, None] * xp.asarray(link.axis, dtype=q.dtype)
            else:
                anchor = xp.asarray(link.place, dtype=q.dtype)
                place = _turned(xp, link.axis, moved, place - anchor) + anchor
        return place

    def into_site(self, q: Array, vector: Array) -> Array:
        """Directions (n, 3) of the world as the site's own frame has them."""
        xp = array_namespace(q)
        for link in self._links:
            if link.axis is None:
                vector = _times(xp, vector, link.turn)
            elif not link.slides:
                vector = _turned(xp, link.axis, link.rest - q[:, link.column], vector)
        return vector


def _joint(model: mujoco.MjModel, joint: int, column: int) -> _Link:
    return _Link(
        model.jnt_pos[joint].copy(),
        np.eye(3),
        model.jnt_axis[joint].copy(),
        column,
        slides=model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE,
        rest=float(model.qpos0[model.jnt_qposadr[joint]]),
    )


def _turned(xp, axis: np.ndarray, angle: Array, vector: Array) -> Array:
    """Vectors (n, 3) turned about one axis by angles (n,), after Rodrigues."""
    x, y, z = axis
    across = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    along = _times(xp, vector, np.outer(axis, axis))
    side = _times(xp, vector, across)
    c, s = xp.cos(angle)[:, None], xp.sin(angle)[:, None]
    return vector * c + side * s + along * (1.0 - c)


def _matrix(quat: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quat)
    return flat.reshape(3, 3)


def _times(xp, vector: Array, matrix: np.ndarray) -> Array:
    """Vectors (n, 3) times a matrix (3, 3), row by row.

    On some processors a product by `@` rounds a row otherwise when it stands alone.
    """
    x, y, z = (xp.asarray(row, dtype=vector.dtype) for row in matrix.copy())
    return vector[:, :1] * x + vector[:, 1:2] * y + vector[:, 2:] * z
