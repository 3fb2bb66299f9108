"""Joints that gravity does not load: one common scale of theirs is known only through the model.

Gain, damping, friction and armature of such a joint may all be larger by one factor and it moves
the same, but for the inertia of the links. That is taken from the model, which may be off itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mujoco
import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.space import Space
from trueup.worlds import World

_SCALED = ("kp", "kv", "damping", "frictionloss", "armature", "stribeck_torque", "rest_friction")
_TOGETHER = ("kp", "damping", "frictionloss")  # without these there is no scale to speak of
_LIGHT = 0.05  # of its friction: a joint that gravity loads by less
_INERTIA = 0.15  # relative; how well a model's link inertia is known
_SHARPEST = 1e-16  # of a prior's variance: less is rounding
_POSES = 200
_JOINT = mujoco.mjtObj.mjOBJ_JOINT.value


def unloaded(world: World, episodes: Sequence[Episode], space: Space) -> dict[str, np.ndarray]:
    """By joint that gravity does not load, the way (d,) in which its scale grows by a factor e."""
    found = {}
    for joint, load in _loads(world, episodes).items():
        names = [f"actuation/{joint}/{quantity}" for quantity in _SCALED]
        if not all(f"actuation/{joint}/{quantity}" in space for quantity in _TOGETHER):
            continue
        if load < _LIGHT * world.catalogue[f"actuation/{joint}/frictionloss"].nominal:
            found[joint] = _direction(space, names)
    return found


def widened(covariance: np.ndarray, ways: Sequence[np.ndarray], spread: np.ndarray) -> np.ndarray:
    """A covariance (d, d) in which each way may be off by as much as link inertia is.

    Only what the data say becomes less certain so. What was believed before stays: along no way is
    the result wider than the prior. Roots of what data say are taken, not that itself: readings
    without error say so much that rounding would leave less than nothing of it.

    Args:
        covariance: In the unit cube, the prior included.
        ways: (d,) each.
        spread: (d,) standard deviation of the prior.
    """
    if not ways:
        return covariance
    left, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))  # in units of the prior
    told = vectors * np.sqrt(np.maximum(1.0 / np.maximum(left, _SHARPEST) - 1.0, 0.0))
    off = _INERTIA * np.stack(ways, axis=1) / spread[:, None]
    along, sizes, _ = np.linalg.svd(told.T @ off, full_matrices=False)
    told = told - (told @ along * (1.0 - 1.0 / np.sqrt(1.0 + sizes**2))) @ along.T
    information, vectors = np.linalg.eigh(told @ told.T)
    wide = (vectors / (1.0 + np.maximum(information, 0.0))) @ vectors.T
    return 0.5 * (wide + wide.T) * np.outer(spread, spread)  # to the last bit


def sentences(joints: Sequence[str]) -> Iterator[str]:
    """What cannot be told, in words."""
    for joint in joints:
        yield (
            f"Gravity does not load {joint}: its gain, damping, friction and armature have one "
            "free common scale, which only the inertia of the links in the model holds. Randomize "
            f"them together. Record {joint} with a known load to tell it."
        )


def _direction(space: Space, names: Sequence[str]) -> np.ndarray:
    """How the unit cube moves when all these parameters grow by a factor e."""
    way = np.zeros(len(space))
    for name in names:
        if name in space and space[name].scale == "log":
            p = space[name]
            way[space.index(name)] = 1.0 / np.log(p.high / p.low)
    return way


def _loads(world: World, episodes: Sequence[Episode]) -> dict[str, float]:
    """Torque of gravity on each recorded joint, root mean square over poses of the recordings."""
    model = world.model
    data = mujoco.MjData(model)
    names = [name.removesuffix(".pos") for name in episodes[0][JOINTS].names]
    known = [name for name in names if mujoco.mj_name2id(model, _JOINT, name) >= 0]
    poses = np.concatenate([np.asarray(e[JOINTS].values, float) for e in episodes])
    poses[:, ~np.isfinite(poses).any(axis=0)] = 0.0  # never read: at its zero
    poses = poses[np.isfinite(poses).all(axis=1)]
    squares = np.zeros(len(known))
    chosen = poses[np.unique(np.linspace(0, len(poses) - 1, _POSES).astype(int))]
    for pose in chosen:
        mujoco.mj_resetData(model, data)
        for name in known:
            data.joint(name).qpos[0] = pose[names.index(name)]
        mujoco.mj_forward(model, data)
        torque = [float(data.joint(name).qfrc_bias[0]) for name in known]
        squares += np.square(torque) / len(chosen)
    return dict(zip(known, np.sqrt(squares).tolist(), strict=True))
