"""A policy cloned from 2,000 generated demonstrations, chunks beside one step at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.evaluate import evaluate, piloted, trials
from trueup.generate import Order, generate, scripted
from trueup.policies import Policy
from trueup.space import Space
from trueup.train.imitation import Cloning, Portion, clone
from trueup.worlds import World, get

DEMONSTRATIONS = 2000
_EPISODES = 2000
_TEST = 424_242  # which episodes: none of those that were learned from


def measure(effort: Effort) -> list[Measure]:
    world, folder = get("so101/lift"), effort.out / "clone"
    seeds = effort.seeds or (0,)
    count = 200 if effort.quick else DEMONSTRATIONS
    found: dict[int, list[dict[str, Any]]] = {}
    for chunk in (Cloning().chunk, 1):
        settings = Cloning(chunk=chunk, confirm_episodes=0, steps=1000 if effort.quick else 10_000)
        runs = [made(world, folder, settings, seed, count) for seed in seeds]
        found[chunk] = [_success(world, policy, effort) | {"wall_s": s} for policy, s in runs]
    return [
        _measure(found, chunk, place, target, count, seeds)
        for chunk, aim in ((Cloning().chunk, True), (1, False))
        for place, target in (("nominal", 95 if aim else None), ("randomized", 85 if aim else None))
    ]


def demonstrations(world: World, folder: Path, count: int) -> Path:
    """Generated demonstrations, randomized; what is there is not made again."""
    out = folder / "demonstrations"
    order = Order(world=world, source=(scripted(world),), space=world.space, episodes=count)
    generate(order, out, threads=1)
    return out


def made(
    world: World, folder: Path, settings: Cloning, seed: int, count: int
) -> tuple[Policy, float]:
    """A cloned policy and the seconds it took to learn; what is there is not made again."""
    run = folder / f"chunk-{settings.chunk}-{count}-{seed}"
    if not (run / "done").is_file():
        portion = Portion(
            dataset=demonstrations(world, folder, count), episodes=tuple(range(count))
        )
        resume = (run / "checkpoint.pt").is_file()
        clone(world, [portion], replace(settings, seed=seed), run, resume=resume, threads=1)
        (run / "done").touch()
    policy = Policy.load(run / "policy")
    return policy, policy.provenance.wall_s


def _success(world: World, policy: Policy, effort: Effort) -> dict[str, float]:
    found = {}
    for name, space in (("nominal", Space(())), ("randomized", world.space)):
        points, seeds = trials(space, 200 if effort.quick else _EPISODES, _TEST)
        played = evaluate(world, piloted(policy), points, seeds, batch=256)
        found[name] = 100 * played.success_share
        found[f"{name}_interval"] = played.interval()
    return found


def _measure(
    found: dict[int, list[dict[str, Any]]],
    chunk: int,
    place: str,
    target: int | None,
    count: int,
    seeds: tuple[int, ...],
) -> Measure:
    shares = [run[place] for run in found[chunk]]
    way = f"chunks of {chunk}" if chunk > 1 else "one step at a time (plain cloning)"
    wall_s = float(np.median([run["wall_s"] for run in found[chunk]]))
    return Measure(
        what=f"success of a policy cloned from {count:,} lift demonstrations, {place}, {way}",
        value=float(np.median(shares)),
        unit="%",
        target=None if target is None else Target(side="≥", value=target),
        note=f"seeds {', '.join(map(str, seeds))}; learned in {wall_s:.0f} s; sim-to-sim",
        details={"runs": found[chunk]},
    )
