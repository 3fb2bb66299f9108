"""A global search for what sticks: a population for each joint, all judged by the same replays.

A joint that sticks stands still and then jumps. Where it does so changes abruptly with its
friction, so that no slope leads from one valley to the next, and a descent ends far from the bottom
whatever it begins with. Differential evolution needs no slopes. What sticks in one joint hardly
shows in another: every joint has a population of its own, a replay takes one member of each, and
each is judged by the readings of its joint. So six joints cost as many replays as one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup.identify.cutting import shortened
from trueup.identify.problem import Problem
from trueup.space import Space

_STICKING = ("stribeck_torque", "rest_friction")
_SCATTERED, _CROWD, _ROUNDS = 160, 40, 20
_NEAR = 0.08  # of the way between bounds: how far what does not stick is scattered
_LEAPS, _CROSSED = (0.3, 0.8), 0.8
_SECONDS, _LEAST_S = 10.0, 4.0  # of all recordings together, and of each at least

Told = Callable[[str], None]


def sticks(space: Space) -> bool:
    """Whether a space has parameters that need a search."""
    return any(name.rsplit("/", 1)[-1] in _STICKING for name in space.names)


def searched(problem: Problem, start: np.ndarray, tell: Told) -> np.ndarray:
    """The best point (d,) that a search finds, from the first seconds of the recordings.

    Args:
        problem: What to make small.
        start: (d,) what it begins around. Parameters of no joint stay as they are there.
        tell: Told in a line how it stands.
    """
    small = _small(problem)
    generator = np.random.default_rng(0)
    small.residual(start[None])  # which tells the columns
    crowds = [
        _Crowd(column, mine, start, small.space, generator)
        for column, mine in enumerate(_of_columns(small))
        if len(mine)
    ]
    tell(f"a search for what sticks in {len(crowds)} joints")
    _judge(small, start, crowds, _SCATTERED)
    for crowd in crowds:
        crowd.cut()
    for _ in range(_ROUNDS):
        for crowd in crowds:
            crowd.breed()
        _judge(small, start, crowds, _CROWD)
    found = start.copy()
    for crowd in crowds:
        found[crowd.mine] = crowd.members[crowd.costs.argmin()]
    return found


class _Crowd:
    """Points that differ in the parameters of one joint.

    Attributes:
        column: Whose readings judge them.
        mine: Which parameters.
        members: (k, m) values of those.
        costs: (k,) of each.
        children: (k, m) to be judged next.
    """

    def __init__(
        self,
        column: int,
        mine: np.ndarray,
        start: np.ndarray,
        space: Space,
        generator: np.random.Generator,
    ) -> None:
        self.column, self.mine, self._generator = column, mine, generator
        near = start[mine] + _NEAR * generator.standard_normal((_SCATTERED, len(mine)))
        anywhere = generator.uniform(size=near.shape)
        jumps = np.array([space.names[i].rsplit("/", 1)[-1] in _STICKING for i in mine])
        self.children = np.clip(np.where(jumps, anywhere, near), 0.0, 1.0)
        self.children[0] = start[mine]
        self.members = self.children.copy()
        self.costs = np.full(_SCATTERED, np.inf)

    def take(self, costs: np.ndarray) -> None:
        """Put children (k, m) that are better in their parents' place."""
        better = costs < self.costs
        self.members[better], self.costs[better] = self.children[better], costs[better]

    def cut(self) -> None:
        """Keep the best."""
        best = np.argsort(self.costs)[:_CROWD]
        self.members, self.costs = self.members[best], self.costs[best]

    def breed(self) -> None:
        """A child of each: the best member, moved by how two others differ, crossed with it."""
        generator, shape = self._generator, self.members.shape
        one, other = (generator.permuted(np.arange(len(self.members))) for _ in range(2))
        leap = generator.uniform(*_LEAPS) * (self.members[one] - self.members[other])
        moved = self.members[self.costs.argmin()] + leap
        outside = (moved < 0.0) | (moved > 1.0)
        moved = np.where(outside, generator.uniform(size=shape), moved)
        crossed = generator.uniform(size=shape) < _CROSSED
        crossed[np.arange(shape[0]), generator.integers(shape[1], size=shape[0])] = True
        self.children = np.where(crossed, moved, self.members)


def _judge(problem: Problem, start: np.ndarray, crowds: list[_Crowd], count: int) -> None:
    """Replay the k-th children of all joints together, for every k."""
    points = np.tile(start, (count, 1))
    for crowd in crowds:
        points[:, crowd.mine] = crowd.children
    found = problem.residual(points)
    for crowd in crowds:
        crowd.take((found.values[:, found.column == crowd.column] ** 2).mean(axis=1))


def _of_columns(problem: Problem) -> list[np.ndarray]:
    """For each column, the parameters of its joint, if one of them sticks."""
    found = []
    for column in problem.columns:
        joint = column.rsplit("/", 1)[-1]
        mine = [i for i, name in enumerate(problem.space.names) if joint in name.split("/")]
        needed = sticks(problem.space.select(*(problem.space.names[i] for i in mine)))
        found.append(np.array(mine if mine and needed else [], int))
    return found


def _small(problem: Problem) -> Problem:
    replayer = problem.replayer
    each_s = max(_SECONDS / len(replayer.episodes), _LEAST_S)
    return Problem(
        replayer.world,
        [shortened(episode, each_s) for episode in replayer.episodes],
        problem.space,
        signals=problem.signals,
        window_s=replayer.window_s,
        wander=problem.wander,
        threads=replayer.threads,
    )
