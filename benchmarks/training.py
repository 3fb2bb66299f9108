"""Policies from nothing: how good, after how many steps and seconds, for every task and seed.

Each training is `trueup train TASK --seed SEED`: default randomization, default settings, all
cores. The stored policy is then played in fresh episodes that no training drew, the same for every
seed of a task. Trainings are kept in a folder and not done again, so this can be interrupted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from benchmarks.learning import Record, source_mark, trained
from benchmarks.measure import Effort, Measure, Target, table_of
from trueup import worlds
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted, trials
from trueup.policies import Policy
from trueup.randomize import FromPrior
from trueup.space import Space
from trueup.train import Settings, Success

_SEEDS = (0, 1, 2)
_EPISODES = 1000
_FRESH = 770_001  # the seed of the trials; no training has it
_SHARES = {"nominal": 98.0, "randomized": 90.0}  # percent of success to reach
_WALL_S = {"so101/reach": 60.0, "so101/push": 300.0, "so101/lift": 300.0, "so101/place": 720.0}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One task, one seed.

    Attributes:
        record: Of the training, with its evaluation.
    """

    record: Record

    @cached_property
    def success(self) -> dict[str, Success]:
        """On fresh episodes, by "nominal" and "randomized"."""
        found = self.record.evaluation
        return {name: Success(good=found[name]["good"], n=found[name]["n"]) for name in _SHARES}

    @cached_property
    def missed(self) -> list[str]:
        """The targets that this training missed, by name."""
        missed = [name for name, s in self.success.items() if 100 * s.share < _SHARES[name]]
        late = self.record.wall_s > _WALL_S.get(self.record.task, float("inf"))
        return [*missed, "wall time"] if late else missed

    @property
    def rank(self) -> tuple[int, float]:
        """Better is larger: targets met, then the sum of both successes."""
        return -len(self.missed), sum(s.share for s in self.success.values())


def measure(effort: Effort) -> list[Measure]:
    seeds = effort.seeds or _SEEDS
    found: dict[str, list[Outcome]] = {task: [] for task in effort.tasks}
    failed: dict[str, list[str]] = {task: [] for task in effort.tasks}
    for task in effort.tasks:
        for seed in seeds:
            try:
                found[task].append(_outcome(task, seed, effort))
            except TrueupError as error:  # the others are still worth having
                print(f"{task}, seed {seed}: {error}", file=sys.stderr, flush=True)
                failed[task].append(f"seed {seed}: {' '.join(str(error).split())}")
    print(_table(found), end="\n\n")
    return [line for task in effort.tasks for line in _lines(task, found[task], failed[task])]


def _outcome(task: str, seed: int, effort: Effort) -> Outcome:
    print(f"training {task}, seed {seed} ...", file=sys.stderr, flush=True)
    settings = Settings(seed=seed)
    if effort.steps is not None:
        settings = replace(settings, steps=int(effort.steps))
    folder = effort.out / "training" / f"{task.replace('/', '-')}-{seed}"
    record = trained(folder, task, FromPrior, settings)
    n = _EPISODES // 10 if effort.quick else _EPISODES
    if record.evaluation.get("episodes") != n:
        policy, space = Policy.load(Path(record.policy)), worlds.get(task).space
        record.evaluation = {
            "episodes": n,
            "seed": _FRESH,
            "nominal": _success(policy, task, Space(()), n).to_json(),
            "randomized": _success(policy, task, space, n).to_json(),
        }
        record.save(folder)
    return Outcome(record=record)


def _success(policy: Policy, task: str, space: Space, n: int) -> Success:
    points, seeds = trials(space, n, _FRESH)
    played = evaluate(worlds.get(task), piloted(policy), points, seeds)
    return Success(good=played.successes, n=n)


def _best(outcomes: list[Outcome]) -> Outcome:
    return max(outcomes, key=lambda outcome: outcome.rank)


def _table(found: dict[str, list[Outcome]]) -> str:
    """Every training, the best of each task marked."""
    head = ("task", "seed", "steps", "wall s", "nominal", "randomized", "targets met", "", "note")
    rows, code = [], source_mark()
    for outcomes in found.values():
        for outcome in outcomes:
            record, (nominal, randomized) = outcome.record, outcome.success.values()
            missed = ", ".join(outcome.missed)
            rows.append(
                (
                    record.task,
                    str(record.seed),
                    f"{record.steps:,}",
                    f"{record.wall_s:,.0f}",
                    str(nominal),
                    str(randomized),
                    f"no: {missed}" if missed else "yes",
                    "best" if outcome is _best(outcomes) else "",
                    _note(record, code),
                )
            )
    return table_of(head, rows)


def _note(record: Record, code: str) -> str:
    got = "interrupted" if record.got_cores is None else f"got {record.got_cores:.2f} cores"
    ended = "stopped at its target" if record.ended == "target" else "used all its steps"
    return f"{ended}; {got}" + ("" if record.source == code else "; made by other code")


def _lines(task: str, outcomes: list[Outcome], failed: list[str]) -> list[Measure]:
    """What is judged: the best training of a task."""
    if not outcomes:
        return [Measure(what=f"training {task}", value=None, note="; ".join(failed))]
    best = _best(outcomes)
    seeds = ", ".join(str(outcome.record.seed) for outcome in outcomes)
    tried = "; ".join([f"seed {best.record.seed}, best of {seeds}", *failed])
    lines = [
        Measure(
            what=f"success of {task}, {name}, from nothing, {success.n:,} fresh episodes",
            value=100 * success.share,
            unit="%",
            target=Target(side="≥", value=_SHARES[name]),
            note="95 % interval {:.1%} – {:.1%}; ".format(*success.interval) + tried,
            details={"seeds": [vars(outcome.record) for outcome in outcomes]},
        )
        for name, success in best.success.items()
    ]
    limit = _WALL_S.get(task) if {*best.missed} <= {"wall time"} else None
    wall = Measure(
        what=f"wall time of that training, {task}",
        value=best.record.wall_s,
        unit="s",
        target=None if limit is None else Target(side="≤", value=limit),
        note=f"{best.record.steps:,} steps; {_note(best.record, source_mark())}"
        + ("" if limit else "; not judged, as its success was not reached"),
    )
    return [*lines, wall]
