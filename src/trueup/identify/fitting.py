"""From starts to the best point of a problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup.identify.descent import Descent, descend, usual_size
from trueup.identify.posterior import prior_mean, prior_spread
from trueup.identify.problem import Problem
from trueup.identify.search import searched, sticks
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
    first = rough or problem
    starts = _starts(first.space)
    if rough is not None:
        power = (rough.residual(np.array(starts)).values ** 2).mean(axis=1)
        starts = [starts[int(power.argmin())]]
    centre, pull = prior_mean(first.space), _pull(first, starts[0])
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
    left = usual_size(problem.residual(start[None]))[0]
    problem.scale = problem.scale * left
    return descend(
        problem,
        start,
        centre=prior_mean(problem.space),
        pull=_pull(problem, start),
        most=most,
        **({"enough": _ROUGHLY} if rough else {}),
        on_step=lambda k, cost: tell(f"iteration {k + 1}: misfit {np.sqrt(cost):.3g} of the noise"),
    )


def _better(problem: Problem, *points: np.ndarray) -> np.ndarray:
    """That of some points (d,) which leaves less."""
    power = (problem.residual(np.stack(points)).values ** 2).mean(axis=1)
    return points[int(power.argmin())]


def _pull(problem: Problem, u: np.ndarray) -> np.ndarray:
    """(d,) the prior's precision against that of all readings: it decides only what they do not."""
    here = problem.residual(u[None])
    readings = here.values.shape[1]
    return (here.values**2).mean() / prior_spread(problem.space) ** 2 / readings


def _starts(free: Space) -> list[np.ndarray]:
    nominal = free.encode(free.nominal())[0]
    delays = [i for i, p in enumerate(free) if p.unit == "s" and p.low == p.nominal]
    starts = [nominal]
    for share in _DELAYS if delays else ():
        start = nominal.copy()
        start[delays] = share
        starts.append(start)
    return starts
