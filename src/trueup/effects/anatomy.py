"""Names and places in a MuJoCo model: which objects match, and where their numbers stand."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from math import prod

import mujoco
import numpy as np

TRUTH = "truth/"
"""Prefix of sensors that no effect touches: what is, not what is measured."""

_KINDS = {
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "joint": mujoco.mjtObj.mjOBJ_JOINT,
    "pair": mujoco.mjtObj.mjOBJ_PAIR,
    "sensor": mujoco.mjtObj.mjOBJ_SENSOR,
    "site": mujoco.mjtObj.mjOBJ_SITE,
}

_ROWS = {
    "actuator": "actuator_trnid",
    "body": "body_mass",
    "geom": "geom_type",
    "joint": "jnt_type",
    "pair": "pair_dim",
    "sensor": "sensor_type",
    "site": "site_bodyid",
}


def names(model: mujoco.MjModel, kind: str, pattern: str = "*") -> list[str]:
    """Names of the objects of a kind that match, in the model's order.

    Left out are unnamed ones and those whose name begins with `_`: what an effect added for itself.
    """
    n = len(getattr(model, _ROWS[kind]))
    found = (mujoco.mj_id2name(model, _KINDS[kind].value, i) for i in range(n))
    return [n for n in found if n and not n.startswith("_") and fnmatchcase(n, pattern)]


def driven_joints(model: mujoco.MjModel, pattern: str = "*") -> dict[str, str]:
    """Actuated joints that match, each with the name of the position servo that drives it."""
    driven = {}
    for actuator in names(model, "actuator"):
        i = identity(model, "actuator", actuator)
        at_joint = model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_JOINT
        if at_joint and model.actuator_ctrlnum[i] == 1:
            joint = model.joint(int(model.actuator_trnid[i, 0])).name
            if joint and fnmatchcase(joint, pattern):
                driven[joint] = actuator
    return driven


def sensors_of(
    model: mujoco.MjModel, types: Iterable[mujoco.mjtSensor], pattern: str = "*"
) -> list[str]:
    """Names of the measuring sensors of the given types that match; never those of the truth."""
    wanted = {int(t) for t in types}
    return [
        name
        for name in names(model, "sensor", pattern)
        if int(model.sensor_type[identity(model, "sensor", name)]) in wanted
        and not name.startswith(TRUTH)
    ]


def readings(model: mujoco.MjModel, sensors: Iterable[str]) -> tuple[int, ...]:
    """Columns of `sensordata` that hold the given sensors, in their order."""
    columns: list[int] = []
    for name in sensors:
        i = identity(model, "sensor", name)
        first = int(model.sensor_adr[i])
        columns += range(first, first + int(model.sensor_dim[i]))
    return tuple(columns)


def identity(model: mujoco.MjModel, kind: str, name: str) -> int:
    """The id of a named object; -1 where there is none."""
    return mujoco.mj_name2id(model, _KINDS[kind].value, name)


def element(model: mujoco.MjModel, kind: str, name: str, field: str, column: int = 0) -> int:
    """The flat index of one number of a named object in a model field."""
    i = identity(model, kind, name)
    if kind == "joint":
        if field.startswith("dof_"):
            i = int(model.jnt_dofadr[i])
        elif field.startswith("qpos"):
            i = int(model.jnt_qposadr[i])
    return i * prod(np.shape(getattr(model, field))[1:]) + column


def default(model: mujoco.MjModel, field: str) -> np.ndarray:
    """The compiled numbers of a field as a flat array; `opt.*` fields too."""
    value = getattr(model.opt, field[4:]) if field.startswith("opt.") else getattr(model, field)
    return np.asarray(value).reshape(-1).copy()
