"""Automatic against uniform randomization, toward one space of twice the default width.

Both trainings have the same seed, settings, steps and space, and no early stop: for both, the
policy after the last step counts, so that none is chosen among several. Both begin as `trueup
train` does, with the lessons of the world's expert. Uniform draws every point from the whole wide
space, the lessons included. Automatic begins at a quarter of its width and moves the ends of each
range by success. Then both play the same episodes at the same points of that space, compared in
pairs.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.learning import Record, trained
from benchmarks.measure import Effort, Measure, Target
from benchmarks.workload import WORLD
from trueup import worlds
from trueup.evaluate import Comparison, Evaluation, compared, evaluate, piloted, trials
from trueup.policies import Policy
from trueup.randomize import Automatic, FromPrior, Plan
from trueup.space import Space
from trueup.train import Settings

_SEEDS = (0,)
_STEPS = 750_000
_JUDGED, _MORE = 200, 1000  # points: what was decided, and enough to see a small difference
_FRESH = 990_003  # the seed of the trials; no training has it


def widened(space: Space) -> Space:
    """The space with every range twice as wide.

    Each end moves to twice its distance from nominal, in logarithms where the parameter's scale is
    logarithmic, and stops at the parameter's bounds. Points are drawn evenly along that scale.
    """
    return Automatic(space, widest=2.0).full()


def _uniform(space: Space) -> Plan:
    return FromPrior(widened(space))


def _automatic(space: Space) -> Plan:
    return Automatic(widened(space))


def measure(effort: Effort) -> list[Measure]:
    return [line for seed in effort.seeds or _SEEDS for line in _lines(seed, effort)]


def _lines(seed: int, effort: Effort) -> list[Measure]:
    settings = _settings(seed, int(effort.steps or _STEPS))
    records: dict[str, Record] = {}
    for name, plan_of in (("automatic", _automatic), ("uniform", _uniform)):
        print(f"training {WORLD}, {name}, seed {seed} ...", file=sys.stderr, flush=True)
        folder = effort.out / "curriculum" / f"{name}-{seed}"
        records[name] = trained(folder, WORLD, plan_of, settings)
    n = _JUDGED if effort.quick else _MORE
    played = {name: _played(record, n) for name, record in records.items()}
    few = {name: evaluation.subset(slice(_JUDGED)) for name, evaluation in played.items()}
    judged = _line(few, records, seed, Target(side=">", value=0.0))
    return [judged] if effort.quick else [judged, _line(played, records, seed, None)]


def _settings(seed: int, steps: int) -> Settings:
    """The defaults, but for one look at the end, and no success that is enough."""
    settings = Settings(seed=seed, steps=steps, target=1.0, confirm_episodes=_JUDGED)
    return replace(settings, check_every=settings.updates)


def _played(record: Record, n: int) -> Evaluation:
    world = worlds.get(WORLD)
    points, seeds = trials(widened(world.space), n, _FRESH)
    return evaluate(world, piloted(Policy.load(Path(record.policy))), points, seeds)


def _line(
    played: dict[str, Evaluation], records: dict[str, Record], seed: int, target: Target | None
) -> Measure:
    automatic, uniform = played["automatic"], played["uniform"]
    comparison = compared(automatic, uniform)
    low, high = (100 * end for end in comparison.interval())
    return Measure(
        what="success of automatic less that of uniform randomization, equal steps, "
        f"{comparison.pairs:,} points of twice the default width, {WORLD}, seed {seed}",
        value=100 * comparison.difference,
        unit="points",
        target=target,
        note=f"{automatic.success_share:.1%} against {uniform.success_share:.1%}; 95 % interval of "
        f"the difference {low:+.1f} to {high:+.1f} points; {_verdict(comparison)}; "
        f"{records['automatic'].steps:,} steps each",
        details=_details(comparison, records),
    )


def _verdict(comparison: Comparison) -> str:
    apart = "they differ" if comparison.told_apart else "they cannot be told apart"
    return f"{comparison.only_a} pairs won, {comparison.only_b} lost: {apart}"


def _details(comparison: Comparison, records: dict[str, Record]) -> dict[str, Any]:
    return {
        "pairs": asdict(comparison),
        "interval_95": comparison.interval(),
        "p_value": comparison.p_value,
        "still_needed": comparison.still_needed,
        "records": {name: asdict(record) for name, record in records.items()},
    }
