"""A plan's first item against recordings chosen by lot: success that comes back after retraining.

The robots are those of the row `loop`. On each, the policy is tried and diagnosed from its trials,
and the plan is made. Then two copies of the run go on from there, with as many seconds of
recordings each: one records the first item that a robot can carry out, the other what the lot falls
on, of all that a plan may ask a robot to record, as a team does that has no diagnosis. A third is
given single motions by lot, most of which identify an arm as well as any: it says how much of a
plan is to record at all, and is left out with `--no-controls`. All identify, diagnose, true up and
retrain as the loop does, in fewer steps than it takes. All of it is sim-to-sim. What is done is
kept, so this can be interrupted.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning import source_mark
from benchmarks.loop_closed import ORDER, WORLD, judged, realities
from benchmarks.measure import Effort, Measure, Target
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.loop import Job, Settings
from trueup.loop.stages import identifying, reading, recording, training, trying
from trueup.plan import Costs, Protocol
from trueup.plan.action import actions

_STEPS = 400_000
_BRANCHES = ("plan", "lot", "motions")
_SETS = ("standard", "probes", "joints")  # of motions; the lot of motions draws single ones
_RESAMPLED = 2000
KEPT = "plan/rows/*.json"
"""Where rows are, below the folder of all numbers."""

Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    loop = effort.out / "loop"
    wanted = effort.robots(len(ORDER), 3)
    rows = [
        row(path, effort.out / "plan", loop, threads=effort.threads, motions=effort.controls)
        for path in realities(loop, wanted)
    ]
    return judgement(rows)


def row(path: Path, out: Path, loop: Path, *, threads: int = 0, motions: bool = True) -> Row:
    """All branches on one robot; read where it was done."""
    kept = out / "rows" / path.name
    if not kept.exists():
        found = _followed(path, out, loop, threads, _BRANCHES if motions else _BRANCHES[:2])
        with whole(kept) as partial:
            partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def _followed(path: Path, out: Path, loop: Path, threads: int, branches: Sequence[str]) -> Row:
    tune = replace(Settings().tune, steps=_STEPS)
    settings = Settings(world=WORLD, robot=f"rehearsal:{path}@{WORLD}", tune=tune)
    folder = out / "runs" / path.stem
    base = Job(folder=folder / "base", settings=settings, cache=loop / "policies", threads=threads)
    training.start(base)
    trying.tried(base, "train/policy", "before", check=False)
    for stage in (reading.bank, reading.look, recording.plan):
        stage(base)
    protocol = Protocol.load(base.path("plan/protocol.json"))
    first = next((i for i in protocol.items if i.recordable and not i.work.conditions), None)
    if first is None:
        return {"name": path.stem, "first": ""}
    seconds = _lasting(first.work.motions)
    generator = np.random.default_rng([31, *path.stem.encode()])
    drawn = {"lot": _by_lot(seconds, generator), "motions": _of_single(seconds, generator)}
    found: Row = {"name": path.stem, "source": source_mark(), "first": first.title}
    found |= {"seconds": seconds, "drawn": drawn}
    found["before"] = _won(base, "train", "before")
    for name in branches:
        motions = drawn.get(name, first.work.motions)
        chosen = replace(settings, motions=tuple(motions), seconds=seconds)
        branch = replace(base, folder=folder / name, settings=chosen)
        shutil.copytree(base.folder, branch.folder, dirs_exist_ok=True)
        replace(protocol, items=()).save(branch.path("plan/protocol.json"))
        found[f"{name}_told"] = _gone_on(branch)
        found[name] = _won(branch, "retrain", "after")
    return found


def _lasting(motions: Sequence[str]) -> float:
    costs = Costs.usual()
    return sum(costs.motion_s.get(name, costs.other_motion_s) for name in motions)


def _by_lot(seconds: float, generator: np.random.Generator) -> list[str]:
    """What actions record that a robot carries out alone, in an order by lot, as much as fits."""
    alone = {name: a for name, a in actions().items() if a.motions and not a.conditions}
    chosen: dict[str, None] = {}
    for name in generator.permutation(sorted(alone)).tolist():
        for motion in alone[name].motions:
            if motion not in chosen and _lasting([motion]) <= seconds:
                chosen[motion] = None
                seconds -= _lasting([motion])
    return list(chosen)


def _of_single(seconds: float, generator: np.random.Generator) -> list[str]:
    """Single motions and probes, in an order by lot, as many as fit."""
    lasting = {n: s for n, s in Costs.usual().motion_s.items() if n not in _SETS}
    chosen: list[str] = []
    for name in generator.permutation(sorted(lasting)).tolist():
        if lasting[name] <= seconds:
            chosen.append(name)
            seconds -= lasting[name]
    return chosen


def _gone_on(job: Job) -> dict[str, str]:
    """What each stage said; recordings that tell nothing leave the trials."""
    told = {"record": recording.record(job)}
    try:
        told["identify"] = identifying.identified(job)
    except TrueupError as error:
        told["identify"] = error.what
    for name, stage in (
        ("diagnose", reading.diagnosed),
        ("narrow", identifying.narrowed),
        ("retrain", training.retrain),
    ):
        told[name] = stage(job)
    return told


def _won(job: Job, folder: str, name: str) -> float:
    return float(judged(job, folder, name).mean())


def slim(row: Row) -> Row:
    """A row as it is kept with the code."""
    return row


def judgement(rows: Sequence[Row]) -> list[Measure]:
    """Lines of the table, of robots for which a plan has something to record."""
    rows = [row for row in rows if row["first"]]
    against = {
        "lot": ("recordings by lot", Target(side="≥", value=2.0)),
        "motions": ("single motions by lot", None),
    }
    return [
        _against(some, other, words, target)
        for other, (words, target) in against.items()
        if (some := [row for row in rows if other in row])
    ]


def _against(rows: Sequence[Row], other: str, words: str, target: Target | None) -> Measure:
    before, plan, lot = (np.array([row[n] for row in rows]) for n in ("before", "plan", other))
    ratio = (plan - before).mean() / (lot - before).mean()
    generator = np.random.default_rng(0)
    again = generator.integers(0, len(rows), (_RESAMPLED, len(rows)))
    spread = (plan - before)[again].mean(axis=1) / (lot - before)[again].mean(axis=1)
    low, high = np.quantile(spread, [0.05, 0.95])
    told = f"{len(rows)} realities, sim-to-sim; {100 * before.mean():.0f} % before"
    return Measure(
        what=f"success that the plan's first item brings back, against {words}",
        value=float(ratio),
        unit="×",
        spread=(float(low), float(high)),
        target=target,
        note=f"{told}; {100 * plan.mean():.0f} % against {100 * lot.mean():.0f} % afterwards",
        details={row["name"]: {n: row[n] for n in ("before", "plan", other)} for row in rows},
    )
