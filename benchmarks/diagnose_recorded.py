"""Hidden realities, diagnosed from what the loop records and identifies itself.

The row `diagnose` takes identification as if it were without error. Here nothing is given: a
rehearsal robot hides its truth in a process of its own, the policy is tried on it, the plan says
what to record, the recordings are identified, and trials and estimates are diagnosed together. A
reality is bent in one gap, in two, or by something outside the space. Truth is what the hidden
values cost. Realities are those of the row `diagnose`, in the same folder; what is done is kept,
and `--seeds` takes only some numbers of each kind. All of it is sim-to-sim.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.diagnose_gaps import COSTLY, joined, played
from benchmarks.learning import source_mark
from benchmarks.measure import Effort, Measure, Target
from benchmarks.outside import KINDS
from trueup.diagnose import UNEXPLAINED, Bank, GapReport
from trueup.diagnose.planted import GAPS
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.loop import Job, Settings
from trueup.loop.stages import identifying, reading, recording, training, trying
from trueup.worlds import get

_EACH = 15
_PAIRS = 4  # realities of two gaps for one of each gap
_SLACK = 0.5  # points by which an interval may miss: what rounding does

KEPT = "diagnose/recorded/*/row.json"
"""Where rows are, below the folder of all numbers."""
_LONG = ("departures", "failures", "sentences", "notes")  # of a report, for its readers
_MADE = ("enough", "outside", "drawn")  # of how it was made

Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    out = effort.out / "diagnose"
    first = job_of(out / "recorded" / "start", "", effort)
    training.start(first)
    bank = _bank(first, out)
    world, policy = get(effort.world), first.policy("train/policy")
    rows = []
    for kind, number in wanted(effort):
        truth = played(world, policy, bank.nominal, (kind, number), effort.out)
        if truth is not None:
            rows.append(_row(f"{prefix(effort)}{kind}-{number:03d}", truth, effort))
    return judgement(rows)


def prefix(effort: Effort) -> str:
    """Of a robot's name: its world, where that is not the usual one."""
    return "" if effort.world == Effort.world else f"{effort.world.rpartition('/')[2]}-"


def wanted(effort: Effort) -> list[tuple[str, int]]:
    """Kinds and numbers of realities: any first part is a fair sample."""
    found: list[tuple[str, int]] = []
    for number in effort.robots(_EACH, 1):
        found += [(gap, number) for gap in GAPS if gap in (*COSTLY[effort.world], *effort.kinds)]
        found += [("two", _PAIRS * number + k) for k in range(_PAIRS)]
        found += [(kind, number) for kind in KINDS]
    return [job for job in found if not effort.kinds or job[0] in effort.kinds]


def job_of(folder: Path, robot: str, effort: Effort) -> Job:
    policy = "" if effort.policy == "script" else effort.policy
    settings = Settings(world=effort.world, policy=policy)
    settings = replace(settings, robot=robot or settings.robot)
    cache = effort.out / "loop" / "policies"
    return Job(folder=folder, settings=settings, cache=cache, threads=effort.threads)


def _bank(job: Job, out: Path) -> Bank:
    """The bank of the row `diagnose` where there is one; else as the loop makes it."""
    files = sorted(out.glob("bank*.npz"))
    if not files:
        reading.bank(job)
        return Bank.load(job.path(reading.BANK))
    bank = joined([Bank.load(file) for file in files])
    mark = reading.mark_of(job.policy("train/policy"))
    if bank.policy not in ("", mark):  # that row does not mark its own
        raise TrueupError(
            f"{files[0]} is the bank of another policy.", fix="Name its policy with --policy."
        )
    job.path(reading.BANK).parent.mkdir(parents=True, exist_ok=True)
    bank = replace(bank, policy=mark)
    bank.save(job.path(reading.BANK))
    return bank


def _row(name: str, truth: Row, effort: Effort) -> Row:
    """One reality through the stages of the loop up to the diagnosis; read where it was done."""
    folder = effort.out / "diagnose" / "recorded" / name
    kept = folder / "row.json"
    if not kept.exists():
        file = folder / "reality.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(truth["file"]) + "\n", encoding="utf-8")
        print(f"{name} ...", file=sys.stderr, flush=True)
        found = _diagnosed(job_of(folder, f"rehearsal:{file}@{effort.world}", effort), effort)
        found |= {"name": name, "source": source_mark(), "true": _true(truth)}
        with whole(kept) as partial:
            partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {found['told']}", file=sys.stderr, flush=True)
    return json.loads(kept.read_text(encoding="utf-8"))


def _true(truth: Row) -> dict[str, float]:
    """What each bent gap, or what is outside of all, truly costs, in points."""
    lost = truth["simulated"] - truth["measured"]
    shares = truth["shares"] or {UNEXPLAINED: lost}
    return {gap: 100.0 * share for gap, share in shares.items()}


def _diagnosed(job: Job, effort: Effort) -> Row:
    """What trials alone say, what recordings add to it, and the seconds of each stage."""
    start = effort.out / "diagnose" / "recorded" / "start"
    for folder in ("train", Path(reading.BANK).parent):
        shutil.copytree(start / folder, job.path(str(folder)), dirs_exist_ok=True)
    began, seconds, told = perf_counter(), {}, {}
    for name, stage in _STAGES.items():
        try:
            told[name] = stage(job)
        except TrueupError as error:  # an arm too weak for any motion: trials are all there is
            told[name] = error.what
            break
        finally:
            seconds[name], began = perf_counter() - began, perf_counter()
    seconds = dict.fromkeys(_STAGES, 0.0) | seconds
    look = GapReport.load(job.path("look/gaps.json")).to_json()
    last = job.path("diagnose/gaps.json")
    reports = {"look": look, "diagnose": GapReport.load(last).to_json() if last.exists() else look}
    return {"told": told, "seconds": seconds, "reports": reports}


def _tried(job: Job) -> str:
    """Trials that begin otherwise for every robot, lest all share the luck of the same starts."""
    own = replace(job.settings, seed=int.from_bytes(job.folder.name.encode()) % 2**31)
    trials = replace(job, settings=own)
    return trying.told(trying.tried(trials, "train/policy", "before", check=False))


_STAGES = {
    "before": _tried,
    "look": reading.look,
    "plan": recording.plan,
    "record": recording.record,
    "identify": identifying.identified,
    "diagnose": reading.diagnosed,
}


# Judging ------------------------------------------------------------------------------------------


def slim(row: Row) -> Row:
    """A row as it is kept with the code: shares, their intervals, and what those were made of."""
    empty = {name: {} if name == "failures" else [] for name in _LONG}
    reports = {
        depth: {**r, **empty, "made": {k: v for k, v in r["made"].items() if k in _MADE}}
        for depth, r in row["reports"].items()
    }
    return {**{k: v for k, v in row.items() if k != "told"}, "reports": reports}


def judgement(rows: Sequence[Row]) -> list[Measure]:
    """Lines of the table."""
    every = [row["seconds"]["diagnose"] for row in rows]
    minutes = [sum(row["seconds"].values()) for row in rows]
    return [
        *accuracy(rows),
        Measure.of("one diagnosis, its bank made before", every, unit="s"),
        Measure.of(
            "trials, plan, recording, identifying and diagnosis together", minutes, unit="s"
        ),
    ]


def accuracy(rows: Sequence[Row]) -> list[Measure]:
    """How often it is right, at both depths."""
    depths = (
        ("look", "from trials alone", 80.0),
        ("diagnose", "with what was recorded and identified", 95.0),
    )
    return [line for depth, words, first in depths for line in _depth(rows, depth, words, first)]


def _depth(rows: Sequence[Row], depth: str, words: str, first: float) -> list[Measure]:
    told = [(row["true"], GapReport.from_json(row["reports"][depth])) for row in rows]
    one = [(true, r) for true, r in told if len(true) == 1 and UNEXPLAINED not in true]
    two = [(true, r) for true, r in told if len(true) == 2]
    odd = [(true, r) for true, r in told if UNEXPLAINED in true]
    inside = (*one, *two)
    right = [_first(r) in true for true, r in one]
    each = {g: [_first(r) == g for true, r in one if g in true] for g in GAPS}
    lines: tuple[tuple[str, list[bool], Target, str], ...] = (
        ("cause ranked first, one gap", right, Target(side="≥", value=first), _counted(each)),
        (
            "exact pair found, two gaps",
            [{s.gap for s in r.ranked[:2]} == set(true) for true, r in two],
            Target(side="≥", value=85.0),
            "",
        ),
        (
            "true share of what was bent inside its 90 % interval",
            [ok for true, r in told for ok in _covered(true, r, tuple(true))],
            Target(side="≥", value=85.0),
            "",
        ),
        (
            "true share of any gap and of the rest inside it",
            [ok for true, r in told for ok in _covered(true, r, (*GAPS, UNEXPLAINED))],
            Target(side="≥", value=85.0),
            "",
        ),
        (
            "unexplained ranked first, cause outside",
            [_first(r) == UNEXPLAINED for _, r in odd],
            Target(side="≥", value=85.0),
            "",
        ),
        (
            "unexplained ranked first, cause inside",
            [_first(r) == UNEXPLAINED for _, r in inside],
            Target(side="≤", value=10.0),
            "",
        ),
    )
    return [
        Measure(
            what=f"{what}, {words}",
            value=100.0 * float(np.mean(values)) if values else None,
            unit="%",
            target=target,
            note=note or f"{sum(values)} of {len(values)}",
        )
        for what, values, target, note in lines
    ]


def _first(report: GapReport) -> str:
    return report.ranked[0].gap


def _counted(each: dict[str, list[bool]]) -> str:
    return ", ".join(f"{g} {sum(x)} of {len(x)}" for g, x in each.items() if x)


def _covered(true: dict[str, float], report: GapReport, names: Sequence[str]) -> list[bool]:
    """Of these; others than what was bent cost nothing."""
    return [
        share.low - _SLACK <= true.get(share.gap, 0.0) <= share.high + _SLACK
        for share in map(report.share, names)
    ]
