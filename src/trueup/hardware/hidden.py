"""Effects that no space has: what a rehearsal robot is beyond all that a loop can believe of it.

Each is an effect like any other, with its numbers fixed by the reality file instead of declared as
parameters. They are known to the robot's own process alone.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import mujoco
import numpy as np
from pydantic import ConfigDict

from trueup.effects import Draws, Effect, Values, Write, anatomy
from trueup.space import Gap, Parameter
from trueup.worlds import World
from trueup.worlds.answers import effects_of


@dataclass(frozen=True, kw_only=True)
class Hidden(Effect, ABC):
    """An effect with fixed numbers, at work wherever it is listed.

    The machinery of effects asks for parameters, so it declares one that says it is there, and
    others for what it carries over from one episode to the next.

    Attributes:
        number: Which of the reality's effects it is; keeps two of one kind apart.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", allow_inf_nan=False, strict=True
    )
    gap: ClassVar[Gap]
    number: int = 0

    @property
    def present(self) -> str:
        """The parameter that says it is there."""
        return f"{self.gap}/beyond_{self.number}/present"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (Parameter(name=self.present, unit="1", nominal=0.0, low=0.0, high=1.0),)

    def episode(self, age_s: np.ndarray, seeds: np.ndarray) -> dict[str, np.ndarray]:
        """Values (k,) of its parameters for bodies that begin an episode.

        Args:
            age_s: (k,) for how long each body has been under torque so far.
            seeds: (k,) of the episodes.
        """
        return {self.present: np.ones(len(seeds))}


@dataclass(frozen=True, kw_only=True)
class Torque(Hidden):
    """The switch that every robot has: without torque its servos pull nowhere."""

    gap = Gap.ACTUATION
    name: ClassVar[str] = "actuation/torque/share"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return (Parameter(name=self.name, unit="1", nominal=1.0, low=0.0, high=1.0),)

    def episode(self, age_s: np.ndarray, seeds: np.ndarray) -> dict[str, np.ndarray]:
        return {}

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        def share(p: Values, draws: Draws, time_s: np.ndarray) -> np.ndarray:
            return p[self.name][:, None]

        return scaled_drive(model, "*", share)


def scaled_drive(model: mujoco.MjModel, joints: str, share: Any) -> tuple[Write, ...]:
    """Writes that scale what servos pull with, at each control step, by shares (n, 1)."""
    servos = anatomy.driven_joints(model, joints).values()
    columns = {"actuator_gainprm": (0,), "actuator_biasprm": (1, 2), "actuator_forcerange": (0, 1)}
    return tuple(
        Write(
            field=field,
            elements=tuple(
                anatomy.element(model, "actuator", servo, field, column)
                for servo in servos
                for column in wanted
            ),
            op="scale",
            each_step=True,
            values=share,
        )
        for field, wanted in columns.items()
    )


def rehearsed(world: World, hidden: Sequence[Hidden], period_s: float) -> World:
    """The same world with hidden effects after its own, commanded in other periods."""
    chosen = (*effects_of(world), *(replace(e, number=i) for i, e in enumerate(hidden)))
    return varied(world, chosen, period_s)


def varied(world: World, effects: Sequence[Effect], period_s: float) -> World:
    """The same world with other effects, commanded in other periods."""
    chosen = tuple(effects)
    members = {
        "effects": lambda self: chosen,
        "control_period_s": period_s,
        "__module__": __name__,
    }
    made = type(type(world).__name__, (type(world),), members)()
    made.model = world.model  # the nominal model is the same, and costs time to compile
    return made
