"""Evaluations with a planted outcome, for tests of what is read from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueup.evaluate import Evaluation, trials
from trueup.space import Parameter, Points, Space

DELAY = Parameter(name="latency/delay", unit="s", nominal=0.0, low=0.0, high=0.08)
MASS = Parameter(name="object/cube/mass", unit="kg", nominal=0.05, low=0.02, high=0.08)


def idle(k: int) -> tuple[Parameter, ...]:
    """Parameters that nothing depends on."""
    return tuple(
        Parameter(name=f"contact/pad/p{i}", unit="1", nominal=1.0, low=0.5, high=2.0)
        for i in range(k)
    )


SPACE = Space((DELAY, MASS, *idle(10)))


def outcome(points: Points, seeds: np.ndarray, success: np.ndarray) -> Evaluation:
    """An evaluation in which exactly these episodes succeeded and the others ran out of time."""
    n = len(points)
    return Evaluation(
        world="test/planted",
        points=points,
        seeds=seeds,
        success=success,
        failure=np.zeros(n, bool),
        timeout=~success,
        diverged=np.zeros(n, bool),
        return_=success.astype(float),
        time_s=np.where(success, 1.0, np.nan),
        steps=np.full(n, 50),
    )


def planted(
    chance: Callable[[Points], np.ndarray], n: int, seed: int = 0, space: Space = SPACE
) -> Evaluation:
    """Episodes that succeed with a chance that depends on their point."""
    points, seeds = trials(space, n, seed)
    luck = np.random.default_rng([seed, 9]).random(n)
    return outcome(points, seeds, luck < np.broadcast_to(chance(points), n))
