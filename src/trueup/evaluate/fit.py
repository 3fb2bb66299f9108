"""A policy in a world: whether it fits, and how it takes the controls."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.evaluate.play import Begin
from trueup.policies import Feature, Interface, Policy
from trueup.simulate import Worlds
from trueup.simulate.rollout import Controller
from trueup.worlds import Signal, World

_COMMAND_UNIT = {
    mujoco.mjtJoint.mjJNT_HINGE.value: "rad",
    mujoco.mjtJoint.mjJNT_SLIDE.value: "m",
}


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


def _measures(signal: Signal, model: mujoco.MjModel, joints: np.ndarray) -> bool:
    """Whether a signal holds the positions of exactly these joints, in order and as they are."""
    sensors = [model.sensor(name).id for name in signal.sensors]
    kinds = model.sensor_type[sensors]
    return (
        signal.function is None
        and bool((kinds == mujoco.mjtSensor.mjSENS_JOINTPOS.value).all())
        and np.array_equal(model.sensor_objid[sensors], joints)
    )


def check_fit(policy: Policy, world: World) -> None:
    """Refuse a world that a policy's contract does not fit, with both sides named."""
    policy.check(interface_of(world), of=f"the world {world.name!r}")


def piloted(policy: Policy) -> Begin:
    """What `evaluate` needs to let a policy play; it checks the fit before the first step."""

    def begin(worlds: Worlds) -> Controller:
        check_fit(policy, worlds.world)
        pilot = policy.pilot(worlds.n)
        pilot.begin(worlds.observation, worlds.hold)
        return lambda k, observation: pilot(observation)

    return begin
