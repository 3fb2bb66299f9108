"""Where things stand, seen from an arm that turns about an upright axis.

A thing on a table has a place and a turn about the vertical. A box looks the same after a quarter
turn, so of its four turns the one is taken that suits the arm.
"""

from __future__ import annotations

import numpy as np

from trueup.worlds.tabletop import PAN_AXIS_X

_QUARTER = 0.5 * np.pi


def turned(vectors: np.ndarray, yaw: np.ndarray | float) -> np.ndarray:
    """Vectors (..., 3) turned about the vertical by angles (...) in rad."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([c * x - s * y, s * x + c * y, z + 0.0 * c], axis=-1)


def azimuth(places: np.ndarray) -> np.ndarray:
    """(...) the direction of places (..., 3) from the shoulder's axis, rad."""
    return np.arctan2(places[..., 1], places[..., 0] - PAN_AXIS_X)


def face_yaw(quats: np.ndarray) -> np.ndarray:
    """(...) the turn of a box's upright faces about the vertical, from quaternions (..., 4).

    Whichever of its faces it lies on: the axis nearest to the vertical is left out.
    """
    w, x, y, z = np.moveaxis(np.asarray(quats, float), -1, 0)
    axes = np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], -1),
            np.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], -1),
            np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], -1),
        ],
        axis=-2,
    )
    upright = np.abs(axes[..., 2]).argmax(axis=-1)
    level = np.take_along_axis(axes, ((upright + 1) % 3)[..., None, None], axis=-2)[..., 0, :]
    return np.arctan2(level[..., 1], level[..., 0])


def nearest_quarter(yaw: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Of the four turns under which a box looks the same, the one closest to another."""
    return near + (yaw - near + 0.5 * _QUARTER) % _QUARTER - 0.5 * _QUARTER


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) of length 1; those of no length stay as they are."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 1e-9, length, 1.0)


def eased(share: np.ndarray) -> np.ndarray:
    """From 0 to 1 and back to rest at both ends, for shares from 0 to 1."""
    share = np.clip(share, 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)
