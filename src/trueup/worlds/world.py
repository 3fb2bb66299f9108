"""A world: robot, scene and task, before a point of its space is chosen."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import Array, Effect
from trueup.errors import TrueupError
from trueup.space import Space
from trueup.worlds.answers import BrokenModel, effects_of, spec_of
from trueup.worlds.scene import Readings, Scene, sensor_slots


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A named part of an observation: readings side by side, all of one unit.

    Attributes:
        name: What a policy's contract calls it, e.g. `joint_position`.
        unit: SI unit.
        sensors: MJCF sensors, in order.
        function: What a robot computes from these readings (n, k) with its own idea of itself,
            and from the signals before this one, e.g. where its hand is. None for the readings as
            they are.
    """

    name: str
    unit: str
    sensors: tuple[str, ...]
    function: Callable[[World, Array, Mapping[str, Array]], Array] | None = field(
        default=None, repr=False
    )


class World(ABC):
    """What a user writes to bring a robot and a task: a spec, effects, and a few pure functions.

    `reward`, `success` and `failure` are functions of named sensor readings with a leading world
    axis, written against the array API, so the same task runs on numpy and on torch. They read
    sensors named `truth/...`, which no effect touches; observations read the others.

    Attributes:
        name: `robot/task`.
        summary: One line for lists.
        observations: What the robot can know.
        privileged: What only the simulator knows, for critics.
        control_period_s: Time between commands; a whole number of physics steps.
        episode_s: An episode ends after this long, counted in control periods.
        hold_s: Success must last this long to count.
        scripted: Whether the scripted grasp of `worlds.scripted` solves it.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    observations: ClassVar[tuple[Signal, ...]] = ()
    privileged: ClassVar[tuple[Signal, ...]] = ()
    control_period_s: ClassVar[float] = 0.04
    episode_s: ClassVar[float] = 4.0
    hold_s: ClassVar[float] = 0.0
    scripted: ClassVar[bool] = False

    @abstractmethod
    def spec(self) -> mujoco.MjSpec:
        """The nominal world: robot, scene and sensors. Called once per compilation."""

    @abstractmethod
    def effects(self) -> tuple[Effect, ...]:
        """Every way this world may differ from ours, in the order commands pass through them."""

    @abstractmethod
    def start(self, scene: Scene) -> Mapping[str, np.ndarray]:
        """Where an episode begins, for the `scene.n` worlds that start now.

        Returns joint positions (n, k) by joint name and places (n, 3) by mocap body name. What is
        not named starts at the model's defaults; servos start by holding their joints.
        """

    @abstractmethod
    def reward(self, s: Readings, action: Array) -> Array:
        """(n,) reward of the step that led to these readings."""

    @abstractmethod
    def success(self, s: Readings) -> Array:
        """(n,) whether the task is done at this moment."""

    def failure(self, s: Readings) -> Array:
        """(n,) whether the episode is lost beyond recovery and should end."""
        return s.time != s.time

    # --------------------------------------------------------------------------------------------

    @cached_property
    def model(self) -> mujoco.MjModel:
        """The nominal world, compiled. Shared: read it, do not write it."""
        return compiled_spec(spec_of(self), self.name)

    @cached_property
    def catalogue(self) -> Space:
        """Everything that can differ, optional effects included."""
        return _gathered(self.model, effects_of(self))

    @cached_property
    def space(self) -> Space:
        """What differs by default: the catalogue without optional effects."""
        return _gathered(self.model, [e for e in effects_of(self) if not e.optional])

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands, in order: one position target per servo."""
        return tuple(self.model.actuator(i).name for i in range(self.model.nu))

    @property
    def steps(self) -> int:
        """Control steps of an episode; the same for a world whose loop runs slow or fast."""
        self._check_times()
        return max(1, round(self.episode_s / self.control_period_s))

    def sizes(self, signals: Iterable[Signal]) -> dict[str, int]:
        """How many numbers each signal has, by name."""
        widths = {n: part.stop - part.start for n, part in sensor_slots(self.model).items()}
        known: dict[str, Array] = {}
        for signal in signals:
            known[signal.name] = np.zeros((1, sum(widths[name] for name in signal.sensors)))
            if signal.function is not None:
                known[signal.name] = signal.function(self, known[signal.name], known)
        return {name: values.shape[1] for name, values in known.items()}

    @property
    def substeps(self) -> int:
        """Physics steps per control step."""
        self._check_times()
        steps = self.control_period_s / self.model.opt.timestep
        if abs(steps - round(steps)) > 1e-6 or round(steps) < 1:
            raise TrueupError(
                f"World {self.name!r} has a control period of {self.control_period_s} s, which is "
                f"not a whole number of its physics steps of {self.model.opt.timestep} s.",
                fix="Change control_period_s, or the timestep in the model's <option>.",
            )
        return round(steps)

    def _check_times(self) -> None:
        for name in ("control_period_s", "episode_s", "hold_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and (value > 0 or (name == "hold_s" and value == 0))):
                raise TrueupError(
                    f"World {self.name!r} has {name} = {value}.", fix="Give seconds above 0."
                )


def compiled_spec(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """The compiled model, or MuJoCo's reason why not, as a sentence."""
    for body in spec.bodies:
        body.simple = 0  # or its centre of mass could not differ between worlds
    try:
        return spec.compile()
    except ValueError as error:
        raise BrokenModel(name, error) from error


def _gathered(model: mujoco.MjModel, effects: Iterable[Effect]) -> Space:
    """The parameters of some effects as one space; no two may declare the same."""
    owner: dict[str, Effect] = {}
    parameters = []
    for effect in effects:
        for parameter in effect.parameters(model):
            if parameter.name in owner:
                raise TrueupError(
                    f"{owner[parameter.name]} and {effect} both declare {parameter.name!r}.",
                    fix="List only one of them in the world's effects().",
                )
            owner[parameter.name] = effect
            parameters.append(parameter)
    return Space(tuple(parameters))
