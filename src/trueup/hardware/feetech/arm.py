"""The body behind an emulated bus: an SO-101 in a world, moved on only as far as it is asked about.

A bus must answer within a millisecond, so this steps one MuJoCo model in steps of 1 ms (10 µs of
work each) instead of a batch. Its point is written by the same effects that the batch uses; those
that act on commands act on each command that arrives, those that act on readings on each reading.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path

import mujoco
import numpy as np

from trueup.effects import Values
from trueup.errors import TrueupError
from trueup.hardware.hidden import Hidden, rehearsed
from trueup.hardware.reality import Reality, read_reality
from trueup.simulate import CpuWorlds
from trueup.simulate.chain import Chain
from trueup.space import Point, Space
from trueup.streams import Streams
from trueup.worlds import Compiled, World, get, sensor_slots
from trueup.worlds.so101 import JOINTS

STEP_S = 0.001
_PERIOD_S = 0.02  # how often what changes during an episode is written
_REFRESH = round(_PERIOD_S / STEP_S)
_DRIVEN = ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange")
_COMMANDS, _READINGS, _FIELDS = 17, 18, 19  # salts of the random streams


class Arm:
    """One SO-101 at one point of a world, with servos that can be let go one by one.

    Args:
        world: Robot, scene and task.
        space: The parameters that the point gives values for.
        point: The truth.
        seed: Of the start pose and of every draw.
    """

    def __init__(self, world: World, space: Space, point: Point, *, seed: int = 0) -> None:
        _check(world)
        compiled = Compiled(_fine(world), space)
        worlds = CpuWorlds(compiled, 1, threads=1)
        worlds.reset(point, seed)
        self._compiled = compiled
        self._model, self._data = worlds.snapshot(0)
        self._model.opt.timestep = STEP_S  # an effect that stretches time has no place at a bus
        self._values = _values(compiled, point)
        self._base = {
            name: np.array(getattr(self._model, name)).reshape(-1) for name in _fields(compiled)
        }
        self._draws = Streams([seed], salt=_FIELDS)
        self._targets = worlds.hold[:1]
        self._actions = Chain(compiled.action_filters, n=1, salt=_COMMANDS)
        self._actions.start(np.arange(1), [seed], self._targets, self._values)
        self._sensors = Chain(compiled.observation_filters, n=1, salt=_READINGS)
        self._sensors.start(np.arange(1), [seed], self._data.sensordata[None], self._values)
        self._slots = sensor_slots(self._model)
        self._servos = [self._model.actuator(name).id for name in JOINTS]
        self._strength = np.ones(len(JOINTS))
        self._limit = np.ones(len(JOINTS))
        self._steps = 0

    @classmethod
    def rehearsed(
        cls, reality: Reality | Path | str | None = None, world: str | None = None, *, seed: int = 0
    ) -> Arm:
        """An arm with the hidden truth of a reality, in the world it names or in another.

        Without a reality it is as the nominal world has it.
        """
        if reality is None:
            reality = Reality(story="as the model has it")
        truth = reality if isinstance(reality, Reality) else read_reality(reality)
        if truth.engine != "mujoco":
            raise TrueupError(
                f"The reality asks for the physics of {truth.engine!r}, which has no servo bus.",
                fix="Choose a reality of the engine 'mujoco', or rehearse without the bus.",
            )
        body = get(world or truth.world)
        _check(body)
        numbers = dict(truth.point(body))
        body = rehearsed(body, truth.beyond, _PERIOD_S)
        for effect in body.effects():
            if isinstance(effect, Hidden):
                start = effect.episode(np.zeros(1), np.array([seed], np.uint64))
                numbers |= {name: float(value[0]) for name, value in start.items()}
        space = Space(tuple(body.catalogue[name] for name in numbers))
        return cls(body, space, Point(numbers), seed=seed)

    @property
    def time_s(self) -> float:
        """How far it has been moved on."""
        return self._steps * STEP_S

    @property
    def truth(self) -> np.ndarray:
        """(6,) where the joints really are, rad."""
        return np.array([self._data.joint(name).qpos[0] for name in JOINTS])

    def command(self, targets: np.ndarray) -> None:
        """Tell all servos (6,) where to go, rad; it takes effect now."""
        self._targets = self._actions.apply(np.array(targets, float)[None], self._values)

    def drive(self, strength: np.ndarray, limit: np.ndarray) -> None:
        """Set how hard the servos pull.

        Args:
            strength: (6,) share of their usual stiffness; 0 lets go.
            limit: (6,) share of their usual greatest torque.
        """
        same = np.array_equal(strength, self._strength) and np.array_equal(limit, self._limit)
        if not same:
            self._strength, self._limit = np.array(strength), np.array(limit)
            self._pull()

    def advance(self, until_s: float) -> None:
        """Move on to a time, in whole steps; never back."""
        last = math.floor(until_s / STEP_S + 1e-6)
        while self._steps < last:
            if self._steps % _REFRESH == 0:
                self._refresh()
            steps = min(last - self._steps, _REFRESH - self._steps % _REFRESH)
            self._data.ctrl[self._servos] = self._targets[0]
            mujoco.mj_step(self._model, self._data, steps)
            self._steps += steps

    def sensed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, rad, velocities, rad/s, and forces, N·m, as sensors have them: (6,) each."""
        readings = self._sensors.apply(self._data.sensordata[None].copy(), self._values)[0]
        position, velocity, force = (
            np.array([readings[self._slots[f"{joint}_{what}"]][0] for joint in JOINTS])
            for what in ("position", "velocity", "force")
        )
        return position, velocity, force

    def _refresh(self) -> None:
        """Write what changes while time passes, such as a delay that jitters."""
        elements = self._compiled.step_elements
        if elements:
            base = {name: self._base[name][None, at] for name, at in elements.items()}
            normals = self._draws.normal(self._compiled.step_normals)
            now = np.array([self.time_s])
            numbers = self._compiled.step_numbers(base, self._values, normals, now)
            for name, number in numbers.items():
                values = self._base[name].copy()
                values[number.elements] = number.values[0]
                self._write(name, values)
        self._pull(fresh=frozenset(elements))

    def _pull(self, fresh: frozenset[str] = frozenset()) -> None:
        for name, share in zip(_DRIVEN, (self._strength, self._strength, self._limit), strict=True):
            field = getattr(self._model, name)
            whole = field if name in fresh else self._base[name].reshape(field.shape)
            field[self._servos] = whole[self._servos] * share[:, None]

    def _write(self, name: str, values: np.ndarray) -> None:
        field = getattr(self._model, name)
        field[...] = values.reshape(field.shape)


def _fields(compiled: Compiled) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_DRIVEN, *compiled.step_elements)))


def _values(compiled: Compiled, point: Point) -> Values:
    numbers = {**compiled.nominal, **dict(point)}
    return Values({name: np.array([value]) for name, value in numbers.items()}, 1)


def _check(world: World) -> None:
    if world.commands != JOINTS:
        raise TrueupError(
            f"World {world.name!r} has the servos {', '.join(world.commands)}, which are not those "
            "of an SO-101.",
            fix="Choose a world whose robot is one; `trueup worlds` lists them.",
        )


def _fine(world: World) -> World:
    """The same world in finer steps."""
    kind = type(world)

    class Fine(kind):
        control_period_s = _PERIOD_S

        def spec(self) -> mujoco.MjSpec:
            spec = super().spec()
            spec.option.timestep = STEP_S
            return spec

    fine = copy.copy(world)
    for cached in ("model", "catalogue", "space"):
        vars(fine).pop(cached, None)
    fine.__class__ = Fine
    return fine
