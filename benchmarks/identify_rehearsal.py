"""Hidden robots, identified: how close, how fast, and whether the intervals can be believed.

Truth is known, so that every claim of an estimate is held against it; all of it is sim-to-sim. What
data can tell at all is computed at the true point, from the slopes of the readings there. Robots
that were judged are kept in a folder and not judged again, so this can be interrupted. Joint
positions tell only the sum of delays: how well each is told is asked of robots whose joint forces
are read, too, without a delay of their own.

`python -m benchmarks.identify_rehearsal FOLDER PART OF SECONDS` judges one part of all robots in
one thread, and begins with no other after so many seconds: many such processes share the work.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import trueup
from benchmarks.hidden_robots import WORLD, HiddenRobot, fitted_space, hidden_robot, recorded
from benchmarks.measure import Effort, Measure, Target
from trueup.files import whole
from trueup.identify import Estimate, identify
from trueup.identify.estimate import PINNED
from trueup.identify.posterior import prior_spread, true_covariance
from trueup.identify.problem import Problem
from trueup.identify.usable import usable
from trueup.space import Space
from trueup.worlds import get

_ROBOTS, _FEW, _FORCED = 100, 8, 16
_FORCE = ("joint_position", "joint_force")
_FORCE_NOISE = {"sensing/current/noise": 0.02}  # N·m: two counts of the servo's current
_FLAGGED = 0.8  # of the prior's spread: from here on an estimate says that it cannot tell
_SURELY, _HARDLY = 0.9, 0.7  # the same at the truth: must be said, and must not be said
_SAME = 0.7  # cosine from which on two directions are one
_ROOMS = ("effects", "identify", "replay", "simulate", "space", "worlds")
_BESIDE = ("scripted", "probing", "residual", "design")  # in those, what no fit passes through
_DELAYS = ("latency/action_delay", "latency/encoder_delay")
_CLOSE = Target(side="≤", value=2.0)

Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    n, folder = _FEW if effort.quick else _ROBOTS, effort.out / "identify-rehearsal"
    rows = [_row("clean", k, folder) for k in range(n)]
    odd = [_row("beyond", k, folder) for k in range(n // 2)]
    forced = [_row("force", k, folder) for k in range(min(n, _FORCED))]
    lines = [*_accuracy(rows), *_late(rows), *_apart(forced)]
    return [*lines, *_honesty(rows), *_unmodelled(rows, odd)]


def part(folder: Path, number: int, of: int, seconds: float) -> None:
    """One part of the robots, in one thread, as many as there is time for."""
    began = perf_counter()
    jobs = [("clean", k) for k in range(_ROBOTS)]
    jobs += [("force", k) for k in range(_FORCED)] + [("beyond", k) for k in range(_ROBOTS // 2)]
    for kind, k in jobs[number::of]:
        if perf_counter() - began < seconds:
            _row(kind, k, folder, threads=1)


def identify_mark() -> str:
    """A short mark of the code that identifies, so that rows of other code can be told.

    It covers the rooms that a fit passes through; those that come after do not change it.
    """
    root = Path(trueup.__file__).parent
    mark = hashlib.sha256()
    for room in _ROOMS:
        found = root / room
        for path in sorted(found.rglob("*.py")):
            inside = path.relative_to(found).parts
            if not inside[0].startswith(_BESIDE):
                mark.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return mark.hexdigest()[:12]


def _row(kind: str, number: int, folder: Path, threads: int = 0) -> Row:
    """What came of one robot; read where it was judged before by the same code."""
    file = folder / f"{kind}-{number:03d}.json"
    if file.exists():
        row = json.loads(file.read_text(encoding="utf-8"))
        if row["source"] == identify_mark():
            return row
    space = fitted_space(get(WORLD))
    robot = hidden_robot(space, number, beyond=kind == "beyond")
    if kind == "force":
        robot = replace(robot, read=_FORCE_NOISE)
    made = {"source": identify_mark(), "robot": number, "threads": threads}
    row = {**made, **_judged(robot, space, threads)}
    with whole(file) as partial:
        partial.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    print(f"{kind} robot {number}: {row['seconds']:.0f} s", file=sys.stderr, flush=True)
    return row


def _judged(robot: HiddenRobot, space: Space, threads: int) -> Row:
    world, episodes = get(WORLD), recorded(robot)
    began = perf_counter()
    signals = _FORCE if robot.read else _FORCE[:1]
    estimate = identify(
        world, episodes, space, signals=signals, check=not robot.read, threads=threads
    )
    row: Row = {
        "seconds": perf_counter() - began,
        "recorded_s": sum(episode.duration_s for episode in episodes),
        "unmodelled": _said_unmodelled(estimate),
        "made": dict(estimate.made),
    }
    if robot.beyond:
        return row
    findings = {finding.name: finding for finding in estimate.findings}
    row["parameters"] = {
        name: {
            "truth": truth,
            "value": findings[name].value,
            "covered": findings[name].low <= truth <= findings[name].high,
            "left": findings[name].left,
        }
        for name, truth in robot.truth.items()
    }
    if robot.read:
        return row
    problem = Problem(world, usable(episodes).fitted, space, threads=threads)
    at = space.encode(space.point(robot.truth))[0]
    return {**row, **_directions(space, estimate, true_covariance(problem, at))}


def _said_unmodelled(estimate: Estimate) -> bool | None:
    """Whether the estimate says that something is missing; none where nobody looked for it."""
    return None if estimate.check is None else not estimate.check.inside


def _directions(space: Space, estimate: Estimate, true: np.ndarray) -> Row:
    """What cannot be told, as the truth has it and as the estimate says it."""
    spread = prior_spread(space)
    widths = [np.log(p.high / p.low) if p.scale == "log" else p.high - p.low for p in space]
    size = spread * np.array(widths)
    told = np.array(estimate.belief.covariance) / np.outer(size, size)
    true = true / np.outer(spread, spread)
    flagged = _axes(told, _FLAGGED)
    missed = [v for v in _axes(true, _SURELY) if np.linalg.norm(flagged @ v) < _SAME]
    false = [v for v in flagged if np.sqrt(v @ true @ v) < _HARDLY]
    return {
        "true_left": dict(zip(space.names, np.sqrt(np.diag(true)).tolist(), strict=True)),
        "directions": {
            "true": len(_axes(true, _SURELY)),
            "missed": len(missed),
            "flagged": len(flagged),
            "false": len(false),
            "seen": len(space) - len(_axes(true, _HARDLY)),
        },
    }


def _axes(covariance: np.ndarray, least: float) -> np.ndarray:
    """(k, d) unit axes along which a covariance in units of the prior is at least so wide."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors.T[np.sqrt(np.maximum(values, 0.0)) >= least]


# Lines of the table ---------------------------------------------------------------------------


def _each(rows: Sequence[Row], value: Callable[[Row, str, Row], float | None]) -> list[float]:
    """A number of every parameter of every robot, where there is one."""
    found = [value(row, name, p) for row in rows for name, p in row["parameters"].items()]
    return [x for x in found if x is not None]


def _accuracy(rows: Sequence[Row]) -> list[Measure]:
    def error(row: Row, name: str, p: Row) -> float | None:
        pinned = row["true_left"][name] < PINNED
        relative = pinned and not name.endswith(("delay", "zero_offset"))
        return 100.0 * abs(p["value"] / p["truth"] - 1.0) if relative else None

    seconds = [row["recorded_s"] for row in rows]
    note = f"{len(rows)} robots, {min(seconds):.0f} to {max(seconds):.0f} s at 50 Hz, sim-to-sim"
    lines = [
        Measure.of(
            "identification of a hidden robot",
            [row["seconds"] for row in rows],
            unit="s",
            target=Target(side="≤", value=60.0),
            note=note,
        ),
        Measure.of(
            "relative error of parameters that the data can pin",
            _each(rows, error),
            unit="%",
            target=Target(side="≤", value=2.0),
            note=f"those of which less than {100 * PINNED:.0f} % of the prior is left at the truth",
        ),
    ]
    return lines


def _late(rows: Sequence[Row]) -> list[Measure]:
    """Errors of the sum of delays, and whether either is called pinned where it is not known."""
    both = [_off(row, *_DELAYS) for row in rows]
    each = [
        (row["true_left"][name], row["parameters"][name]["left"])
        for row in rows
        for name in _DELAYS
    ]
    untold = [said for true, said in each if true >= PINNED]
    wrong = sum(said < PINNED for said in untold)
    return [
        Measure.of("error of the sum of both delays", both, unit="ms", target=_CLOSE),
        Measure(
            what="delays that readings of positions cannot pin, called pinned",
            value=100.0 * wrong / max(len(untold), 1),
            unit="%",
            target=Target(side="≤", value=5.0),
            note=f"{wrong} of {len(untold)}; of all {len(each)}, "
            f"{len(each) - len(untold)} can be pinned",
        ),
    ]


def _apart(rows: Sequence[Row]) -> list[Measure]:
    """Errors of each delay where joint forces tell them apart, and the estimate says so."""
    told = [row for row in rows if all(row["parameters"][n]["left"] < PINNED for n in _DELAYS)]
    note = f"{len(told)} of {len(rows)} robots whose joint forces are read, too, say both are told"
    return [
        Measure.of(
            f"error of {name} where data tell it",
            [_off(row, name) for row in told],
            unit="ms",
            target=_CLOSE,
            note=note,
        )
        if told
        else Measure(what=f"error of {name}", value=None, unit="ms", target=_CLOSE, note=note)
        for name in _DELAYS
    ]


def _off(row: Row, *names: str) -> float:
    """By how much a sum of delays is off, in ms."""
    each = [row["parameters"][name] for name in names]
    return 1e3 * abs(sum(p["value"] - p["truth"] for p in each))


def _honesty(rows: Sequence[Row]) -> list[Measure]:
    covered = _each(rows, lambda row, name, p: float(p["covered"]))
    share = 100.0 * float(np.mean(covered))
    each = [100.0 * np.mean([p["covered"] for p in row["parameters"].values()]) for row in rows]
    total = {key: sum(row["directions"][key] for row in rows) for key in rows[0]["directions"]}
    recall = 100.0 * (1.0 - total["missed"] / total["true"]) if total["true"] else None
    details = {"directions": total, "by_robot": each}
    return [
        Measure(
            what="truth inside its 90 % interval",
            value=share,
            unit="%",
            spread=(float(np.quantile(each, 0.1)), float(np.quantile(each, 0.9))),
            target=Target(side="≥", value=85.0),
            note=f"and at most 95 %; {len(covered)} intervals",
            details=details,
        ),
        Measure(
            what="directions that cannot be told, said",
            value=recall,
            unit="%",
            target=Target(side="≥", value=95.0),
            note=f"{total['true']} with ≥ {100 * _SURELY:.0f} % of the prior left at the truth",
        ),
        Measure(
            what="directions that can be told, said to be none",
            value=100.0 * total["false"] / max(total["seen"], 1),
            unit="%",
            target=Target(side="≤", value=5.0),
            note=f"{total['false']} of {total['seen']} with < {100 * _HARDLY:.0f} % left; "
            f"{total['flagged']} were flagged",
        ),
    ]


def _unmodelled(rows: Sequence[Row], odd: Sequence[Row]) -> list[Measure]:
    """Robots with an effect outside the space, and those without, by what the check says."""
    lines = (
        ("robots with an effect outside the space, flagged", odd, Target(side="≥", value=90.0)),
        ("robots without one, flagged", rows, Target(side="≤", value=5.0)),
    )
    found = []
    for what, some, target in lines:
        said = [row["unmodelled"] for row in some if row["unmodelled"] is not None]
        share = 100.0 * float(np.mean(said)) if said else None
        note = f"{len(said)} robots" if said else "estimates carry no predictive check yet"
        found.append(Measure(what=what, value=share, unit="%", target=target, note=note))
    return found


if __name__ == "__main__":
    part(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
