"""Friction that follows the motion: with the load a gear carries, with how long it has rested."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Effect, Law, Values
from trueup.effects.plausible import Factor, Plausible, UpTo
from trueup.space import Parameter

_RESTED_S = 100.0  # how long joints are taken to have rested before an episode begins


@dataclass(frozen=True, kw_only=True)
class _Added(Effect):
    """An effect that adds to the Coulomb friction of driven joints."""

    optional: ClassVar[bool] = True
    joints: str = "*"
    rows: ClassVar[tuple[tuple[str, str, float, Plausible, str], ...]]

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return tuple(
            rule.parameter(
                name=f"actuation/{joint}/{name}", unit=unit, nominal=nominal, source=source
            )
            for joint in anatomy.driven_joints(model, self.joints)
            for name, unit, nominal, rule, source in self.rows
        )

    def law(self, model: mujoco.MjModel) -> Law:
        return self._law(model, list(anatomy.driven_joints(model, self.joints)))

    @abstractmethod
    def _law(self, model: mujoco.MjModel, joints: list[str]) -> Law: ...


class LoadFriction(_Added):
    """Gears that rub harder the more torque they carry.

    A gear train with much of it drives its load with less torque than the motor makes, and holds a
    load that the motor alone would not: up and down differ.
    """

    rows = (
        (
            "load_friction",
            "1",
            0.0,
            UpTo(limit=0.9, usual=0.2),
            "share of the torque carried; 1:345 spur gears lose 20-60 %",
        ),
    )

    def _law(self, model: mujoco.MjModel, joints: list[str]) -> Law:
        return _Load(model, joints)


class RestFriction(_Added):
    """Friction that grows while a joint rests and is broken down as it slides.

    The law of rate and state (Dieterich): a contact of age `a` adds `rest_friction` times
    ln(1 + a / rest_time); its age grows with time and is lost over a slip of `rest_slip`. A joint
    that is driven slowly sticks and jumps, one that is driven fast does not.
    """

    rows = (
        (
            "rest_friction",
            "N·m",
            0.0,
            UpTo(limit=0.4, usual=0.02),
            "for each factor e of age; slow moves of an SO-101 jump by 0.01-0.02 rad",
        ),
        (
            "rest_time",
            "s",
            0.1,
            Factor(limit=200.0, usual=3.0),
            "how soon resting tells: milliseconds in oil, many seconds in grease",
        ),
        (
            "rest_slip",
            "rad",
            0.003,
            Factor(limit=10.0, usual=2.0),
            "the slip that renews a contact; 10-100 µm at a gear of some mm",
        ),
    )

    def _law(self, model: mujoco.MjModel, joints: list[str]) -> Law:
        return _Rest(model, joints)


class _JointLaw(Law):
    """A law on the friction of some joints."""

    field = "dof_frictionloss"

    def __init__(self, model: mujoco.MjModel, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self.elements = tuple(anatomy.element(model, "joint", j, self.field) for j in joints)
        self._columns = np.array(self.elements)

    def _each(self, p: Values, quantity: str) -> np.ndarray:
        return p.stack([f"actuation/{joint}/{quantity}" for joint in self.joints])


class _Load(_JointLaw):
    reads = ("qfrc_actuator",)

    def start(self, p: Values) -> dict[str, np.ndarray]:
        return {"share": self._each(p, "load_friction")}

    def apply(
        self,
        state: Mapping[str, np.ndarray],
        memory: dict[str, np.ndarray],
        step_s: np.ndarray,
    ) -> np.ndarray:
        return memory["share"] * np.abs(state["qfrc_actuator"][:, self._columns])


class _Rest(_JointLaw):
    reads = ("qvel",)

    def start(self, p: Values) -> dict[str, np.ndarray]:
        return {
            "growth": self._each(p, "rest_friction"),
            "time": self._each(p, "rest_time"),
            "slip": self._each(p, "rest_slip"),
            "age": np.full((p.n, len(self.joints)), _RESTED_S),
        }

    def apply(
        self,
        state: Mapping[str, np.ndarray],
        memory: dict[str, np.ndarray],
        step_s: np.ndarray,
    ) -> np.ndarray:
        slipped = np.abs(state["qvel"][:, self._columns]) * step_s
        memory["age"] = (memory["age"] + step_s) / (1.0 + slipped / memory["slip"])
        return memory["growth"] * np.log1p(memory["age"] / memory["time"])
