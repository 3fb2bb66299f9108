"""What passes between a world and whatever drives it, in the words of a policy's contract."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.policies import Feature, Interface
from trueup.worlds.world import Signal, World

_COMMAND_UNIT = {
    mujoco.mjtJoint.mjJNT_HINGE.value: "rad",
    mujoco.mjtJoint.mjJNT_SLIDE.value: "m",
}
_OF_JOINTS = (mujoco.mjtObj.mjOBJ_JOINT.value, mujoco.mjtObj.mjOBJ_ACTUATOR.value)
_AXES = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}


def interface_of(world: World) -> Interface:
    """What passes between a policy and this world: names, order, sizes, units, limits, rate."""
    model, sizes = world.model, world.sizes(world.observations)
    limited = model.actuator_ctrllimited.astype(bool)
    low, high = model.actuator_ctrlrange.T
    joints = model.actuator_trnid[:, 0]
    return Interface(
        observations=tuple(
            Feature(name=signal.name, size=sizes[signal.name], unit=signal.unit)
            for signal in world.observations
        ),
        commands=world.commands,
        unit=tuple(_COMMAND_UNIT.get(int(kind), "1") for kind in model.jnt_type[joints]),
        low=tuple(np.where(limited, low, -np.inf).tolist()),
        high=tuple(np.where(limited, high, np.inf).tolist()),
        period_s=world.control_period_s,
        measured=next((s.name for s in world.observations if _measures(s, model, joints)), None),
    )


def columns_of(world: World) -> dict[str, tuple[str, ...]]:
    """The name of each number of each observation: joints by name, places and turns by axis."""
    sizes = world.sizes(world.observations)
    return {s.name: _named(s, world.model, sizes[s.name]) for s in world.observations}


def _named(signal: Signal, model: mujoco.MjModel, size: int) -> tuple[str, ...]:
    sensors = [model.sensor(name) for name in signal.sensors]
    if signal.function is None and all(s.dim[0] == 1 for s in sensors):
        return tuple(_subject(model, s.id) or s.name for s in sensors)
    return _AXES.get(size) or tuple(str(i) for i in range(size))


def _subject(model: mujoco.MjModel, sensor: int) -> str:
    """The joint or servo that a sensor reads; nothing where it reads something else."""
    kind, subject = int(model.sensor_objtype[sensor]), int(model.sensor_objid[sensor])
    return mujoco.mj_id2name(model, kind, subject) or "" if kind in _OF_JOINTS else ""


def _measures(signal: Signal, model: mujoco.MjModel, joints: np.ndarray) -> bool:
    """Whether a signal holds the positions of exactly these joints, in order and as they are."""
    sensors = [model.sensor(name).id for name in signal.sensors]
    kinds = model.sensor_type[sensors]
    return (
        signal.function is None
        and bool((kinds == mujoco.mjtSensor.mjSENS_JOINTPOS.value).all())
        and np.array_equal(model.sensor_objid[sensors], joints)
    )
