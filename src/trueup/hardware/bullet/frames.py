"""Poses and velocities of what floats, from MuJoCo's frames to PyBullet's and back.

MuJoCo has the frame of the body, its quaternion as w, x, y, z, and its spin in that frame. PyBullet
has the frame of the inertia, x, y, z, w, and the spin in the world. All arrays may have axes before
the last.
"""

from __future__ import annotations

import numpy as np


def to_bullet(
    poses: np.ndarray, twists: np.ndarray, ipos: np.ndarray, iquat: np.ndarray
) -> np.ndarray:
    """(..., 13) centre of mass, frame, velocity, spin, of poses (..., 7) and twists (..., 6)."""
    arm, spin = turned(poses[..., 3:], ipos), turned(poses[..., 3:], twists[..., 3:])
    place, turn = poses[..., :3] + arm, product(poses[..., 3:], iquat)
    speed = twists[..., :3] + np.cross(spin, arm)
    return np.concatenate([place, xyzw(turn), speed, spin], axis=-1)


def from_bullet(
    states: np.ndarray, ipos: np.ndarray, iquat: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poses (..., 7) and twists (..., 6) as MuJoCo has them, for states (..., 13)."""
    own = product(np.roll(states[..., 3:7], 1, axis=-1), conjugate(iquat))
    spin, arm = states[..., 10:], turned(own, ipos)
    twists = [states[..., 7:10] - np.cross(spin, arm), turned(conjugate(own), spin)]
    return (
        np.concatenate([states[..., :3] - arm, own], axis=-1),
        np.concatenate(twists, axis=-1),
    )


def turned(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) turned by quaternions."""
    axis = quat[..., 1:]
    across = 2.0 * np.cross(axis, vector)
    return vector + quat[..., :1] * across + np.cross(axis, across)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One turn after another: first b, then a."""
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, v], axis=-1)


def conjugate(quat: np.ndarray) -> np.ndarray:
    """The turn back."""
    return quat * np.array([1.0, -1.0, -1.0, -1.0])


def xyzw(quat: np.ndarray) -> np.ndarray:
    """MuJoCo's order to PyBullet's."""
    return np.roll(quat, -1, axis=-1)


def matrix(quat: np.ndarray) -> np.ndarray:
    """(3, 3) of one quaternion."""
    return turned(quat[None], np.eye(3)).T
