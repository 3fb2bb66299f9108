"""Spaces of any size, and policies that fail beyond a known edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trueup.randomize import Plan
from trueup.space import Parameter, Space, Uniform

Policy = Callable[[np.ndarray], np.ndarray]


def name(i: int) -> str:
    return f"actuation/joint_{i}/gain"


def space_of(k: int, *, one_sided: int = 0) -> Space:
    """`k` parameters in -1 … 1, usually in ± 0.5; the last ones in 0 … 1, usually below 0.5."""
    return Space(
        tuple(
            Parameter(name=name(i), unit="1", nominal=0.0, low=low, high=1.0, prior=prior)
            for i in range(k)
            for low, prior in [(-1.0, Uniform(-0.5, 0.5)) if i < k - one_sided else (0.0, HALF)]
        )
    )


HALF = Uniform(0.0, 0.5)


def failing_beyond(
    edges: Mapping[int, float], generator: np.random.Generator, *, skill: float = 0.97
) -> Policy:
    """Succeeds with `skill`, but never where column i is beyond its edge on either side."""

    def policy(points: np.ndarray) -> np.ndarray:
        good = generator.random(len(points)) < skill
        for column, edge in edges.items():
            good &= np.abs(points[:, column]) <= edge
        return good

    return policy


def trained(
    plan: Plan, policy: Policy, generator: np.random.Generator, *, episodes: int, worlds: int = 128
) -> None:
    """Run a curriculum as a trainer does: many worlds, whose episodes end in any order."""
    running = plan.draw(generator, worlds).values.astype(np.float32)
    for _ in range(episodes // 32):
        over = generator.permutation(worlds)[:32]
        plan.learn(running[over], policy(running[over]))
        running[over] = plan.draw(generator, 32).values
