"""A policy cloned from 2,000 generated demonstrations, beside its controls.

Controls answer one step at a time, which is plain behaviour cloning, or learn from the world's
script, which follows a plan and shows fewer ways back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.evaluate import evaluate, piloted, trials
from trueup.generate import Order, advisor, generate, scripted
from trueup.policies import Policy
from trueup.space import Space
from trueup.train.imitation import Cloning, Portion, clone
from trueup.worlds import World, get

DEMONSTRATIONS = 2000
_EPISODES = 1000
_TEST = 424_242  # which episodes: none of those that were learned from
_NAMES = {"expert": "of an expert that strays", "script": "of a script"}


@dataclass(frozen=True, kw_only=True)
class Way:
    """How to get a policy.

    Attributes:
        source: Whose demonstrations: `script`, or `expert`.
        chunk: Control steps that it answers ahead.
        targets: Least success in percent, by place.
    """

    source: str = "script"
    chunk: int = Cloning().chunk
    targets: dict[str, float] = field(default_factory=dict)


_WAYS = (
    Way(source="expert", targets={"nominal": 95, "randomized": 85}),
    Way(source="expert", chunk=1),
    Way(source="script"),
    Way(source="script", chunk=1),
)


def measure(effort: Effort) -> list[Measure]:
    world, folder = get("so101/lift"), effort.out / "clone"
    seeds = effort.seeds or (0,)
    count = 200 if effort.quick else DEMONSTRATIONS
    settings = Cloning(confirm_episodes=0, steps=1000 if effort.quick else 10_000)
    measures = []
    for way in _WAYS:
        runs = [made(world, folder, settings, seed, count, way) for seed in seeds]
        found = [_success(world, policy, effort) | {"wall_s": s} for policy, s in runs]
        measures += [_measure(found, way, place, count, seeds) for place in _PLACES]
    return measures


def demonstrations(world: World, folder: Path, count: int, source: str = "script") -> Path:
    """Generated demonstrations, randomized; what is there is not made again."""
    out = folder / ("demonstrations" if source == "script" else f"demonstrations-{source}")
    who = (scripted(world),) if source == "script" else advisor(world)
    generate(Order(world=world, source=who, space=world.space, episodes=count), out, threads=1)
    return out


def made(
    world: World, folder: Path, settings: Cloning, seed: int, count: int, way: Way | None = None
) -> tuple[Policy, float]:
    """A cloned policy and the seconds it took to learn; what is there is not made again."""
    way = way or Way()
    settings = replace(settings, chunk=way.chunk)
    whose = "" if way.source == "script" else f"{way.source}-"
    run = folder / f"{whose}chunk-{settings.chunk}-{count}-{seed}"
    if not (run / "done").is_file():
        dataset = demonstrations(world, folder, count, way.source)
        portion = Portion(dataset=dataset, episodes=tuple(range(count)))
        resume = (run / "checkpoint.pt").is_file()
        clone(world, [portion], replace(settings, seed=seed), run, resume=resume, threads=1)
        (run / "done").touch()
    policy = Policy.load(run / "policy")
    return policy, policy.provenance.wall_s


_PLACES = ("nominal", "randomized")


def _success(world: World, policy: Policy, effort: Effort) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, space in zip(_PLACES, (Space(()), world.space), strict=True):
        points, seeds = trials(space, 200 if effort.quick else _EPISODES, _TEST)
        played = evaluate(world, piloted(policy), points, seeds, batch=256)
        found[name] = 100 * played.success_share
        found[f"{name}_interval"] = played.interval()
    return found


def _measure(
    found: list[dict[str, Any]], way: Way, place: str, count: int, seeds: tuple[int, ...]
) -> Measure:
    answers = f"chunks of {way.chunk}" if way.chunk > 1 else "one step at a time (plain cloning)"
    wall_s = float(np.median([run["wall_s"] for run in found]))
    target = way.targets.get(place)
    intervals = ", ".join("{:.1f} – {:.1f}".format(*_percent(run, place)) for run in found)
    return Measure(
        what=f"success of a policy cloned from {count:,} lift demonstrations {_NAMES[way.source]}, "
        f"{place}, {answers}",
        value=float(np.median([run[place] for run in found])),
        unit="%",
        target=None if target is None else Target(side="≥", value=target),
        note=f"seeds {', '.join(map(str, seeds))}; 95 % intervals {intervals}; learned in "
        f"{wall_s:.0f} s; sim-to-sim",
        details={"runs": found},
    )


def _percent(run: dict[str, Any], place: str) -> tuple[float, float]:
    low, high = run[f"{place}_interval"]
    return 100 * low, 100 * high
