"""Main events of failed grasps against the truth of contact forces that no robot feels."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from benchmarks.failure_truth import Trial, played
from benchmarks.measure import Effort, Measure
from benchmarks.workload import WORLD
from trueup.diagnose.failures import FailureAnalysis, analysed
from trueup.evaluate import Begin, piloted
from trueup.hardware.reality import reality_from
from trueup.policies import Policy
from trueup.worlds import World, get
from trueup.worlds.scripted import ScriptedLift

_TRIALS = 60
_SEED = 7
_SLIPPERY = {"contact/fingertip-object/sliding": 0.3, "object/cube/mass": 0.08}
_REALITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "oily fingertips": (
        "slip",
        {"values": _SLIPPERY, "beyond": [{"effect": "oil_film", "share": 0.04}]},
    ),
    "camera off by 19 mm": (
        "miss",
        {"values": {"visual/camera/shift_x": -0.015, "visual/camera/shift_y": 0.012}},
    ),
    "camera off by 10 mm, noisy, late, a third of its frames missing": (
        "miss",
        {
            "values": {
                "visual/camera/shift_x": -0.01,
                "visual/tracker/noise": 0.004,
                "visual/tracker/delay": 0.1,
                "visual/tracker/dropout": 0.3,
            }
        },
    ),
    "commands 120 ms and encoders 60 ms late": (
        "",
        {"values": {"latency/action_delay": 0.12, "latency/encoder_delay": 0.06}},
    ),
    "supply at 60 %, a heavy object": (
        "",
        {"values": {"actuation/supply_voltage": 0.6, "object/cube/mass": 0.09}},
    ),
}


def measure(effort: Effort) -> list[Measure]:
    world = get(WORLD)
    begin = _player(effort.policy)
    n = _TRIALS // 3 if effort.quick else _TRIALS
    pairs: Counter[tuple[str, str]] = Counter()
    lines, seconds, trials = [], 0.0, 0
    for name, (planted, bent) in _REALITIES.items():
        found, took = _analysed(world, _trials(world, begin, name, bent, n))
        seconds, trials = seconds + took, trials + n
        here = _pairs(*found)
        pairs += here
        lines.append(_line(name, planted, here))
    return [_all(pairs), *lines, _speed(trials, seconds)]


def _player(policy: str) -> Begin:
    if policy == "script":
        return lambda worlds: ScriptedLift(worlds.world, worlds.observation)
    return piloted(Policy.load(policy))


def _trials(world: World, begin: Begin, name: str, bent: dict[str, Any], n: int) -> list[Trial]:
    reality = reality_from({"trueup_reality": 1, "story": name, "world": world.name, **bent})
    return played(world, begin, reality, n, seed=_SEED)


def _analysed(
    world: World, trials: list[Trial]
) -> tuple[tuple[list[Trial], FailureAnalysis], float]:
    start = time.process_time()
    found = analysed(world, [trial.episode for trial in trials])
    return (trials, found), time.process_time() - start


def _pairs(trials: list[Trial], found: FailureAnalysis) -> Counter[tuple[str, str]]:
    """How often each truth was told as each event, over the failures."""
    both = zip(trials, found.episodes, strict=True)
    return Counter((trial.truth, str(e.event)) for trial, e in both if e.event is not None)


def _line(name: str, planted: str, pairs: Counter[tuple[str, str]]) -> Measure:
    told: Counter[str] = Counter()
    for (_, event), count in pairs.items():
        told[event] += count
    failed = sum(pairs.values())
    events = ", ".join(f"{event} {count}" for event, count in told.most_common())
    hint = f"; planted to {planted}" if planted else ""
    return Measure(
        what=f"told rightly, {name} (sim-to-sim)",
        value=100 * _right(pairs) / failed if failed else None,
        unit="%",
        note=f"{failed} failures: {events}{hint}" if failed else "no trial failed",
        details={"pairs": _listed(pairs)},
    )


def _all(pairs: Counter[tuple[str, str]]) -> Measure:
    missed = {(a, b): count for (a, b), count in pairs.items() if a != b}
    worst = max(missed, key=missed.__getitem__, default=None)
    note = f"most often wrong: {worst[0]} told as {worst[1]}, {missed[worst]}" if worst else ""
    return Measure(
        what="main event as contact forces have it, all failures (sim-to-sim)",
        value=100 * _right(pairs) / max(1, sum(pairs.values())),
        unit="%",
        note=f"{sum(pairs.values())} failures; {note}",
        details={"pairs": _listed(pairs)},
    )


def _speed(trials: int, seconds: float) -> Measure:
    return Measure(
        what="processor time of one trial's analysis", value=1000 * seconds / trials, unit="ms"
    )


def _right(pairs: Counter[tuple[str, str]]) -> int:
    return sum(count for (truth, event), count in pairs.items() if truth == event)


def _listed(pairs: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"truth": a, "told": b, "failures": n} for (a, b), n in sorted(pairs.items())]
