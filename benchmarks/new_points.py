"""Drawing and writing new points, as a share of the episode that they are for.

Two equal batches: one plays an episode, and after every few of its steps the other gets new points
in all its worlds.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mujoco.batch import Batch

from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import Commands, randomized, spaces
from trueup.space import Space
from trueup.streams import seeds_from

_STEPS_PER_TURN = 10


def measure(effort: Effort) -> list[Measure]:
    return [_line("default space", spaces()["default space"], effort)]


def _line(name: str, space: Space, effort: Effort) -> Measure:
    n = 4 * effort.worlds
    playing, renewed = randomized(space, n), randomized(space, n)
    generator, commands, turns = np.random.default_rng(3), Commands(playing), Turns()
    steps = round(playing.world.episode_s / playing.world.control_period_s)
    inside: dict[str, list[float]] = defaultdict(list)
    for turn in range(effort.turns(steps // _STEPS_PER_TURN)):
        with turns.of("episode"):
            for k in range(_STEPS_PER_TURN):
                playing.step(commands(turn * _STEPS_PER_TURN + k))
        with timed_calls("set_const", "forward") as spent:
            with turns.of("sample"):
                points, seeds = space.sample(generator, n), seeds_from(generator, n)
            with turns.of("reset"):
                renewed.reset(points, seeds)
        for call in ("set_const", "forward"):
            inside[call].append(spent[call])
        turns.end()
    episode = turns.seconds("episode") * steps / _STEPS_PER_TURN
    sample, reset = turns.seconds("sample"), turns.seconds("reset")
    set_const, settle = np.array(inside["set_const"]), np.array(inside["forward"])
    parts = {
        "sample": sample,
        "set_const": set_const,
        "settle": settle,
        "check, write, start filters": reset - set_const - settle,
    }
    shares = {part: 100.0 * float(np.median(s / episode)) for part, s in parts.items()}
    total = float(np.median(sample + reset))
    return Measure.of(
        f"new points for {n:,} worlds, as a share of their episode, {name}",
        100.0 * (sample + reset) / episode,
        unit="%",
        target=Target(side="<", value=5.0),
        note=f"{total:.2f} s: "
        + ", ".join(f"{part} {share:.2g} %" for part, share in shares.items()),
        details={
            "worlds": n,
            "episode_s": float(np.median(episode)),
            "new_points_s": total,
            "parts_s": {part: float(np.median(s)) for part, s in parts.items()},
        },
    )


@contextmanager
def timed_calls(*names: str) -> Iterator[dict[str, float]]:
    """Seconds spent in some methods of `mujoco.batch.Batch`, whoever calls them."""
    spent: dict[str, float] = dict.fromkeys(names, 0.0)
    kept = {name: getattr(Batch, name) for name in names}

    def wrapped(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return kept[name](*args, **options)
            finally:
                spent[name] += time.perf_counter() - start

        return call

    for name in names:
        setattr(Batch, name, wrapped(name))
    try:
        yield spent
    finally:
        for name, method in kept.items():
            setattr(Batch, name, method)
