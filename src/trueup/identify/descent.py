"""Down to the best fit: Gauss-Newton with bounds, several dampings tried at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueup.identify.problem import Problem, Residual

_DAMPINGS = (0.03, 0.3, 3.0, 30.0)  # times the last one that worked
_LEAST, _MOST = 1e-6, 1e6
_ROBUST = 6.0  # residuals beyond so many of their usual size count less and less
_ENOUGH = 2e-3  # relative gain of the cost below which a descent is over
_FURTHEST = 0.15  # of the way between the bounds, in one step


@dataclass(frozen=True, kw_only=True)
class Descent:
    """Where a descent ended.

    Attributes:
        u: (d,) the point, in the unit cube.
        cost: The robust mean square there.
        steps: Iterations taken.
        replays: Points that were replayed.
    """

    u: np.ndarray
    cost: float
    steps: int
    replays: int


def descend(
    problem: Problem,
    start: np.ndarray,
    *,
    centre: np.ndarray,
    pull: np.ndarray | Callable[[Residual], np.ndarray],
    most: int = 30,
    enough: float = _ENOUGH,
    on_step: Callable[[int, float], None] | None = None,
) -> Descent:
    """From one start (d,) to the nearest best point.

    Args:
        problem: What to make small.
        start: Where to begin, in the unit cube.
        centre: (d,) what is believed before; or (2, d) between what, where all is believed alike.
        pull: (d,) how strongly: precision of that belief, in units of one reading's; or what
            says so at each point that a step is made from.
        most: Iterations.
        enough: Relative gain of the cost below which it is over.
        on_step: Told after each iteration: its number and the cost.
    """
    u, damping, replays, step = np.clip(start, 0.0, 1.0), 1.0, 0, 0
    ends = np.broadcast_to(np.atleast_2d(centre), (2, len(u)))
    failed = False
    here, slopes = problem.jacobian(u)
    held, sizes = _yardstick(here, pull)
    cost = _cost(here, u, ends, held, sizes)[0]
    for step in range(most):
        tried, promised = _candidates(here, slopes, u, damping, np.clip(u, *ends), held)
        if failed and promised.max() < enough * cost:
            break
        costs = _cost(problem.residual(tried), tried, ends, held, sizes)
        replays += len(tried) + len(u) + 1
        best = int(costs.argmin())
        if on_step is not None:
            on_step(step, float(min(costs[best], cost)))
        gain = (cost - costs[best]) / cost
        failed = gain <= 0.0
        if failed:
            damping *= _DAMPINGS[-1] * 10.0
            if damping > _MOST:
                break
            continue
        u, cost = tried[best], float(costs[best])
        damping = float(np.clip(damping * _DAMPINGS[best], _LEAST, _MOST))
        if gain < enough:
            break
        here, slopes = problem.jacobian(u)
        held, sizes = _yardstick(here, pull)
        cost = _cost(here, u, ends, held, sizes)[0]
    return Descent(u=u, cost=float(cost), steps=step + 1, replays=replays)


def _candidates(
    here: Residual,
    slopes: np.ndarray,
    u: np.ndarray,
    damping: float,
    centre: np.ndarray,
    pull: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """(k, d) points that several dampings lead to, inside the bounds, and (k,) what they promise.

    A promise is how far the cost would fall if readings answered in proportion.
    """
    r = here.values[0]
    w = weights(here)[0] / len(r)
    square = (slopes * w[:, None]).T @ slopes + np.diag(pull)
    slope = slopes.T @ (w * r) + pull * (u - centre)
    size = np.diag(square) + 1e-12 * np.diag(square).max() + 1e-300
    tried, promised = [], []
    for factor in _DAMPINGS:
        free, step = np.ones(len(u), bool), np.zeros(len(u))
        for _ in range(3):  # a parameter that would leave its bounds stays, and the rest adapts
            step = np.zeros(len(u))
            part = np.ix_(free, free)
            damped = square[part] + np.diag(damping * factor * size[free])
            step[free] = -np.linalg.solve(damped, slope[free])
            out = free & (((u <= 0.0) & (step < 0)) | ((u >= 1.0) & (step > 0)))
            if not out.any():
                break
            free &= ~out
        tried.append(np.clip(u + np.clip(step, -_FURTHEST, _FURTHEST), 0.0, 1.0))
        moved = tried[-1] - u
        promised.append(-moved @ (2.0 * slope + square @ moved))
    return np.array(tried), np.array(promised)


def _yardstick(
    here: Residual, pull: np.ndarray | Callable[[Residual], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """(d,) how strongly belief holds, and (columns,) what size is usual, both at one point."""
    return pull(here) if callable(pull) else pull, usual_size(here)[0]


def usual_size(residual: Residual) -> np.ndarray:
    """(p, columns) the size of a typical residual of each column: robust against a few large.

    Typical is what is left while a joint moves. At rest there is next to nothing to leave, and a
    joint that rests for most of the time would make every motion of its own an outlier.
    """
    kinds = int(residual.column.max()) + 1
    moves = np.ones(len(residual.column), bool) if residual.moves is None else residual.moves
    sizes = [
        np.median(np.abs(residual.values[:, moves & (residual.column == c)]), axis=1)
        for c in range(kinds)
    ]
    return 1.4826 * np.stack(sizes, axis=1) + 1e-12


def weights(residual: Residual) -> np.ndarray:
    """(p, N) of each reading, less where it lies far outside: Cauchy's."""
    far = residual.values / (_ROBUST * usual_size(residual)[:, residual.column])
    return 1.0 / (1.0 + far**2)


def _cost(
    residual: Residual, u: np.ndarray, ends: np.ndarray, pull: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """(p,) mean square, large ones counting by their logarithm, and what belief adds.

    What is large is judged by the usual `sizes` (columns,) at the point that a step is made from,
    for it and for all that are tried: else a point looks worse for another yardstick alone.
    """
    limit = _ROBUST * np.maximum(sizes, 1e-12)[residual.column]
    inside = np.log1p((residual.values / limit) ** 2) * limit**2
    u = np.atleast_2d(u)
    return inside.mean(axis=1) + (pull * (u - np.clip(u, *ends)) ** 2).sum(axis=1)
