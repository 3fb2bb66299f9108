"""Hidden effects on how joints move: friction of another law, cables, warmth, gears."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import degrees
from typing import Annotated, ClassVar

import mujoco
import numpy as np
from pydantic import Field

from trueup.effects import Draws, Values, Write, anatomy
from trueup.errors import UnknownName
from trueup.hardware.hidden import Hidden, scaled_drive
from trueup.space import Gap, Parameter, Space

_NotNegative = Annotated[float, Field(ge=0)]
_Positive = Annotated[float, Field(gt=0)]


@dataclass(frozen=True, kw_only=True)
class _OnJoints(Hidden):
    """An effect on the driven joints that match a pattern."""

    gap = Gap.ACTUATION
    joints: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        if not anatomy.driven_joints(model, self.joints):
            raise UnknownName("driven joint", self.joints, anatomy.driven_joints(model))
        return super().parameters(model)

    def _joints(self, spec: mujoco.MjSpec) -> list[mujoco.MjsJoint]:
        servos = [a for a in spec.actuators if a.trntype == mujoco.mjtTrn.mjTRN_JOINT]
        driven = {a.target for a in servos if not a.name.startswith("_")}
        return [j for j in spec.joints if j.name in driven and fnmatchcase(j.name, self.joints)]

    def _device(self, spec: mujoco.MjSpec, joint: str, **numbers: list[float]) -> None:
        """A passive motor of MuJoCo's on a joint, which takes no command."""
        device = spec.add_actuator(name=f"_beyond_{self.number}_{joint}", target=joint)
        device.trntype = mujoco.mjtTrn.mjTRN_JOINT
        device.set_to_dcmotor(
            motorconst=[0.0, 0.0],
            resistance=1.0,
            ctrlspec=mujoco.mjtCtrlInput.mjINPUT_NONE.value,
            **numbers,
        )


@dataclass(frozen=True, kw_only=True)
class FrictionLaw(_OnJoints):
    """Friction as no Coulomb law has it: drag by the square of the speed, and creep before sliding.

    Attributes:
        square: N·m·s²/rad², drag by the square of the speed.
        creep_torque: N·m at which the joint slides; below it bends like a spring that forgets.
        creep_rad: How far it bends before it slides.
    """

    square: _NotNegative = 0.0
    creep_torque: _NotNegative = 0.0
    creep_rad: _Positive = 0.03

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        for joint in self._joints(spec):
            viscous, _, cubic = joint.damping
            joint.damping = [viscous, self.square, cubic]
            if self.creep_torque:
                # Dahl's law: LuGre with one friction for sticking and sliding
                stiffness = self.creep_torque / self.creep_rad
                lugre = [stiffness, 0.0, self.creep_torque, self.creep_torque, 0.1]
                self._device(spec, joint.name, lugre=lugre)


@dataclass(frozen=True, kw_only=True)
class CableDrag(_OnJoints):
    """A cable that is slack where it was tied and pulls back the further the joint turns away.

    Attributes:
        tied_rad: Where it is slack.
        pull: N·m at 1 rad from there; it grows by the cube of the angle.
    """

    tied_rad: float = 0.0
    pull: _Positive

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        for joint in self._joints(spec):
            joint.stiffness = [0.0, 0.0, self.pull]
            joint.springref = degrees(self.tied_rad) if spec.compiler.degree else self.tied_rad


@dataclass(frozen=True, kw_only=True)
class GearRipple(_OnJoints):
    """Torque that comes and goes with every tooth.

    Attributes:
        torque: N·m, amplitude.
        teeth: Waves in one turn of the joint.
    """

    torque: _Positive
    teeth: Annotated[int, Field(ge=1, le=500)]

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        for k, joint in enumerate(self._joints(spec)):
            self._device(spec, joint.name, cogging=[self.torque, float(self.teeth), 0.7 * k])


@dataclass(frozen=True, kw_only=True)
class ThermalFade(_OnJoints):
    """Servos that pull less as they warm up, over minutes, and stay warm from trial to trial.

    Attributes:
        loss: Share of the torque that is lost when all is warm.
        minutes: Until 63 % of that is lost.
        already_minutes: For how long the arm was at work before anybody connected.
    """

    loss: Annotated[float, Field(gt=0, lt=1)]
    minutes: _Positive
    already_minutes: _NotNegative = 0.0
    longest_s: ClassVar[float] = 1e9

    @property
    def _age(self) -> str:
        return f"{self.gap}/beyond_{self.number}/age"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        age = Parameter(name=self._age, unit="s", nominal=0.0, low=0.0, high=self.longest_s)
        return (*super().parameters(model), age)

    def episode(self, age_s: np.ndarray, seeds: np.ndarray) -> dict[str, np.ndarray]:
        return {**super().episode(age_s, seeds), self._age: age_s + 60.0 * self.already_minutes}

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        def left(p: Values, draws: Draws, time_s: np.ndarray) -> np.ndarray:
            warm = 1.0 - np.exp(-(p[self._age] + time_s) / (60.0 * self.minutes))
            return (1.0 - p[self.present] * self.loss * warm)[:, None]

        return scaled_drive(model, self.joints, left)
