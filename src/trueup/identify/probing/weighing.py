"""The fit behind a weighing: recordings with a payload and without, which share the arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import cast

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.descent import descend, usual_size
from trueup.identify.posterior import prior_mean, prior_spread
from trueup.identify.probing.joined import Joined, part_of
from trueup.identify.probing.open_minded import open_minded
from trueup.identify.problem import Problem
from trueup.identify.sandwich import hanging_together
from trueup.identify.target import Slopes, Target
from trueup.space import Space
from trueup.worlds import World

ARM = ("actuation/*/kp", "actuation/*/damping", "actuation/*/frictionloss", "actuation/*/armature")
"""What is not known of an arm that carries something, besides its delay."""

_DELAY = "latency/action_delay"
_DELAYS = (0.0, 0.15, 0.35)  # between its bounds: none shows the way down to the next
_SHORT = 5  # iterations that decide which delay is gone on from
_ROUNDS = 3  # of slopes across what is uncertain
_REPEATS = 2  # equal readings in a row that still count one by one
_SHORTEST = 1.2  # physics steps: a delay below cannot be told from its neighbours
_SETTLED = 0.1  # nats: a step that gains less than this is none

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all fits of one weighing share; `hand` are the parameters of the link, mass first."""

    world: World
    free: Space
    hand: Space
    signals: tuple[str, ...]
    threads: int

    def joined(self, sides: Sequence[Sequence[Episode]]) -> Joined:
        """Recordings with the payload, and then without: all but the link is shared."""
        arm = self.free.without(*self.hand.names)
        parts = []
        for episodes, space, label in zip(
            sides, (self.free, arm), ("loaded/", "bare/"), strict=False
        ):
            some = [thinned(episode) for episode in episodes]
            problem = Problem(self.world, some, space, signals=self.signals, threads=self.threads)
            parts.append(part_of(problem, self.free, list(space.nominal().values()), label))
        return Joined(parts, len(self.free))


def thinned(episode: Episode) -> Episode:
    """The episode without readings that only repeat: of a run of equal ones the middle is left.

    An encoder that stands on one tick is off by the same part of it each time. Counted as many
    readings, a joint at rest would seem to be known far better than to a tick.
    """
    channel = episode[JOINTS]
    values = np.array(channel.values, float)
    for column in values.T:
        ends = np.flatnonzero(np.diff(column) != 0) + 1
        for begin, end in pairwise([0, *ends, len(column)]):
            if end - begin > _REPEATS:
                middle = (begin + end) // 2
                column[begin:middle] = column[middle + 1 : end] = np.nan
    return replace(episode, signals={**episode.signals, JOINTS: replace(channel, values=values)})


def unknowns(world: World, space: Space | None, link: str) -> tuple[Space, Space]:
    """All unknowns, and those of the link that carries the payload, mass first."""
    known = world.catalogue.names
    hand = [f"actuation/{link}/{quantity}" for quantity in ("mass", "com_x", "com_y", "com_z")]
    if missing := [name for name in hand if name not in known]:
        links = sorted(n.split("/")[1] for n in known if fnmatchcase(n, "actuation/*/mass"))
        raise TrueupError(
            f"The world {world.name!r} has no {missing[0]}, so that {link!r} can carry nothing.",
            fix=f"Links that can: {', '.join(links)}.",
        )
    if space is None:
        moved = [n for n in known for pattern in ARM if fnmatchcase(n, pattern)]
        wanted = [n for n in moved if n.split("/")[1] != link]
        space = world.catalogue.select(*wanted, *([_DELAY] if _DELAY in known else []))
    rest = tuple(p for p in space if p.name not in hand and not p.fixed)
    carried = open_minded(Space(tuple(world.catalogue[name] for name in hand)))
    return Space((*rest, *carried.parameters)), carried


def starts(free: Space) -> list[np.ndarray]:
    """Where a fit is begun: at nominal, with several delays."""
    centre = free.encode(free.nominal())[0]
    if _DELAY not in free:
        return [centre]
    starts = np.tile(centre, (len(_DELAYS), 1))
    starts[:, free.index(_DELAY)] = _DELAYS
    return list(starts)


def fitted(
    setting: Setting,
    sides: Sequence[Sequence[Episode]],
    starts: Sequence[np.ndarray],
    tell: Told,
) -> tuple[Joined, np.ndarray]:
    """Recordings fitted: a short way from each start, then all the way from the best."""
    problem = setting.joined(sides)
    alike = cast("Problem", problem)  # it answers to the same words
    centre, spread = prior_mean(setting.free), prior_spread(setting.free)

    def pull(at: np.ndarray) -> np.ndarray:
        here = problem.residual(at[None])
        return (here.values**2).mean() / spread**2 / here.values.shape[1]

    found = [
        descend(alike, start, centre=centre, pull=pull(start), most=_SHORT) for start in starts
    ]
    best = min(found, key=lambda descent: descent.cost).u
    problem.weigh(usual_size(problem.residual(best[None]))[0])
    done = descend(
        alike,
        best,
        centre=centre,
        pull=pull(best),
        on_step=lambda k, cost: tell(f"iteration {k + 1}: misfit {np.sqrt(cost):.3g} of the noise"),
    )
    return problem, done.u


def bottom(problem: Joined, u: np.ndarray, free: Space) -> tuple[np.ndarray, np.ndarray]:
    """The very bottom near a point (d,), and the covariance (d, d) there.

    Slopes are taken across what is uncertain, because dry friction is not smooth. Starts that are
    only read, and errors that hang together in time, count as what they are.
    """
    centre, spread = prior_mean(free), prior_spread(free)
    covariance = np.diag((0.02 * np.ones(len(free))) ** 2)
    for _ in range(_ROUNDS):
        seen = _seen(problem, u, covariance)
        covariance = hanging_together(seen, problem.residual(u[None]), spread)
        precision = seen.slopes.T @ seen.slopes + np.diag(spread**-2)
        slope = seen.slopes.T @ seen.values + (u - centre) / spread**2
        moved = _simulated(problem, u, free)
        step = np.zeros(len(u))
        step[moved] = -np.linalg.solve(precision[np.ix_(moved, moved)], slope[moved])
        u = np.clip(u + step, 0.0, 1.0)
        if step @ precision @ step < _SETTLED:
            break
    return u, covariance


def _simulated(problem: Joined, u: np.ndarray, free: Space) -> np.ndarray:
    """Which parameters can be moved a little: no delay lies between none and a physics step."""
    step_s = problem.parts[0].problem.replayer.compiled.model.opt.timestep
    late = free.decode(u[None]).values[0]
    return np.array(
        [i for i, p in enumerate(free) if p.unit != "s" or late[i] >= _SHORTEST * step_s]
    )


def _seen(problem: Joined, u: np.ndarray, covariance: np.ndarray) -> Slopes:
    """Readings of all parts around a point, in units of their noise and free of their starts."""
    values, slopes = [], []
    for part in problem.parts:
        at, target = part.lay(u[None])[0], Target(part.problem, part.lay(u[None])[0])
        seen = target.slopes(at, _ways(covariance[np.ix_(part.source, part.source)], target.delays))
        mine = np.zeros((len(seen.values), problem.size))
        mine[:, part.source] = seen.slopes
        values.append(seen.values)
        slopes.append(mine)
    return Slopes(values=np.concatenate(values), slopes=np.concatenate(slopes))


def _ways(covariance: np.ndarray, delays: np.ndarray) -> np.ndarray:
    """(k, d) one standard deviation along each axis of a covariance, delays left out."""
    rest = np.setdiff1d(np.arange(len(covariance)), delays)
    sizes, axes = np.linalg.eigh(covariance[np.ix_(rest, rest)])
    ways = np.zeros((len(rest), len(covariance)))
    ways[:, rest] = (axes * np.sqrt(np.maximum(sizes, 1e-8))).T
    return ways
