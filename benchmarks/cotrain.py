"""Few demonstrations from a robot beside many simulated ones, in realities that simulation misses.

All of it is sim-to-sim: the robots are rehearsal robots, and an operator is a scripted expert that
sees the truth. What is done is kept in a folder, and not done again.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clone import DEMONSTRATIONS, demonstrations, made
from benchmarks.cotrain_operator import demonstrated
from benchmarks.cotrain_realities import hard_realities
from benchmarks.measure import Effort, Measure, Target
from benchmarks.realities import tried
from trueup.files import whole
from trueup.hardware.reality import Reality, reality_from
from trueup.mix import Run, advised
from trueup.policies import Policy
from trueup.space import Space
from trueup.streams import seeds_from
from trueup.train.imitation import Cloning, Portion, cotrain
from trueup.train.look import success_of
from trueup.worlds import World, get

COUNTS = (3, 10, 20)
"""Demonstrations from the robot; the last only to judge a forecast by."""

_REALITIES, _SEED, _TRIALS, _REHEARSED = 10, 77, 150, 400
_WEIGHTS = {3: (0.3,), 10: (0.2, 0.5)}  # three are too few to choose by
_TRIES = 32
_JUDGED = 10  # demonstrations with which success in the simulated world is measured
_SETTINGS = Cloning(
    steps=800, batch=256, learning_rate=5e-4, look_every=400, patience=50, confirm_episodes=0
)


def measure(effort: Effort) -> list[Measure]:
    world, folder = get("so101/lift"), effort.out / "cotrain"
    cloning = effort.out / "clone"
    policy, _ = made(world, cloning, Cloning(confirm_episodes=0), 0, DEMONSTRATIONS)
    synthetic = demonstrations(world, cloning, DEMONSTRATIONS)
    count = 2 if effort.quick else _REALITIES
    realities = [reality_from(file) for file in _files(world, policy, folder, count)]
    works = [
        _Work(world, reality, policy, synthetic, folder / str(k))
        for k, reality in enumerate(realities)
    ]
    for real in COUNTS:
        for work in works:
            work.train(real)
    found = [work.result for work in works]
    return [*_successes(found), _kept(found), *_forecasts(found)]


def _files(world: World, policy: Policy, folder: Path, count: int) -> list[dict[str, Any]]:
    path = folder / "realities.json"
    kept = _read(path) or []
    while len(kept) < count:  # one that is gone on with draws others, and the file says which
        for hard in hard_realities(world, policy, _SEED + len(kept)):
            kept.append(asdict(hard))
            _write(path, kept)
            if len(kept) == count:
                break
    return [one["file"] for one in kept[:count]]


class _Work:
    """One reality: demonstrations there, trainings with them, and their trials."""

    def __init__(
        self, world: World, reality: Reality, policy: Policy, synthetic: Path, folder: Path
    ) -> None:
        self._world, self._reality, self._policy = world, reality, policy
        self._synthetic, self._folder = synthetic, folder
        self._path, self._robot = folder / "result.json", folder / "robot"
        self.result: dict[str, Any] = _read(self._path) or {"good": {}, "weight": {}, "kept": {}}
        if "0" in self.result["good"]:
            return
        demonstrated(world, reality, self._robot, COUNTS[-1], seed=7, tries=_TRIES)
        self.result["good"]["0"] = self._good(policy)
        _write(self._path, self.result)

    def train(self, count: int) -> None:
        """Tune the policy with so many demonstrations from the robot, and try it there."""
        result = self.result
        if str(count) in result["good"]:
            return
        found = cotrain(
            self._world,
            Portion(dataset=self._robot, episodes=tuple(range(count))),
            Portion(dataset=self._synthetic, episodes=tuple(range(_REHEARSED))),
            _SETTINGS,
            self._folder / str(count),
            start=self._policy,
            weights=_WEIGHTS.get(count) or (result["weight"][str(_JUDGED)],),
            resume=True,
            threads=1,
        )
        tuned = found.cloned.policy
        result["weight"][str(count)] = found.weight
        result["good"][str(count)] = self._good(tuned)
        if count == _JUDGED:
            result["kept"] = {
                name: success_of(policy, self._world, Space(()), _TRIALS, [3], threads=1).share
                for name, policy in (("before", self._policy), ("after", tuned))
            }
        _write(self._path, result)

    def _good(self, policy: Policy) -> int:
        seeds = seeds_from(np.random.default_rng(991), _TRIALS)
        return int(tried(self._world, policy, self._reality, seeds).success.sum())


def _successes(found: list[dict[str, Any]]) -> list[Measure]:
    targets = {0: None, 3: 70.0, 10: 85.0, 20: None}
    n = len(found)
    return [
        Measure.of(
            f"success in {n} rehearsal realities, {count} demonstrations from the robot, median",
            [100 * one["good"][str(count)] / _TRIALS for one in found],
            unit="%",
            target=None if target is None else Target(side="≥", value=target),
            note="sim-to-sim; "
            + (
                "the policy from simulation alone"
                if not count
                else f"fine-tuned beside {_REHEARSED} simulated ones, {_SETTINGS.steps} steps"
            ),
            details={"each": [one["good"][str(count)] for one in found], "trials": _TRIALS},
        )
        for count, target in targets.items()
    ]


def _kept(found: list[dict[str, Any]]) -> Measure:
    before, after = np.array([[one["kept"][k] for k in ("before", "after")] for one in found]).T
    return Measure.of(
        "success in the simulated world after fine-tuning with 10 demonstrations from the robot",
        100 * after,
        unit="%",
        note=f"before: {100 * np.median(before):.1f} %; nominal world, the same 200 episodes",
        details={"before": before.tolist(), "after": after.tolist()},
    )


def _forecasts(found: list[dict[str, Any]]) -> list[Measure]:
    """Of the gain, and of success itself: a gain is measured against a training with luck, too."""
    measures = []
    for known, count in (((0, 3), 10), ((0, 3, 10), 20)):
        gains, shares, inside = zip(*(_forecast(one, known, count) for one in found), strict=True)
        step = f"from {known[-1]} to {count} demonstrations from the robot, mean error"
        note = f"from {len(known)} trainings with {_TRIALS} trials each"
        covered = f"{100 * np.mean(inside):.0f} % inside the 90 % interval"
        measures += [
            Measure(
                what=f"forecast of the gain {step}",
                value=float(np.mean(gains)),
                unit="points",
                target=Target(side="≤", value=5.0),
                note=note,
                details={"errors": list(gains)},
            ),
            Measure(
                what=f"forecast of success {step}",
                value=float(np.mean(shares)),
                unit="points",
                note=f"{note}; {covered}",
                details={"errors": list(shares)},
            ),
        ]
    return measures


def _forecast(
    result: dict[str, Any], known: tuple[int, ...], count: int
) -> tuple[float, float, bool]:
    """Points between forecast and measurement: of the gain, of success; whether that is inside."""
    runs = [
        Run(real=n, synthetic=DEMONSTRATIONS, good=result["good"][str(n)], trials=_TRIALS)
        for n in known
    ]
    advice = advised(runs, more=count - known[-1])
    then = result["good"][str(count)] / _TRIALS
    gain = then - result["good"][str(known[-1])] / _TRIALS
    inside = advice.then.low <= then <= advice.then.high
    return 100 * abs(advice.gain.middle - gain), 100 * abs(advice.then.middle - then), inside


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _write(path: Path, value: Any) -> None:
    with whole(path) as partial:
        partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
