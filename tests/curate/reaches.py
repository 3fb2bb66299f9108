"""Episodes that need no physics: a smooth reach of two joints, followed with a lag."""

from __future__ import annotations

import numpy as np

from trueup.episodes import Channel, Episode, Outcome

NAMES = ("shoulder", "elbow")
PERIOD_S = 0.04


def reach(
    seed: int,
    *,
    frames: int | None = None,
    noise: float = 1e-3,
    unit: str = "rad",
    outcome: Outcome | None = Outcome.SUCCESS,
    names: tuple[str, ...] = NAMES,
) -> Episode:
    """From home to somewhere, then a rest; joints follow by first order with a little noise."""
    rng = np.random.default_rng(seed)
    frames = frames or int(rng.integers(50, 90))
    goal, share = rng.uniform(0.5, 1.5, len(names)), np.linspace(-0.1, 1.3, frames).clip(0, 1)
    ease = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    told = ease[:, None] * goal
    seen = np.zeros_like(told)
    for k in range(1, frames):
        seen[k] = seen[k - 1] + 0.35 * (told[k - 1] - seen[k - 1])
    seen = seen + rng.normal(0.0, noise, seen.shape)
    time_s = PERIOD_S * np.arange(frames)
    current = np.abs(told - seen) + rng.gamma(4.0, 0.02, seen.shape)

    def channel(values: np.ndarray, of: str) -> Channel:
        return Channel(values=values, time_s=time_s, unit=of, names=names)

    return Episode(
        signals={
            "command": channel(told, unit),
            "joint_position": channel(seen, unit),
            "current": channel(current, "A"),
        },
        period_s=PERIOD_S,
        task="reach",
        outcome=outcome,
    )


def reaches(n: int, *, seed: int = 0, **how) -> list[Episode]:
    return [reach(10_000 * seed + i, **how) for i in range(n)]
