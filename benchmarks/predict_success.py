"""Success that was predicted, beside the success that came: many policies, many hidden robots.

Every robot is a point that is drawn at random; all of it is sim-to-sim. Prediction sees 20 trials
of each policy, from starts of its own, and a posterior of the robot, never the point. The posterior
is a normal around the truth with the spread that identification and contact probes leave
(docs/identify.md and docs/probing.md), off the truth by a draw of that spread: what identification
returns, at no cost. A few parameters of each robot are off and in no posterior: the simulator is
wrong there and does not know it. Robots that have played are kept in a folder and do not play
again; what is predicted of them is worked out anew each time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from benchmarks.predict_cases import WORLD, belief_of, policies_of, source_of_episodes, truth_of
from trueup.diagnose.prediction import Candidate, Outcomes, Trials, combined, mmrv, pearson
from trueup.diagnose.prediction.simulation import Robots, outcomes
from trueup.evaluate import Begin, evaluate, trials
from trueup.files import whole
from trueup.space import Space
from trueup.worlds import World, get

_ROBOTS, _FEW = 24, 3
_TRIALS, _DRAWS, _STARTS, _TRUTH = 20, 12, 24, 300
_WIDTH = 0.1

Row = dict[str, Any]


def measure(effort: Effort) -> list[Measure]:
    world = get(WORLD)
    policies = policies_of(world, effort)
    truth = _TRUTH // 2 if effort.quick else _TRUTH
    wanted = effort.robots(_ROBOTS, _FEW)
    rows = [_row(k, world, policies, truth, effort) for k in wanted]
    return [*_accuracy(rows, truth), *_honesty(rows, truth)]


# Robots ---------------------------------------------------------------------------------------


def _row(number: int, world: World, policies: dict[str, Begin], truth: int, effort: Effort) -> Row:
    """What came of one robot; episodes are read where the same code played them before."""
    file = effort.out / "predict-success" / f"{len(policies)}-policies-{number:03d}.json"
    if file.exists():
        row = json.loads(file.read_text(encoding="utf-8"))
        if row["source"] == _source() and set(row["policies"]) == set(policies):
            return _told(row, truth)
    found = _played(number, world, policies, truth, effort.threads)
    row = {"source": _source(), "robot": number, **found}
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as partial:
        partial.write_text(json.dumps(row) + "\n", encoding="utf-8")
    print(f"robot {number} has played", file=sys.stderr, flush=True)
    return _told(row, truth)


def _source() -> str:
    """A mark of what was played; how episodes are judged may change meanwhile."""
    return f"{source_of_episodes()} {(_TRIALS, _DRAWS, _STARTS, _TRUTH)}"


def _played(number: int, world: World, policies: dict[str, Begin], truth: int, threads: int) -> Row:
    """Every policy on one robot and in the worlds that it may be."""
    generator = np.random.default_rng([660_000, number])
    point = truth_of(generator, world)
    robots = Robots.drawn(belief_of(generator, world, point), _DRAWS, _STARTS, seed=number)
    found = {}
    for k, (name, begin) in enumerate(policies.items()):
        seeds = trials(Space(()), _TRIALS + truth, 880_000 + 100 * number + k)[1]
        real = evaluate(world, begin, point, seeds, threads=threads).success
        done = Trials(
            policy=name,
            mark=name,
            success=real[:_TRIALS],
            seeds=seeds[:_TRIALS],
            repeatable=True,
            real=False,
        )
        candidate = Candidate(name=name, begin=begin, mark=name)
        played = outcomes(world, candidate, robots, [done], threads=threads)
        assert played.paired is not None
        found[name] = {
            "actual": float(real[_TRIALS:].mean()),
            "trials": real[:_TRIALS].astype(int).tolist(),
            "fresh": played.fresh.astype(int).tolist(),
            "paired": played.paired.astype(int).tolist(),
        }
    return {"truth": dict(point), "policies": found}


def _told(row: Row, truth: int) -> Row:
    """What prediction makes of the episodes of a robot, policy by policy.

    The actual share is that of so many episodes, none and all of which are not taken for never and
    always: half a success and half a failure are added.
    """
    played = [
        Outcomes(policy=name, fresh=p["fresh"], paired=p["paired"], beside=p["trials"])
        for name, p in row["policies"].items()
    ]
    first = combined([_untried(played[0]), *played[1:]], [0], width=_WIDTH)[0]
    return {
        p.policy: {
            "actual": (row["policies"][p.policy]["actual"] * truth + 0.5) / (truth + 1),
            "simulated": p.simulated.share,
            "trials": p.trials.share,
            "predicted": p.share,
            "low": p.low,
            "high": p.high,
            "worth": p.worth,
            "saved": p.saved,
            "before": first.share if p.policy == first.policy else None,
        }
        for p in combined(played, width=_WIDTH)
    }


def _untried(played: Outcomes) -> Outcomes:
    """The same policy before its first trial."""
    return Outcomes(policy=played.policy, fresh=played.fresh)


# Lines of the table ---------------------------------------------------------------------------


def _column(rows: Sequence[Row], name: str) -> list[np.ndarray]:
    """Of every robot a value for every policy."""
    return [np.array([p[name] for p in row.values()]) for row in rows]


def _accuracy(rows: Sequence[Row], truth: int) -> list[Measure]:
    actual = _column(rows, "actual")
    note = (
        f"{len(rows)} robots × {len(actual[0])} policies, {_TRIALS} trials each, truth of "
        f"{truth} episodes, Laplace posteriors; sim-to-sim"
    )
    beside = {
        side: [_figures(a, s) for a, s in zip(actual, _column(rows, side), strict=True)]
        for side in ("predicted", "simulated", "trials")
    }
    lines: tuple[tuple[str, int, Target], ...] = (
        ("mean absolute error of predicted success", 0, Target(side="≤", value=0.04)),
        ("mean maximum rank violation", 1, Target(side="≤", value=0.02)),
    )
    means = {side: np.mean(figures, axis=0) for side, figures in beside.items()}
    found = [
        Measure(
            what=what,
            value=float(means["predicted"][k]),
            target=target,
            note=f"{note}; simulation alone {means['simulated'][k]:.3f}, trials alone "
            f"{means['trials'][k]:.3f}",
        )
        for what, k, target in lines
    ]
    together = {side: np.concatenate(_column(rows, side)) for side in beside}
    r = {side: pearson(values, np.concatenate(actual)) for side, values in together.items()}
    found.append(
        Measure(
            what="correlation of predicted and actual success",
            value=r["predicted"],
            target=Target(side="≥", value=0.97),
            note=f"over all robots and policies; simulation alone {r['simulated']:.3f}, trials "
            f"alone {r['trials']:.3f}",
        )
    )
    return found


def _figures(actual: np.ndarray, said: np.ndarray) -> tuple[float, float]:
    return float(np.abs(said - actual).mean()), mmrv(said, actual)


def _honesty(rows: Sequence[Row], truth: int) -> list[Measure]:
    names = ("actual", "low", "high", "saved", "worth")
    actual, low, high, saved, worth = (np.concatenate(_column(rows, name)) for name in names)
    luck = 2.0 * np.sqrt(actual * (1.0 - actual) / truth)
    covered = 100.0 * float(np.mean((low <= actual) & (actual <= high)))
    first = [next(iter(row.values())) for row in rows]
    untried = [abs(p["before"] - p["actual"]) for p in first]
    return [
        Measure(
            what="actual success inside its 90 % interval",
            value=covered,
            unit="%",
            target=Target(side="≥", value=86.0),
            note=f"{len(actual)} intervals, half width {float(np.mean(high - low)) / 2:.3f}; the "
            f"truth itself is known to ± {float(luck.mean()):.3f}",
        ),
        Measure.of(
            "real trials saved at equal interval width",
            100.0 * saved,
            unit="%",
            target=Target(side="≥", value=50.0),
            note=f"against Wilson's interval of trials alone; {_TRIALS} trials are worth "
            f"{float(np.median(worth)):.0f} in the median",
        ),
        Measure.of(
            "error for a policy before its first trial",
            untried,
            note="the first policy, calibrated by the trials of the others",
        ),
    ]
