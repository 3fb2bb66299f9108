"""Plans that do not move: random, evenly spread, and on a grid.

Each plans uniform numbers and lets `Space.from_uniform` turn them into worlds, so priors and joint
beliefs hold whatever the plan.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from scipy.stats import qmc

from trueup.errors import TrueupError
from trueup.randomize.plan import Plan, checked_count
from trueup.randomize.ranges import central
from trueup.space import Parameter, Points, Samples, Space

_LARGEST_GRID = 1_000_000


class FromPrior(Plan):
    """Independent draws: what nothing else is known to be better than, and the default."""

    name = "prior"

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        return self.space.sample(generator, checked_count(n))


class _Sequence(Plan):
    """A fixed sequence of uniform rows, handed out in order.

    The first draw takes the seed of the sequence from its generator. After that the sequence goes
    on, however the episodes are grouped into draws. Only free parameters use up dimensions.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._columns = np.array([space.index(name) for name in space.free], int)
        self._seed: int | None = None
        self._taken = 0

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        n = checked_count(n)
        if self._seed is None and n:
            self._begin(generator, n)
        u = np.full((n, len(self.space)), 0.5)
        if n and len(self._columns):
            u[:, self._columns] = self._rows(self._taken, n)
        self._taken += n
        return self.space.from_uniform(u)

    def _begin(self, generator: np.random.Generator, n: int) -> None:
        self._seed = int(generator.integers(0, 2**63))

    @abstractmethod
    def _rows(self, first: int, n: int) -> np.ndarray:
        """Rows first … first + n of the sequence, (n, number of free parameters)."""

    def _kept(self) -> dict[str, Any]:
        return {"seed": self._seed, "taken": self._taken}

    def _resume(self, state: dict[str, Any]) -> None:
        self._seed, self._taken = state["seed"], int(state["taken"])


class Sobol(_Sequence):
    """A scrambled Sobol sequence: spreads over the space more evenly than chance.

    Averages over it converge faster than over random draws, best where n is a power of two and few
    parameters matter. Good for evaluation; for training, `FromPrior` serves as well.
    """

    name = "sobol"

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._engine: qmc.Sobol | None = None

    def _rows(self, first: int, n: int) -> np.ndarray:
        if self._engine is None:
            generator = np.random.default_rng(self._seed)
            self._engine = qmc.Sobol(len(self._columns), scramble=True, rng=generator)
            if first:
                self._engine.fast_forward(first)
        # one row alone first: scipy warns of a first block that is not a power of two
        rows = [self._engine.random(1), *([self._engine.random(n - 1)] if n > 1 else [])]
        return np.concatenate(rows)

    def _resume(self, state: dict[str, Any]) -> None:
        super()._resume(state)
        self._engine = None


class LatinHypercube(_Sequence):
    """Random draws that leave no gap in any single parameter.

    Each block of `size` episodes has one value in each of `size` equally likely slices of every
    parameter. Where the size is left out, the first draw sets it.

    Args:
        space: The space.
        size: Episodes in a block.
    """

    name = "lhs"

    def __init__(self, space: Space, *, size: int | None = None) -> None:
        super().__init__(space)
        if size is not None and size < 1:
            raise TrueupError(f"A block of {size} episodes is none.", fix="Give 1 or more.")
        self._size = size
        self._last: tuple[int, np.ndarray] = (-1, np.empty(0))  # so that few points cost little

    def _begin(self, generator: np.random.Generator, n: int) -> None:
        super()._begin(generator, n)
        self._size = self._size or n

    def _rows(self, first: int, n: int) -> np.ndarray:
        size = self._size or n
        blocks = range(first // size, (first + n - 1) // size + 1)
        rows = np.concatenate([self._block(i, size) for i in blocks])
        start = first - blocks[0] * size
        return rows[start : start + n]

    def _block(self, i: int, size: int) -> np.ndarray:
        if self._last[0] != i:
            self._last = i, self._made(i, size)
        return self._last[1]

    def _made(self, i: int, size: int) -> np.ndarray:
        generator = np.random.default_rng([self._seed or 0, i])
        slices = generator.random((size, len(self._columns))).argsort(axis=0)
        return (slices + generator.random(slices.shape)) / size

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "size": self._size}

    def _resume(self, state: dict[str, Any]) -> None:
        super()._resume(state)
        self._size = state["size"]
        self._last = (-1, np.empty(0))


class Grid(Plan):
    """Every combination of a few levels, row by row and then again from the first.

    What has no levels stays at its nominal value, or where it is pinned. The last parameter changes
    fastest.

    Args:
        space: The space.
        levels: Levels of every free parameter; or, by pattern, their number or the values
            themselves. A number of levels spans the prior: its ends, or its central 99.8 % where
            it has none but the parameter's bounds.
    """

    name = "grid"

    def __init__(self, space: Space, levels: int | Mapping[str, int | Sequence[float]] = 3) -> None:
        super().__init__(space)
        wanted = dict.fromkeys(space.free, levels) if isinstance(levels, int) else levels
        self._axes = _axes(space, wanted)
        self._taken = 0
        if self.size > _LARGEST_GRID:
            sizes = " × ".join(str(len(axis)) for axis in list(self._axes.values())[:6])
            more = " × …" if len(self._axes) > 6 else ""
            raise TrueupError(
                f"A grid of {len(self._axes)} parameters has {sizes}{more} = {self.size:.3g} "
                f"points, and at most {_LARGEST_GRID:,} are useful.",
                fix="Choose fewer parameters or levels; Sobol covers many parameters better.",
            )

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return prod(len(axis) for axis in self._axes.values())

    def draw(self, generator: np.random.Generator, n: int) -> Points:
        rows = np.arange(self._taken, self._taken + checked_count(n)) % self.size
        self._taken += n
        values = np.tile([_rest(p) for p in self.space], (n, 1))
        shape = tuple(len(axis) for axis in self._axes.values())
        places = np.unravel_index(rows, shape) if shape else ()
        for (name, axis), place in zip(self._axes.items(), places, strict=True):
            values[:, self.space.index(name)] = axis[place]
        return self.space.points(values)

    def distribution(self) -> Space:
        held = {p.name: _rest(p) for p in self.space if p.name not in self._axes}
        levels = {name: Samples(tuple(axis)) for name, axis in self._axes.items()}
        return self.space.pinned(held).narrowed(levels)

    def summary(self) -> str:
        return f"{self.size:,} points: every combination of {len(self._axes)} parameters' levels"

    def _kept(self) -> dict[str, Any]:
        return {"taken": self._taken}

    def _resume(self, state: dict[str, Any]) -> None:
        self._taken = int(state["taken"])


def _axes(space: Space, levels: Mapping[str, int | Sequence[float]]) -> dict[str, np.ndarray]:
    """The values of each parameter that has levels, in the order of the space."""
    joined = {name for joint in space.joints for name in joint.names}
    axes: dict[str, np.ndarray] = {}
    for pattern, wanted in levels.items():
        for p in space.select(pattern):
            if p.name in joined:
                raise TrueupError(
                    f"{p.name!r} is tied to others by a joint belief, so it has no levels of its "
                    "own.",
                    fix="Leave it out of the grid, or give the space without the joint.",
                )
            axes[p.name] = _levels(p, wanted)
    return {name: axes[name] for name in space.names if name in axes}


def _levels(p: Parameter, wanted: int | Sequence[float]) -> np.ndarray:
    if not isinstance(wanted, int):
        values = np.asarray(wanted, float)
        p.check_values(values)
    elif wanted < 1:
        raise TrueupError(f"{p.name!r} cannot have {wanted} levels.", fix="Give 1 or more.")
    else:
        outer = central(p)
        values = p.quantile(np.linspace(*outer, wanted) if wanted > 1 else np.array([0.5]))
    return values


def _rest(p: Parameter) -> float:
    """Where a parameter without levels stays."""
    return float(p.quantile(0.5)) if p.fixed else p.nominal
