"""What the row `diagnose-recorded` recorded and identified, diagnosed again by the code of today.

Recording and identifying a robot takes minutes, diagnosing it one. Here nothing is recorded: the
trials, recordings and estimates of that row are read again, at both depths, against as many bent
worlds as `trueup diagnose` makes. The plan was made before, by whatever code recorded the robot,
from what the smaller bank of the loop said. All of it is sim-to-sim.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.diagnose_recorded import Row, accuracy, job_of, prefix, slim, wanted
from benchmarks.learning import source_mark
from benchmarks.measure import Effort, Measure
from trueup.diagnose import Bank, Size, built
from trueup.evaluate import piloted
from trueup.files import whole
from trueup.loop import Job
from trueup.loop.estimates import known_of
from trueup.loop.known import Known
from trueup.loop.stages import reading

__all__ = ["KEPT", "judgement", "measure", "slim"]

KEPT = "diagnose/again/*.json"
"""Where rows are, below the folder of all numbers."""


def measure(effort: Effort) -> list[Measure]:
    out = effort.out / "diagnose"
    path = out / "again" / "bank.npz"
    if not path.exists():
        _built(job_of(out / "recorded" / "start", "", effort)).save(path)
    return judgement([_row(name, path, effort) for name in _names(effort)])


def _names(effort: Effort) -> list[str]:
    """Robots that were diagnosed once; of the wanted kinds and numbers, if some were."""
    done = sorted(
        row.parent.name for row in (effort.out / "diagnose" / "recorded").glob("*/row.json")
    )
    if not effort.seeds and not effort.kinds:
        return done
    names = {f"{prefix(effort)}{kind}-{number:03d}" for kind, number in wanted(effort)}
    return [name for name in done if name in names]


def _built(job: Job) -> Bank:
    policy = job.policy("train/policy")
    generator = np.random.default_rng([job.settings.seed, 5])
    print("making the bank ...", file=sys.stderr, flush=True)
    return built(
        job.world,
        piloted(policy),
        job.world.catalogue,
        generator,
        policy=reading.mark_of(policy),
        size=Size(),
        threads=job.threads,
    )


def _row(name: str, bank: Path, effort: Effort) -> Row:
    """One robot at both depths; read where the code of today has diagnosed it."""
    folder, kept = effort.out / "diagnose" / "recorded" / name, bank.parent / f"{name}.json"
    if kept.exists():
        row: Row = json.loads(kept.read_text(encoding="utf-8"))
        if row["source"] == source_mark():
            return row
    before = json.loads((folder / "row.json").read_text(encoding="utf-8"))
    robot = f"rehearsal:{folder / 'reality.json'}@{effort.world}"
    job = job_of(folder, robot, effort)
    identified = job.path("diagnose/gaps.json").exists()
    reports, seconds = {}, {}
    for depth, known in (("look", Known()), ("diagnose", known_of(job))):
        began = perf_counter()
        if depth == "look" or identified:
            reports[depth] = reading.report_of(job, known, bank)
        else:  # nothing could be recorded of it
            reports[depth] = reports["look"]
        seconds[depth] = perf_counter() - began
    row = {
        "name": name,
        "true": before["true"],
        "recorded": before["source"],
        "source": source_mark(),
        "reports": {depth: report.to_json() for depth, report in reports.items()},
        "seconds": seconds,
    }
    with whole(kept) as partial:
        partial.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    print(f"{name}: {reading.blamed(reports['diagnose'])}", file=sys.stderr, flush=True)
    return row


def judgement(rows: list[Row]) -> list[Measure]:
    """Lines of the table."""
    each = [row["seconds"]["diagnose"] for row in rows]
    return [*accuracy(rows), Measure.of("one diagnosis, its bank made before", each, unit="s")]
