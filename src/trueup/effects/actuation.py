"""Actuation: do the joints move as commanded? Servos here, what hangs on them in `linkage`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Draws, Effect, Filter, Values, Write
from trueup.effects.field_effect import FieldEffect, Target
from trueup.effects.friction import LoadFriction, RestFriction
from trueup.effects.linkage import Backlash, LinkInertia, Stribeck, ZeroOffset
from trueup.effects.plausible import Between, Factor, UpTo
from trueup.space import Parameter


def actuation(*, joints: str = "*") -> tuple[Effect, ...]:
    """All actuation effects of the matching actuated joints."""
    return (
        *servo(joints=joints),
        *joint_friction(joints=joints),
        SupplyVoltage(joints=joints),
        Fade(joints=joints),
        Stribeck(joints=joints),
        LoadFriction(joints=joints),
        RestFriction(joints=joints),
        Backlash(joints=joints),
        ZeroOffset(joints=joints),
        LinkInertia(joints=joints),
        CommandNoise(),
    )


def servo(*, joints: str = "*") -> tuple[Effect, ...]:
    """Position gain, damping and torque limit of each servo."""
    return (
        FieldEffect(
            parameter="actuation/{name}/kp",
            of="drive",
            match=joints,
            needs=_is_position_servo,
            targets=(Target("actuator_gainprm", 0), Target("actuator_biasprm", 1, times=-1.0)),
            unit="N·m/rad",
            plausible=Factor(limit=4.0, usual=1.25),
            source="published fits of the STS3215 at P=16 run from 13 to 18 N·m/rad; P is settable",
        ),
        FieldEffect(
            parameter="actuation/{name}/kv",
            of="drive",
            match=joints,
            needs=_is_position_servo,
            targets=(Target("actuator_biasprm", 2, times=-1.0),),
            unit="N·m·s/rad",
            plausible=UpTo(limit=3.0, usual=0.2),
            source="D=32 in the servo's own units is not calibrated; bench fits stay below 3",
        ),
        FieldEffect(
            parameter="actuation/{name}/force_limit",
            of="drive",
            match=joints,
            needs=_is_limited,
            targets=(
                Target("actuator_forcerange", 1),
                Target("actuator_forcerange", 0, times=-1.0),
            ),
            unit="N·m",
            plausible=Factor(limit=3.0, usual=1.15),
            source="STS3215 stall torque at 12 V: 2.9 (datasheet); fits by others use 3.35 and 5.5",
        ),
    )


def joint_friction(*, joints: str = "*") -> tuple[Effect, ...]:
    """Viscous and Coulomb friction, and the inertia the gearbox reflects."""
    return (
        FieldEffect(
            parameter="actuation/{name}/damping",
            of="joint",
            match=joints,
            targets=(Target("dof_damping"),),
            unit="N·m·s/rad",
            plausible=Factor(limit=5.0, usual=1.3, zero=UpTo(limit=3.0, usual=0.1)),
            source="bench fits of the same servo by others differ by 2 (0.60 and 1.18)",
        ),
        FieldEffect(
            parameter="actuation/{name}/frictionloss",
            of="joint",
            match=joints,
            targets=(Target("dof_frictionloss"),),
            unit="N·m",
            plausible=Factor(limit=5.0, usual=1.5, zero=UpTo(limit=0.5, usual=0.02)),
            source="bench fits of the same servo by others differ by 2 (0.052 and 0.114)",
        ),
        FieldEffect(
            parameter="actuation/{name}/armature",
            of="joint",
            match=joints,
            targets=(Target("dof_armature"),),
            unit="kg·m²",
            plausible=Factor(limit=20.0, usual=1.2, zero=UpTo(limit=0.05, usual=0.002)),
            source="rotor inertia times 345² (gear ratio of the STS3215); fits give 0.026 to 0.028",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class SupplyVoltage(Effect):
    """A supply above or below its rating: gain, damping and torque limit follow it together."""

    joints: str = "*"
    name: ClassVar[str] = "actuation/supply_voltage"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            Between(low=0.6, high=1.15, usual=(0.92, 1.05)).parameter(
                name=self.name,
                unit="1",
                nominal=1.0,
                source="ratio to rated; 12 V servos run from 7.4 V packs up to 12.6 V supplies",
            ),
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return tuple(
            Write(
                field=field,
                elements=elements,
                op="scale",
                values=partial(Values.repeat, name=self.name, k=len(elements)),
            )
            for field, elements in _drive_elements(model, self.joints).items()
        )


@dataclass(frozen=True, kw_only=True)
class Fade(Effect):
    """Motors that lose torque while they warm up: gain and limit fall with time, down to 30 %."""

    optional: ClassVar[bool] = True
    joints: str = "*"
    name: ClassVar[str] = "actuation/fade_rate"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            UpTo(limit=0.02, usual=0.002).parameter(
                name=self.name,
                unit="1/s",
                nominal=0.0,
                source="copper gains 0.4 % resistance per K; small servos warm by 40 K in minutes",
            ),
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        def left(p: Values, draws: Draws, time_s: np.ndarray, *, k: int) -> np.ndarray:
            share = np.maximum(1.0 - p[self.name] * time_s, 0.3)
            return np.repeat(share[:, None], k, axis=1)

        return tuple(
            Write(
                field=field,
                elements=elements,
                op="scale",
                each_step=True,
                values=partial(left, k=len(elements)),
            )
            for field, elements in _drive_elements(model, self.joints).items()
        )


@dataclass(frozen=True, kw_only=True)
class CommandNoise(Effect):
    """White noise on every command, as from a coarse or noisy set-point."""

    name: ClassVar[str] = "actuation/command_noise"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (
            UpTo(limit=0.05, usual=0.005).parameter(
                name=self.name,
                unit="rad",
                nominal=0.0,
                source="standard deviation; one tick of the STS3215 is 0.0015 rad",
            ),
        )

    def action(self, model: mujoco.MjModel, period_s: float) -> Filter:
        return _WhiteNoise(self.name, model.nu)


class _WhiteNoise(Filter):
    def __init__(self, name: str, width: int) -> None:
        self.name, self.normals = name, width

    def apply(self, x, p, memory, draws):
        return x + p[self.name][:, None] * draws.normal, memory


def _is_position_servo(model: mujoco.MjModel, joint: str) -> bool:
    i = anatomy.identity(model, "actuator", anatomy.driven_joints(model)[joint])
    gain, bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
    return bool(gain[0] > 0 and bias[1] == -gain[0])


def _is_limited(model: mujoco.MjModel, joint: str) -> bool:
    i = anatomy.identity(model, "actuator", anatomy.driven_joints(model)[joint])
    low, high = model.actuator_forcerange[i]
    return bool(model.actuator_forcelimited[i] and high > 0 and low == -high)


def _drive_elements(model: mujoco.MjModel, pattern: str) -> dict[str, tuple[int, ...]]:
    """Where the numbers stand that scale with the torque a motor can make."""
    servos = list(anatomy.driven_joints(model, pattern).values())
    columns = {
        "actuator_gainprm": (0,),
        "actuator_biasprm": (1, 2),
        "actuator_forcerange": (0, 1),
    }
    return {
        field: tuple(
            anatomy.element(model, "actuator", name, field, column)
            for name in servos
            for column in wanted
        )
        for field, wanted in columns.items()
    }
