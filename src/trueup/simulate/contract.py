"""The batch contract: many copies of one world, each at its own point, stepped together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trueup.effects import Array
from trueup.errors import TrueupError
from trueup.space import Point, Points, Space
from trueup.streams import seeds_from
from trueup.worlds import Compiled, World


@dataclass(frozen=True, kw_only=True)
class Step:
    """What n worlds answer to one command.

    Attributes:
        observation: What the robot knows, (n, dim) by signal name.
        privileged: What only the simulator knows, (n, dim) by signal name.
        reward: (n,)
        success: (n,) the task is done and stayed done for the world's `hold_s`.
        failure: (n,) the episode is lost.
        timeout: (n,) the episode's control steps are used up.
        diverged: (n,) the physics broke down; the world stands still until it is reset.
    """

    observation: dict[str, Array]
    privileged: dict[str, Array]
    reward: Array
    success: Array
    failure: Array
    timeout: Array
    diverged: Array

    @property
    def done(self) -> Array:
        """(n,) worlds to reset next."""
        return self.success | self.failure | self.timeout | self.diverged


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """A world whose physics broke down, with all that is needed to see it happen again.

    Attributes:
        world: Its row in the batch.
        seed: The seed of its episode.
        point: The world it was.
        time_s: When.
        reason: MuJoCo's word for it.
    """

    world: int
    seed: int
    point: Point
    time_s: float
    reason: str

    def __str__(self) -> str:
        return f"world {self.world} (seed {self.seed}) at {self.time_s:.2f} s: {self.reason}"


class Worlds(ABC):
    """n copies of one compiled world.

    Nothing is reset behind the caller's back: read `Step.done`, then call `reset` or `resample`
    for those rows. An ended world that is stepped on simply goes on; where nobody looks at it any
    more, `rest` spares its physics.

    Attributes:
        compiled: The world, its space and its model.
        n: How many copies.
        points: The point of each copy, (n, len(space)).
        seeds: The seed of each copy's episode, (n,) uint64.
        ease: How much nearer to its goal each copy's next episode begins, (n,) from 0, as the task
            wants it, to 1. Training sets it for some episodes; see `Scene.ease`.
        divergences: Worlds that broke down so far.
    """

    compiled: Compiled
    n: int
    points: np.ndarray
    seeds: np.ndarray
    ease: np.ndarray
    divergences: list[Divergence]

    @property
    def world(self) -> World:
        """The world all copies are of."""
        return self.compiled.world

    @property
    def space(self) -> Space:
        """What differs between the copies."""
        return self.compiled.space

    @abstractmethod
    def reset(
        self, points: Points | Point, seeds: ArrayLike, ids: ArrayLike | None = None
    ) -> dict[str, Array]:
        """Begin new episodes in some worlds, in place; the others do not notice.

        Args:
            points: One point for each of them, or one for all.
            seeds: One seed for each: start pose and every later draw follow from it.
            ids: Sorted rows to reset; all by default.

        Returns:
            The observation of all n worlds.
        """

    @abstractmethod
    def step(self, action: ArrayLike) -> Step:
        """One control step.

        Args:
            action: (n, nu) position targets, rad, in the order of `world.commands`.
        """

    @abstractmethod
    def rest(self, ids: ArrayLike) -> None:
        """Leave worlds as they are, whatever is commanded, until they are reset.

        The others do not notice. What is read of resting worlds is as old as they are.
        """

    @abstractmethod
    def snapshot(
        self, i: int, model: mujoco.MjModel | None = None
    ) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """World i as MuJoCo's own model and data, to render or to examine.

        Args:
            i: The row.
            model: A copy of `compiled.model` to write into, instead of a new one.
        """

    def resample(
        self, generator: np.random.Generator, ids: ArrayLike | None = None
    ) -> dict[str, Array]:
        """Begin new episodes at fresh points of the space, in all worlds or some."""
        rows = self._rows(ids)
        n = len(rows)
        return self.reset(self.space.sample(generator, n), seeds_from(generator, n), rows)

    def _rows(self, ids: ArrayLike | None) -> np.ndarray:
        """Rows by number from rows by number, by mask, or none for all."""
        if ids is None:
            return np.arange(self.n)
        rows = np.atleast_1d(np.asarray(ids))
        if rows.dtype == bool and rows.shape == (self.n,):
            return np.flatnonzero(rows)
        inside = np.issubdtype(rows.dtype, np.integer) and rows.ndim == 1
        if rows.size == 0:
            return np.zeros(0, int)
        if not (inside and rows.min() >= 0 and rows.max() < self.n and (np.diff(rows) > 0).all()):
            raise TrueupError(
                f"There are no such worlds in a batch of {self.n}: {_shown(rows)}.",
                fix=f"Give whole numbers from 0 to {self.n - 1}, ascending and each once, or a "
                f"mask of {self.n} booleans.",
            )
        return rows

    @property
    @abstractmethod
    def observation(self) -> dict[str, Array]:
        """What the robot knows now, (n, dim) by signal name."""

    @property
    @abstractmethod
    def time_s(self) -> Array:
        """(n,) seconds since each episode began."""

    @property
    @abstractmethod
    def hold(self) -> Array:
        """(n, nu) the commands that keep every servo where its episode began."""

    def point(self, i: int) -> Point:
        """The point world i runs at."""
        return Points(self.space.names, self.points)[i]


def _shown(rows: np.ndarray) -> str:
    text = np.array2string(rows, threshold=8, edgeitems=3)
    return f"{text} ({rows.dtype}, shape {rows.shape})"
