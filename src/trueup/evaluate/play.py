"""Episodes by the thousand, batch after batch, in one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import TrueupError
from trueup.evaluate.evaluation import ENDS, Evaluation, joined
from trueup.simulate import CpuWorlds, Step, Worlds
from trueup.simulate.rollout import Controller
from trueup.space import Point, Points, Space
from trueup.worlds import Compiled, World

Begin = Callable[[Worlds], Controller]
"""From worlds that were just reset to what commands them."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One control step of a batch, for whoever watches.

    Attributes:
        number: Which, from 0.
        rows: (k,) the episodes of the batch.
        open: (k,) whether each was still going on before it.
        observation: What was known, (k, dim) by signal name.
        command: (k, nu) what was sent.
    """

    number: int
    rows: np.ndarray
    open: np.ndarray
    observation: Mapping[str, np.ndarray]
    command: np.ndarray


Witness = Callable[[Turn], None]


def evaluate(
    world: World,
    begin: Begin,
    points: Points | Point,
    seeds: ArrayLike,
    *,
    batch: int = 1024,
    threads: int = 0,
    on_progress: Callable[[int], None] | None = None,
    witness: Witness | None = None,
) -> Evaluation:
    """Play one episode at each point, each to its own end.

    Memory is bounded by `batch`: one engine plays batch after batch. What becomes of an episode
    depends on its point and its seed alone, not on the batch or on the episodes beside it, as long
    as the controller treats its rows alike.

    Args:
        world: The world.
        begin: Called once for each batch; `piloted(policy)` makes one of a policy.
        points: One for each episode, or one for all; what they do not name is nominal.
        seeds: One for each episode. `trials` draws both.
        batch: Worlds that are stepped together, at most.
        threads: CPU threads; 0 takes all. Results do not depend on it.
        on_progress: Called with the number of episodes that were just over.
        witness: Shown every control step, before it is taken; arrays are valid during the call.
    """
    points, seeds = _checked(world, points, seeds, batch)
    size = _batch_size(len(seeds), batch)
    worlds = CpuWorlds(Compiled(world, _space(world, points)), size, threads=threads)
    report = on_progress or (lambda episodes: None)
    parts = [
        _played(worlds, begin, points, seeds, rows, report, witness)
        for rows in _batches(len(seeds), size)
    ]
    return joined(parts)


def _batch_size(n: int, most: int) -> int:
    """Batches of one size, as few as possible: the last one is then nearly full too."""
    return -(-n // -(-n // most))


def _batches(n: int, size: int) -> Iterator[np.ndarray]:
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))


def _played(
    worlds: CpuWorlds,
    begin: Begin,
    points: Points,
    seeds: np.ndarray,
    rows: np.ndarray,
    report: Callable[[int], None],
    witness: Witness | None,
) -> Evaluation:
    """One batch, until all its episodes are over."""
    k = len(rows)
    filled = np.pad(rows, (0, worlds.n - k), mode="edge")  # idle worlds repeat the last episode
    worlds.divergences.clear()
    observation = worlds.reset(points[filled], seeds[filled])
    controller = begin(worlds)
    ends, command = _Ends(worlds.n), worlds.hold
    for step_number in range(worlds.world.steps):
        wanted = np.asarray(controller(step_number, observation), float)
        command = _commanded(worlds, wanted, command, ends.open, filled)
        before = ends.open
        if witness is not None:
            witness(_turn(step_number, rows, before, observation, command))
        step = worlds.step(command)
        ends.see(step, worlds.time_s)
        report(int((before & ~ends.open)[:k].sum()))
        if not ends.open[:k].any():
            break
        worlds.rest(~ends.open)
        observation = step.observation
    return ends.evaluation(worlds, k)


def _turn(
    number: int,
    rows: np.ndarray,
    open_: np.ndarray,
    observation: Mapping[str, np.ndarray],
    command: np.ndarray,
) -> Turn:
    k = len(rows)
    seen = {name: values[:k] for name, values in observation.items()}
    return Turn(number=number, rows=rows, open=open_[:k], observation=seen, command=command[:k])


def _commanded(
    worlds: CpuWorlds, wanted: np.ndarray, last: np.ndarray, open_: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """What to send: an episode that is over keeps its last command.

    Its readings may not even be finite any more, and a policy's answer to them would be refused.
    """
    if wanted.shape != last.shape:
        return wanted  # the engine says what it needs
    command = np.where(open_[:, None], wanted, last)
    if not np.isfinite(command).all():
        row, servo = np.argwhere(~np.isfinite(command))[0]
        raise TrueupError(
            f"The command for {worlds.world.commands[servo]!r} in episode {rows[row]} (seed "
            f"{worlds.seeds[row]}) became {command[row, servo]} after "
            f"{worlds.time_s[row]:.2f} s.",
            fix="Check the policy's output; commands must be finite.",
        )
    return command


class _Ends:
    """Keeps account of which episodes of a batch are over, and how."""

    def __init__(self, n: int) -> None:
        self.open = np.ones(n, bool)
        self._ends = {end: np.zeros(n, bool) for end in ENDS}
        self._return = np.zeros(n)
        self._time_s = np.full(n, np.nan)
        self._steps = np.zeros(n, int)

    def see(self, step: Step, time_s: np.ndarray) -> None:
        """Take note of one step; the first end of an episode counts."""
        self._return += np.where(self.open, step.reward, 0.0)
        self._steps += self.open
        for end, ended in self._ends.items():
            now = self.open & getattr(step, end)
            ended |= now
            self.open = self.open & ~now
            if end == "success":
                self._time_s[now] = time_s[now]

    def evaluation(self, worlds: CpuWorlds, n: int) -> Evaluation:
        """What came of the first `n` worlds."""
        diverged = self._ends["diverged"][:n]
        return Evaluation(
            world=worlds.world.name,
            points=Points(worlds.space.names, worlds.points[:n]),
            seeds=worlds.seeds[:n].copy(),
            **{end: ended[:n] for end, ended in self._ends.items()},
            return_=self._return[:n],
            time_s=self._time_s[:n],
            steps=self._steps[:n],
            divergences=tuple(d for d in worlds.divergences if d.world < n and diverged[d.world]),
        )


def _space(world: World, points: Points) -> Space:
    return Space(tuple(world.catalogue[name] for name in points.names))


def _checked(
    world: World, points: Points | Point, seeds: ArrayLike, batch: int
) -> tuple[Points, np.ndarray]:
    given = np.atleast_1d(np.asarray(seeds))
    if isinstance(points, Point):
        points = Points(tuple(points), np.tile([*points.values()], (len(given), 1)))
    if given.shape != (len(points),) or not len(given):
        raise TrueupError(
            f"{len(points)} points were to be evaluated with {given.size} seeds.",
            fix="Give one seed for each point, and at least one; `trials` draws both.",
        )
    if batch < 1:
        raise TrueupError(f"A batch of {batch} cannot be played.", fix="Give at least 1.")
    return _space(world, points).points(points), given
