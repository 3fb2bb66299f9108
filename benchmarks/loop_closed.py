"""The loop closed on many rehearsal robots: success before and after one turn, beside controls.

Every robot hides its truth in a process of its own; all of it is sim-to-sim. Realities are drawn
until the starting policy succeeds in 20 to 60 % of trials there, so that there is something to win.
Runs are kept in a folder and gone on with, so this can be interrupted at any moment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.learning import source_mark
from benchmarks.measure import Effort, Measure, Target
from benchmarks.outside import KINDS, effect_of
from benchmarks.realities import bend, file_of, tried, weakened
from trueup.deploy import Series, attempt
from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.hardware import open_robot
from trueup.hardware.reality import reality_from
from trueup.loop import Job, Settings, run
from trueup.loop.stages.controlling import CONTROLS
from trueup.loop.stages.recording import DATA
from trueup.loop.stages.training import start
from trueup.policies import Policy
from trueup.streams import seeds_from
from trueup.worlds import get

WORLD = "so101/lift"
_GAPS = ("contact", "visual", "sensing", "object", "actuation", "latency")
_TEN = ("bent", "mixed", "bent", "strange", "bent", "mixed", "bullet", "bent", "strange", "bent")
ORDER = 2 * _TEN
"""Kinds of robots, any first part of which is a fair sample: bent in two gaps; in two gaps and by
an effect outside the space; by such an effect alone; in two gaps and with the other engine."""
_HARD, _EASY = 0.2, 0.6
_DRAWN, _CONFIRMED = 40, 160  # trials that say whether a reality is hard enough, and once more
_JUDGED = 100  # trials on the robot that judge, beside the few that the loop may use
_RESAMPLED = 4000
KEPT = "loop/rows/*.json"
"""Where rows are, below the folder of all numbers."""

Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    out, wanted = effort.out / "loop", effort.robots(len(ORDER), 3)
    told = {"threads": effort.threads, "controls": effort.controls}
    return judgement([r for path in realities(out, wanted) if (r := _let(path, out, **told))])


def _let(path: Path, out: Path, **told: Any) -> Row | None:
    """The row of a robot; none where preflight refuses it, as it should: nothing can be tried."""
    try:
        return row(path, out, **told)
    except TrueupError as error:
        tried_at = out / "runs" / path.stem / "before"
        if (tried_at / "result.json").exists() or not (tried_at / "preflight.json").exists():
            raise
        print(f"{path.stem} was left out: {error.what}", file=sys.stderr, flush=True)
        return None


def realities(out: Path, wanted: Iterable[int]) -> Iterator[Path]:
    """Reality files that cost enough and not all; drawn once, and kept."""
    first = Job(folder=out / "start", settings=Settings(world=WORLD), cache=out / "policies")
    start(first)
    policy = first.policy("train/policy")
    for k in wanted:
        kind = ORDER[k % len(ORDER)]
        path = out / "realities" / f"{k:02d}-{kind}.json"
        generator = np.random.default_rng([7, k])
        while not path.exists():
            file = _drawn(kind, policy, generator)
            if file is not None:
                with whole(path) as partial:
                    partial.write_text(json.dumps(file, indent=1) + "\n", encoding="utf-8")
        yield path


def _drawn(kind: str, policy: Policy, generator: np.random.Generator) -> dict[str, Any] | None:
    """A reality in which the policy fails often and not always; None where this one is no such.

    Bends that cost all of it are weakened, three times at most.
    """
    values: dict[str, float] = {}
    beyond: list[dict[str, Any]] = []
    if kind != "strange":
        gaps = [str(gap) for gap in generator.choice(_GAPS, 2, replace=False)]
        values = bend(get(WORLD), gaps, generator)
    if kind in ("strange", "mixed"):
        beyond.append(effect_of(str(generator.choice(KINDS)), generator))
    engine = {"engine": "bullet"} if kind == "bullet" else {}
    for strength in (1.0, 0.75, 0.55, 0.4) if values else (1.0,):
        weaker = weakened(get(WORLD).catalogue, values, strength)
        file = {**file_of(get(WORLD), weaker, beyond), **engine}
        try:
            share = won(policy, file, seeds_from(generator, _DRAWN))
        except TrueupError:  # the other engine has no such effect
            return None
        if share >= _HARD:
            again = won(policy, file, seeds_from(generator, _CONFIRMED)) if share <= _EASY else 1.0
            return file if _HARD <= again <= _EASY else None
    return None


def won(policy: Policy, file: Mapping[str, Any], seeds: np.ndarray) -> float:
    """Share of trials in a reality that succeed."""
    world = get(WORLD)
    if file.get("engine") != "bullet":
        return float(tried(world, policy, reality_from(file), seeds).success.mean())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reality.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        address = f"rehearsal:{path}@{WORLD}"
        series = Series(trials=len(seeds), seed=int(seeds[0]), address=address)
        with open_robot(address, cells=len(seeds)) as robot:
            robot.enable()
            return float(attempt(policy, robot, world, series, Path(folder) / "t").success.mean())


def row(path: Path, out: Path, *, threads: int = 0, controls: bool = True) -> Row:
    """One turn of the loop, judged by trials that it has not seen; kept.

    A turn that was kept without its controls is not done again, but they are where they are wanted.
    """
    kept = out / "rows" / path.name
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None
    if found is None or (controls and not set(CONTROLS) <= set(found["won"])):
        found = _turn(path, out, threads, controls)
        with whole(kept) as partial:
            partial.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


def _turn(path: Path, out: Path, threads: int, controls: bool) -> Row:
    settings = Settings(
        world=WORLD, robot=f"rehearsal:{path}@{WORLD}", controls=controls, insist=True, films=0
    )
    job = Job(
        folder=out / "runs" / path.stem,
        settings=settings,
        cache=out / "policies",
        threads=threads,
    )
    result = run(job)
    names = {"before": "train", "after": "retrain"}
    names |= {control: f"controls/{control}" for control in (CONTROLS if controls else ())}
    won = {name: judged(job, folder, name) for name, folder in names.items()}
    entries = result.journal.stages
    loop = [e.seconds for name, e in entries.items() if not name.startswith("control")]
    return {
        "name": path.stem,
        "source": source_mark(),
        "won": {name: [bool(w) for w in each] for name, each in won.items()},
        "seconds": sum(loop),
        "recorded_s": sum(e.duration_s for e in Dataset.open(job.path(DATA))),
        "why": str(result.stop.why),
    }


def judged(job: Job, folder: str, name: str) -> np.ndarray:
    """Success of a run's policy in trials that the run has not seen."""
    series = Series(trials=_JUDGED, seed=1000, address=job.settings.robot)
    with job.robot(cells=_JUDGED) as robot:
        robot.enable()
        into = job.path(f"judged/{name}")
        return attempt(job.policy(f"{folder}/policy"), robot, job.world, series, into).success


def slim(row: Row) -> Row:
    """A row as it is kept with the code: how many of the trials were won."""
    won = row["won"]
    if isinstance(won["before"], list):
        won = {name: sum(each) for name, each in won.items()}
    return {**row, "won": won, "trials": _JUDGED}


def judgement(rows: Sequence[Row]) -> list[Measure]:
    """Lines of the table."""
    rows = [slim(row) for row in rows]
    before, after = _won(rows, "before"), _won(rows, "after")
    recovered = (after - before) / np.maximum(1.0 - before, 1e-9)
    seconds = [row["seconds"] for row in rows if "seconds" in row]
    told = f"{len(rows)} realities, {_JUDGED} trials each, sim-to-sim"
    return [
        Measure(
            what="success on the robot after one turn, median",
            value=100 * float(np.median(after)),
            unit="%",
            spread=(100 * float(after.min()), 100 * float(after.max())),
            target=Target(side="≥", value=93.0),
            note=f"{told}; {100 * np.median(before):.0f} % before",
            details={row["name"]: row["won"] for row in rows},
        ),
        Measure(
            what="the worst of them",
            value=100 * float(after.min()),
            unit="%",
            target=Target(side="≥", value=75.0),
            note=rows[int(after.argmin())]["name"],
        ),
        *_beside([row for row in rows if set(CONTROLS) <= set(row["won"])]),
        Measure(
            what="of the success lost, recovered, median",
            value=100 * float(np.median(recovered)),
            unit="%",
            target=Target(side="≥", value=85.0),
            note=f"{100 * (after - before).sum() / (1.0 - before).sum():.0f} % of all together",
        ),
        Measure(
            what="recordings, at most",
            value=max(row["recorded_s"] for row in rows),
            unit="s",
            target=Target(side="≤", value=120.0),
        ),
        Measure(
            what="one turn, its controls not counted, median",
            value=float(np.median(seconds)) if seconds else None,
            unit="s",
            target=Target(side="≤", value=600.0),
            note="starting policy and bank are made by the first",
        ),
    ]


def _won(rows: Sequence[Row], name: str) -> np.ndarray:
    """(n,) shares of success."""
    return np.array([row["won"][name] / row["trials"] for row in rows])


def _beside(rows: Sequence[Row]) -> Iterator[Measure]:
    """Of robots with all controls; and what a loop that mends everything would be ahead."""
    if not rows:
        return
    after, won = _won(rows, "after"), {control: _won(rows, control) for control in CONTROLS}
    best = max(CONTROLS, key=lambda control: won[control].mean())
    yield _ahead(f"points above the control {best}, the best on average", after - won[best], 15.0)
    yield _ahead(f"points that 100 % on every robot would be above {best}", 1.0 - won[best], None)
    each = np.max(list(won.values()), axis=0)
    yield _ahead("points above the best of all, chosen robot by robot", after - each, None)
    for control in CONTROLS:
        if control != best:
            yield _ahead(f"points above the control {control}", after - won[control], None)


def _ahead(what: str, ahead: np.ndarray, least: float | None) -> Measure:
    """Mean of what robots say, and its 95 % interval if other robots had been drawn."""
    again = np.random.default_rng(0).integers(0, len(ahead), (_RESAMPLED, len(ahead)))
    low, high = np.quantile(ahead[again].mean(axis=1), [0.025, 0.975])
    return Measure(
        what=f"{what}, mean",
        value=100 * float(ahead.mean()),
        target=None if least is None else Target(side="≥", value=least),
        note=f"95 % interval {100 * low:.1f} to {100 * high:.1f}, {len(ahead)} robots drawn again",
    )
