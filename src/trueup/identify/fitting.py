"""From starts to the best point of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from trueup.episodes.episode import JOINTS
from trueup.identify.descent import Descent, descend, usual_size
from trueup.identify.posterior import prior_mean, prior_spread
from trueup.identify.problem import Problem, Residual, is_delay
from trueup.identify.search import searched, sticks
from trueup.identify.target import delays_of
from trueup.identify.worth import lasting
from trueup.space import Space

_DELAYS = (0.1, 0.35)  # where between its bounds a delay is begun from, besides nominal
_ROUGHLY = 0.01  # relative gain of the cost
_SHORT = 4  # iterations that decide which start is gone on from


Told = Callable[[str], None]


def fitted(
    problem: Problem, tell: Told, *, rough: Problem | None = None, search: bool = True
) -> Descent:
    """The best point: a short way from several starts, then all the way from the best.

    Delays change nothing until they pass a physics step, so that the way down from none cannot be
    seen: they are begun from several values. Where the recordings are long, a `rough` problem of
    parts of them chooses between starts, by what is left at each. Where joints may stick, a global
    `search` looks for a better start than where the short way ended.
    """
    if _told_apart(problem):
        return _in_turn(problem, tell)
    first = rough or problem
    starts = _starts(first.space)
    seen = starts[:1] if rough is None else starts
    left = (first.residual(np.array(seen)).values ** 2).mean(axis=1)
    if rough is not None:
        starts = [starts[int(left.argmin())]]
    centre, pull = _ends(first.space), _pull(first)
    found = []
    for k, start in enumerate(starts):
        tell(f"start {k + 1} of {len(starts)}")
        found.append(descend(first, start, centre=centre, pull=pull, most=_SHORT))
    start = min(found, key=lambda descent: descent.cost).u
    if search and sticks(first.space):
        start = _better(problem, start, searched(first, start, tell))
    return gone_on(problem, start, tell, rough=rough is not None)


def gone_on(
    problem: Problem, start: np.ndarray, tell: Told, *, most: int = 30, rough: bool = False
) -> Descent:
    """Down from one start (d,), every column weighed by what is left of it there.

    All the way, or where `rough` until it is hardly worth another step.
    """
    here = problem.residual(start[None])
    problem.weigh(usual_size(here)[0])
    return descend(
        problem,
        start,
        centre=_ends(problem.space),
        pull=_pull(problem),
        most=most,
        **({"enough": _ROUGHLY} if rough else {}),
        on_step=lambda k, cost: tell(f"iteration {k + 1}: misfit {np.sqrt(cost):.3g} of the noise"),
    )


def _told_apart(problem: Problem) -> bool:
    """Whether there are several delays, and other signals than positions that may tell each."""
    return len(delays_of(problem.space)) > 1 and {JOINTS} < set(problem.signals)


def _in_turn(problem: Problem, tell: Told) -> Descent:
    """Positions first, then all signals.

    Positions tell the sum of delays, and their landscape is smooth. What other signals tell of each
    delay comes again with every command, valley after valley: with the sum known, every share of it
    is looked at.
    """
    replayer = problem.replayer
    smooth = Problem(
        replayer.world,
        replayer.episodes,
        problem.space,
        signals=(JOINTS,),
        window_s=replayer.window_s,
        wander=problem.wander,
        coupled=problem.coupled,
        threads=replayer.threads,
    )
    tell("positions first")
    start = shared_otherwise(problem, fitted(smooth, tell).u)
    tell("all signals")
    return gone_on(problem, start, tell)


def shared_otherwise(problem: Problem, u: np.ndarray) -> np.ndarray:
    """A point (d,), or the one that leaves least with a sum of its delays shared out otherwise."""
    points = np.array([u, *_shares(problem, u)])
    found = problem.residual(points)
    columns = [found.values[:, found.column == c] for c in range(len(problem.columns))]
    power = np.array([(column**2).mean(axis=1) for column in columns])
    left = (power / (power[:, :1] + 1e-300)).mean(axis=0)  # every column as much as any other
    return points[left.argmin()]


def _shares(problem: Problem, u: np.ndarray) -> Iterator[np.ndarray]:
    """Points (d,) that share out each delay's sum with the longest, a physics step at a time."""
    step_s = problem.replayer.compiled.model.opt.timestep
    width = {i: p.high - p.low for i, p in enumerate(problem.space) if is_delay(p)}
    longest = max(width, key=lambda i: u[i] * width[i])
    for i in width.keys() - {longest}:
        total = u[i] * width[i] + u[longest] * width[longest]
        for share in (*np.arange(0.0, total, step_s), total):
            point = u.copy()
            point[i], point[longest] = share / width[i], (total - share) / width[longest]
            if point.max() <= 1.0:
                yield point


def _better(problem: Problem, *points: np.ndarray) -> np.ndarray:
    """That of some points (d,) which leaves less."""
    power = (problem.residual(np.stack(points)).values ** 2).mean(axis=1)
    return points[int(power.argmin())]


def _ends(space: Space) -> np.ndarray:
    """(2, d) between what all is believed alike: for a uniform prior, all that it allows."""
    centre, half = prior_mean(space), np.sqrt(3.0) * prior_spread(space)
    return np.stack([centre - half, centre + half])


def _pull(problem: Problem) -> Callable[[Residual], np.ndarray]:
    """The prior's precision (d,) against that of all readings: it decides what they do not.

    Errors that last count once, not as often as they were read.
    """
    spread = prior_spread(problem.space)

    def pull(here: Residual) -> np.ndarray:
        size = usual_size(here)[0] ** 2 * lasting(here)
        return size[here.column].mean() / spread**2 / len(here.column)

    return pull


def _starts(free: Space) -> list[np.ndarray]:
    nominal = free.encode(free.nominal())[0]
    delays = [i for i, p in enumerate(free) if is_delay(p) and p.low == p.nominal]
    starts = [nominal]
    for share in _DELAYS if delays else ():
        start = nominal.copy()
        start[delays] = share
        starts.append(start)
    return starts
