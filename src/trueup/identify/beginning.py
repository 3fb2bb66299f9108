"""Where a fit with one effect more begins: where it stood, or nearer to nominal.

Numbers that were fitted without an effect stand for it: servos that gears hold back look soft. With
the effect among them the fit would have to find all the way back, across a ridge. So some ways back
are looked at first, and each joint begins where it is clearly less off.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from trueup.episodes.episode import JOINTS
from trueup.identify.problem import Problem

_CLEARLY = 0.7  # of the power that is left where the fit stood
_BACK = (0.0, 0.5, 1.0)  # of the way to nominal
_MUCH = (0.1, 0.2, 0.35, 0.5, 0.7)  # of its range: how much there may be of an effect


def best_start(problem: Problem, start: np.ndarray, added: Collection[str]) -> np.ndarray:
    """(d,) where to begin, of some ways back from a start.

    Args:
        problem: With the effect.
        start: (d,) where the fit stood without, and what the effect is thought to be.
        added: Parameters of the effect.
    """
    ways = _ways(problem, start, added)
    power = _power(problem, ways)
    whole = ways[_least(power.mean(axis=1))]
    found = whole.copy()
    for c, column in enumerate(problem.columns):
        signal, joint = column.split("/", 1)
        if signal == JOINTS:
            own = [i for i, p in enumerate(problem.space) if p.name.split("/")[1] == joint]
            found[own] = ways[_least(power[:, c])][own]
    ends = np.stack([start, whole, found])
    return ends[_power(problem, ends).mean(axis=1).argmin()]


def _least(power: np.ndarray) -> int:
    """Which of some points is the best; the first, unless another is so clearly."""
    k = int(power.argmin())
    return k if power[k] < _CLEARLY * power[0] else 0


def _ways(problem: Problem, start: np.ndarray, added: Collection[str]) -> np.ndarray:
    """(k, d) the start first."""
    space = problem.space
    nominal = space.encode(space.points(space.nominal()))[0]
    new = np.array([p.name in added for p in space])
    servo = np.array([p.gap.value == "actuation" for p in space]) & ~new
    much = np.array([p.name in added and p.nominal <= p.low for p in space])
    found = [start]
    for back in _BACK:
        for share in _MUCH:
            way = np.where(servo, start + back * (nominal - start), start)
            found.append(np.where(much, share, way))
    return np.array(found)


def _power(problem: Problem, u: np.ndarray) -> np.ndarray:
    """(k, columns) what is left of each, every one in units of what the first point leaves."""
    here = problem.residual(u)
    power = np.array([np.bincount(here.column, row**2) for row in here.values])
    return power / np.maximum(power[0], 1e-18)
