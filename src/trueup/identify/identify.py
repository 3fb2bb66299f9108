"""From episodes to an estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.identify.descent import Descent, descend, usual_size
from trueup.identify.estimate import Estimate, Misfit, belief_of, findings_of
from trueup.identify.posterior import posterior_of, prior_spread
from trueup.identify.problem import Problem
from trueup.identify.usable import usable
from trueup.space import Space
from trueup.versions import versions
from trueup.worlds import World

_DELAYS = (0.1, 0.35)  # where between its bounds a delay is begun from, besides nominal
_SHORT = 6  # iterations that decide which start is gone on from

Told = Callable[[str], None]


def identify(
    world: World,
    episodes: Sequence[Episode],
    space: Space,
    *,
    signals: Sequence[str] = ("joint_position",),
    window_s: float | None = None,
    threads: int = 0,
    on_progress: Told | None = None,
) -> Estimate:
    """Fit the free parameters of a space to episodes, and say how sure.

    Some of the recordings are kept out of the fit and only judge it. Delays change nothing until
    they pass a physics step, so that the way down from none cannot be seen: they are begun from
    several values, and the best start is gone on from.

    Args:
        world: Where the episodes are replayed.
        episodes: What was recorded.
        space: The parameters to fit, with what is believed of them.
        signals: What to compare.
        window_s: Begin anew at the measured state after each so many seconds.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    began = perf_counter()
    tell = on_progress or (lambda _: None)
    free = space.select(*(name for name in space.names if not space[name].fixed))
    if not len(free):
        raise TrueupError(
            "Every parameter of this space is fixed.", fix="Select some that may differ."
        )
    split = usable(episodes)
    options = {"signals": signals, "window_s": window_s, "threads": threads}
    problem = Problem(world, split.fitted, free, **options)
    centre = free.encode(free.nominal())[0]
    best = _fitted(problem, free, centre, tell)
    here, slopes = problem.jacobian(best.u, exact=True)
    posterior = posterior_of(free, here, slopes, problem.scale)
    judge = Problem(world, split.held, free, **options)
    return Estimate(
        world=world.name,
        belief=belief_of(free, best.u, posterior.covariance),
        findings=findings_of(free, best.u, posterior.covariance, posterior.shrink),
        unseen=tuple(map(str, posterior.unseen)),
        fitted=_misfit(problem, centre, best.u, len(split.fitted)),
        held=_misfit(judge, centre, best.u, len(split.held)),
        noise=dict(zip(problem.columns, posterior.noise.tolist(), strict=True)),
        notes=split.notes,
        made={
            "seconds": round(perf_counter() - began, 2),
            "iterations": best.steps,
            "window_s": window_s,
            "signals": list(signals),
            "versions": versions("mujoco", "numpy", "scipy"),
        },
    )


def _fitted(problem: Problem, free: Space, centre: np.ndarray, tell: Told) -> Descent:
    """The best point: a short way from several starts, then all the way from the best."""
    pull = _pull(problem, free, centre)
    found = []
    for k, start in enumerate(_starts(free, centre)):
        tell(f"start {k + 1}")
        found.append(descend(problem, start, centre=centre, pull=pull, most=_SHORT))
    best = min(found, key=lambda descent: descent.cost)
    problem.scale = problem.scale * usual_size(problem.residual(best.u[None]))[0]
    pull = _pull(problem, free, best.u)
    return descend(
        problem,
        best.u,
        centre=centre,
        pull=pull,
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


def _misfit(problem: Problem, before: np.ndarray, after: np.ndarray, episodes: int) -> Misfit:
    found = problem.residual(np.stack([before, after]))
    raw = found.values * problem.scale[found.column]
    sizes = [
        np.sqrt((raw[:, found.column == c] ** 2).mean(axis=1)) for c in range(len(problem.columns))
    ]
    first, last = (
        {name: float(size[k]) for name, size in zip(problem.columns, sizes, strict=True)}
        for k in (0, 1)
    )
    return Misfit(episodes=episodes, before=first, after=last)
