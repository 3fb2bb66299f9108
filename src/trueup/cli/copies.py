"""From options to a batch: which points, which episodes, which engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np

from trueup.cli import show
from trueup.cli.options import Chosen
from trueup.errors import TrueupError
from trueup.evaluate import trials
from trueup.identify.frames import LATENESS, with_lateness
from trueup.identify.residual.effect import SHARE
from trueup.simulate import CpuWorlds, Divergence, Rollout, Step, Trajectory
from trueup.simulate.rollout import Controller
from trueup.space import Point, Points, Space
from trueup.worlds import Compiled, World


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Copies of a world that are not running yet.

    Attributes:
        world: The world.
        space: What differs between them.
        points: One for each.
        seeds: One for each: how its episode goes.
        rows: Their numbers among all that were drawn.
    """

    world: World
    space: Space
    points: Points
    seeds: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, n: int) -> Copies:
        """The first `n` of them, as they were among the others."""
        return self.some(np.arange(len(self))[:n])

    def some(self, which: np.ndarray) -> Copies:
        """Those at these places, as they were among the others."""
        return Copies(
            world=self.world,
            space=self.space,
            points=self.points[which],
            seeds=self.seeds[which],
            rows=self.rows[which],
        )

    def within(self, space: Space) -> Copies:
        """The same copies with only the parameters of `space` left as drawn, the rest nominal."""
        columns = np.array([self.space.index(name) for name in space.names], int)
        return Copies(
            world=self.world,
            space=space,
            points=Points(space.names, self.points.values[:, columns]),
            seeds=self.seeds,
            rows=self.rows,
        )

    def opened(self, *, threads: int = 0) -> CpuWorlds:
        """An engine with these copies at the start of their episodes."""
        worlds = CpuWorlds(Compiled(self.world, self.space), len(self), threads=threads)
        worlds.reset(self.points, self.seeds)
        return worlds


def drawn(world: World, options: Chosen, n: int, *, nominal: bool = False) -> Copies:
    """The copies that the options ask for; copy i is the same whatever `n` is."""
    check_positive("--n", n)
    check_seed(options.seed)
    point = _point(options, nominal)
    if point is None:
        world, space = asked(world, options.select, options.space)
    else:
        space = _space_of(world, point)
    rows = np.arange(n) if options.only is None else _row(options.only)
    total = int(rows[-1]) + 1
    points, seeds = trials(space, total, options.seed)
    if point is not None:
        points = space.points(point, total)
    return Copies(world=world, space=space, points=points[rows], seeds=seeds[rows], rows=rows)


def chosen_space(world: World, patterns: tuple[str, ...], *, everything: bool = False) -> Space:
    """The parameters that match; optional ones only where they are asked for.

    A pattern that matches no default parameter is looked for among the optional ones.
    """
    if not patterns:
        return world.catalogue if everything else world.space
    names: set[str] = set()
    for pattern in patterns:
        names.update(_matching(world, pattern, everything).names)
    return Space(tuple(p for p in world.catalogue if p.name in names))


def _matching(world: World, pattern: str, everything: bool) -> Space:
    if not everything:
        try:
            return world.space.select(pattern)
        except TrueupError:
            pass  # the catalogue has it, or says what is there instead
    return world.catalogue.select(pattern)


def asked(world: World, patterns: tuple[str, ...], file: Path | None) -> tuple[World, Space]:
    """The space of a file or else of the world, or of either the parameters that match.

    Frames that come late by chance belong to a robot and not to a world, which is given them here.
    """
    if file is None:
        return world, chosen_space(world, patterns)
    space = Space.load(file)
    if LATENESS in space:
        world = with_lateness(world)
    if SHARE in space and SHARE not in world.catalogue:
        raise TrueupError(
            f"{file} draws how much of a learnt residual a world has, and none was given.",
            fix="`trueup train` takes it with --residual FOLDER; elsewhere, leave the parameter "
            f"{SHARE} out of the space.",
        )
    for name in space.names:
        world.catalogue.index(name)  # says what the world knows instead
    return world, space.select(*patterns) if patterns else space


def _space_of(world: World, point: Point) -> Space:
    """The parameters a point names, each known to the world; the rest is nominal."""
    return Space(tuple(world.catalogue[name] for name in point))


def _point(options: Chosen, nominal: bool) -> Point | None:
    given = [
        name
        for name, value in (
            ("--nominal", nominal),
            ("--point", options.point),
            ("--space", options.space),
            ("--select", options.select),
        )
        if value
    ]
    if len(given) > 1 and given != ["--space", "--select"]:
        raise TrueupError(
            f"{given[0]} and {given[1]} contradict each other: both say which worlds to run.",
            fix="Give one of the two.",
        )
    if nominal:
        return Point({})
    return None if options.point is None else Point.load(options.point)


def _row(only: int) -> np.ndarray:
    if only < 0:
        raise TrueupError(f"--only {only} names no copy.", fix="Copies are numbered from 0.")
    return np.array([only])


def check_positive(option: str, value: float) -> None:
    """Refuse a count or a duration that is not above 0."""
    if not 0 < value < float("inf"):
        kind = "a finite number above 0" if isinstance(value, float) else "above 0"
        raise TrueupError(f"{option} is {value}, and must be {kind}.", fix="Give one such as 2.")


def check_threads(threads: int) -> None:
    """Refuse a number of threads that is none."""
    if threads < 0:
        raise TrueupError(f"--threads is {threads}.", fix="Give 0 for all, or a count.")


def check_seed(seed: int) -> None:
    """Refuse a seed that is no seed."""
    if seed < 0:
        raise TrueupError(f"--seed is {seed}, and must not be negative.", fix="Give 0 or more.")


def control_steps(world: World, seconds: float | None) -> int:
    """How many control steps a duration takes; an episode by default."""
    duration = world.episode_s if seconds is None else seconds
    check_positive("--seconds", duration)
    return max(1, round(duration / world.control_period_s))


def simulated(world: World, seconds: float | None) -> float:
    """The time those steps take, in s."""
    return control_steps(world, seconds) * world.control_period_s


def rounded(world: World, seconds: float | None) -> str:
    """What to say where a duration is not a whole number of control steps; else nothing."""
    if seconds is None or math.isclose(seconds, simulated(world, seconds)):
        return ""
    period = show.number(1e3 * world.control_period_s)
    return f" ({seconds:g} s in whole control steps of {period} ms)"


@dataclass(kw_only=True)
class Outcome:
    """How the episodes of a batch went.

    Attributes:
        trajectory: What happened.
        lost: (n,) whether the task's failure condition ended the episode.
        steps: Control steps taken.
        run_s: Wall time of the steps alone.
        divergences: Copies whose physics broke down.
    """

    trajectory: Trajectory
    lost: np.ndarray
    steps: int
    run_s: float
    divergences: list[Divergence] = field(default_factory=list)

    @property
    def successes(self) -> int:
        """How many copies succeeded."""
        return int(self.trajectory.success.sum())

    @property
    def n(self) -> int:
        """How many copies there were."""
        return len(self.lost)


def played(
    worlds: CpuWorlds,
    controller: Controller,
    steps: int,
    *,
    record: tuple[str, ...] = (),
    on_step: Callable[[int], None] = lambda steps: None,
) -> Outcome:
    """Let a controller play the episodes of a batch that was just opened."""
    lost, ended = np.zeros(worlds.n, bool), np.zeros(worlds.n, bool)

    def watch(k: int, step: Step) -> None:
        lost[:] |= step.failure & ~step.success & ~ended
        ended[:] |= step.done
        on_step(1)

    started = perf_counter()
    trajectory = Rollout(worlds, record=record, on_step=watch).run(controller, steps)
    return Outcome(
        trajectory=trajectory,
        lost=lost,
        steps=steps,
        run_s=perf_counter() - started,
        divergences=list(worlds.divergences),
    )
