"""The bodies of a rehearsal robot, and what moves them: inside its own process, and only there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from trueup.effects import CommandNoise, Effect, LostCommands
from trueup.errors import TrueupError
from trueup.hardware.hidden import Hidden, Torque, rehearsed, varied
from trueup.hardware.hidden_signals import PerCommand
from trueup.hardware.reality import Reality
from trueup.policies import Interface
from trueup.simulate import CpuWorlds
from trueup.space import Points, Space
from trueup.worlds import Compiled, World, columns_of, interface_of


class Cells(ABC):
    """n bodies at one reality, each with its own piece of work.

    What becomes of a body depends on its own seeds, commands and past alone, however many others
    stand beside it.

    Attributes:
        n: How many.
        tick_s: The time that one step takes.
        interface: What they observe and take.
        columns: The name of each number of each observation.
        world: The world they are of, as everybody knows it.
    """

    n: int
    tick_s: float
    interface: Interface
    columns: Mapping[str, tuple[str, ...]]
    world: World

    @abstractmethod
    def reset(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Begin an episode in some bodies (k,), with a seed (k,) for each."""

    @abstractmethod
    def power(self, on: bool) -> None:
        """Torque on, every servo holding where it is; or off."""

    @abstractmethod
    def command(self, commands: np.ndarray) -> None:
        """The targets (n, nu) from now on."""

    @abstractmethod
    def step(self) -> None:
        """Let one tick pass."""

    @property
    @abstractmethod
    def observation(self) -> dict[str, np.ndarray]:
        """What is sensed now, (n, size) by name."""

    @property
    @abstractmethod
    def hold(self) -> np.ndarray:
        """(n, nu) the targets now."""

    @property
    @abstractmethod
    def success(self) -> np.ndarray:
        """(n,) whether the episode ended well."""

    @property
    @abstractmethod
    def over(self) -> np.ndarray:
        """(n,) whether the episode has ended; the first end counts."""


class MujocoCells(Cells):
    """Bodies in our own engine.

    Args:
        reality: What they really are.
        world: The world as everybody knows it.
        n: How many.
        period_s: Time between commands; the world's own by default.
        tick_s: Time that one step takes; the period by default, less for a clock of the wall.
        threads: CPU threads; 0 takes all.

    Attributes:
        engine: What steps them.
    """

    engine: ClassVar[type[CpuWorlds]] = CpuWorlds

    def __init__(
        self,
        reality: Reality,
        world: World,
        n: int,
        *,
        period_s: float | None = None,
        tick_s: float | None = None,
        threads: int = 0,
    ) -> None:
        self.n, self.world = n, at_rate(world, period_s)
        self.interface, self.columns = interface_of(self.world), columns_of(self.world)
        self.tick_s = tick_s or self.interface.period_s
        real = rehearsed(world, (*reality.beyond, Torque()), self.tick_s)
        if tick_s is not None:
            real = varied(real, [_per_command(e) for e in real.effects()], tick_s)
        self._hidden = [e for e in real.effects() if isinstance(e, Hidden)]
        fixed = reality.point(world)
        space = Space(tuple(real.catalogue[name] for name in (*fixed, *self._own(real))))
        self._worlds = self.engine(Compiled(real, space), n, threads=threads)
        self._point = np.array([fixed.get(name, space[name].nominal) for name in space.names])
        self._torque = space.index(Torque.name)
        model = self._worlds.compiled.model
        joints = model.actuator_trnid[np.flatnonzero(model.actuator_ctrlnum), 0]
        self._servos = model.jnt_qposadr[joints]
        self._age_s, self._on = np.zeros(n), False
        self._success, self._over = np.zeros(n, bool), np.zeros(n, bool)
        self._targets = np.zeros((n, len(self.interface.commands)))
        self._seen: dict[str, np.ndarray] = {}

    def reset(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        values = np.tile(self._point, (len(rows), 1))
        values[:, self._torque] = self._on
        names = self._worlds.space.names
        for effect in self._hidden:
            for name, column in effect.episode(self._age_s[rows], seeds).items():
                values[:, names.index(name)] = column
        self._worlds.reset(Points(names, values), seeds, rows)
        self._success[rows] = self._over[rows] = False
        self._targets[rows] = self._worlds.hold[rows]
        self._see()

    def power(self, on: bool) -> None:
        if on and not self._on:
            self._targets = np.clip(self._joints, self.interface.low, self.interface.high)
        self._on = on
        self._worlds.points[:, self._torque] = on

    def command(self, commands: np.ndarray) -> None:
        self._targets = commands

    def step(self) -> None:
        step = self._worlds.step(self._targets)
        self._age_s += self.tick_s * self._on
        self._success |= step.success & ~self._over
        self._over |= step.done
        self._see()

    @property
    def observation(self) -> dict[str, np.ndarray]:
        return self._seen

    @property
    def hold(self) -> np.ndarray:
        return self._targets

    @property
    def success(self) -> np.ndarray:
        return self._success

    @property
    def over(self) -> np.ndarray:
        return self._over

    @property
    def _joints(self) -> np.ndarray:
        """(n, nu) where the servos really are, by their own count."""
        return self._worlds.batch.bind("qpos")[:, self._servos].copy()

    def _see(self) -> None:
        """Take in what is sensed; a body whose physics broke down shows what it showed last."""
        now = self._worlds.observation
        broken = ~np.all([np.isfinite(v).all(axis=1) for v in now.values()], axis=0)
        if broken.any():
            rows = broken[:, None]
            now = {k: np.where(rows, self._seen.get(k, 0.0 * rows), v) for k, v in now.items()}
        self._seen = now

    def _own(self, real: World) -> list[str]:
        return [p.name for effect in self._hidden for p in effect.parameters(real.model)]


def at_rate(world: World, period_s: float | None) -> World:
    """The world with another time between commands, which must be a whole number of its steps."""
    if period_s is None:
        return world
    steps = period_s / world.model.opt.timestep
    if not (steps > 0.5 and abs(steps - round(steps)) < 1e-6):
        raise TrueupError(
            f"A period of {period_s} s is not a whole number of physics steps of "
            f"{world.model.opt.timestep:g} s in the world {world.name!r}.",
            fix=f"Give a multiple of {world.model.opt.timestep:g}, such as "
            f"{max(1, round(steps)) * world.model.opt.timestep:g}.",
        )
    return rehearsed(world, (), period_s)


def _per_command(effect: Effect) -> Effect:
    """The effect, counting commands where it counts commands, not physics steps."""
    return PerCommand(effect) if isinstance(effect, (CommandNoise, LostCommands)) else effect
