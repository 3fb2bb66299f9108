"""From starts to the best point of a problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup.identify.descent import Descent, descend, usual_size
from trueup.identify.posterior import prior_spread
from trueup.identify.problem import Problem
from trueup.space import Space

_DELAYS = (0.1, 0.35)  # where between its bounds a delay is begun from, besides nominal
_ROUGHLY = 0.01  # relative gain of the cost
_SHORT = 4  # iterations that decide which start is gone on from

Told = Callable[[str], None]


def fitted(
    problem: Problem,
    centre: np.ndarray,
    tell: Told,
    *,
    rough: Problem | None = None,
) -> Descent:
    """The best point: a short way from several starts, then all the way from the best.

    Delays change nothing until they pass a physics step, so that the way down from none cannot be
    seen: they are begun from several values. Where the recordings are long, a `rough` problem of
    parts of them chooses between starts, by what is left at each.
    """
    first = rough or problem
    pull = _pull(first, first.space, centre)
    starts = _starts(first.space, centre)
    if rough is not None:
        power = (rough.residual(np.array(starts)).values ** 2).mean(axis=1)
        starts = [starts[int(power.argmin())]]
    found = []
    for k, start in enumerate(starts):
        tell(f"start {k + 1} of {len(starts)}")
        found.append(descend(first, start, centre=centre, pull=pull, most=_SHORT))
    best = min(found, key=lambda descent: descent.cost)
    return gone_on(problem, best.u, centre, tell, rough=rough is not None)


def gone_on(
    problem: Problem,
    start: np.ndarray,
    centre: np.ndarray,
    tell: Told,
    *,
    most: int = 30,
    rough: bool = False,
) -> Descent:
    """Down from one start (d,), every column weighed by what is left of it there.

    All the way, or where `rough` until it is hardly worth another step.
    """
    left = usual_size(problem.residual(start[None]))[0]
    problem.scale = problem.scale * left
    return descend(
        problem,
        start,
        centre=centre,
        pull=_pull(problem, problem.space, start),
        most=most,
        **({"enough": _ROUGHLY} if rough else {}),
        on_step=lambda k, cost: tell(f"iteration {k + 1}: misfit {np.sqrt(cost):.3g} of the noise"),
    )


def _pull(problem: Problem, free: Space, u: np.ndarray) -> np.ndarray:
    """(d,) the prior's precision against that of all readings: it decides only what they do not."""
    here = problem.residual(u[None])
    readings = here.values.shape[1]
    return (here.values**2).mean() / prior_spread(free) ** 2 / readings


def _starts(free: Space, centre: np.ndarray) -> list[np.ndarray]:
    delays = [i for i, p in enumerate(free) if p.unit == "s" and p.low == p.nominal]
    starts = [centre]
    for share in _DELAYS if delays else ():
        start = centre.copy()
        start[delays] = share
        starts.append(start)
    return starts
