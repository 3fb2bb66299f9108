"""200 trials on a rehearsal robot, beside the same 200 in plain simulation.

The robot lives in a process of its own: what it costs is to start it, and to talk to it. Both sides
play the same episodes at the same point, and must end them alike.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import WORLD
from trueup import worlds
from trueup.cli.players import player
from trueup.errors import TrueupError
from trueup.evaluate import evaluate
from trueup.hardware import Robot, open_robot
from trueup.hardware.reality import read_reality
from trueup.policies import Policy
from trueup.worlds.scripted import ScriptedLift

_TRIALS, _REALITY = 200, "benign"


def measure(effort: Effort) -> list[Measure]:
    world, seeds, turns = worlds.get(WORLD), np.arange(_TRIALS), Turns()
    begin, point = player(effort.policy).begin, read_reality(_REALITY).point(world)
    simulated = np.zeros(_TRIALS, bool)
    for _ in range(effort.turns(10)):
        with turns.of("simulated"):
            simulated = evaluate(world, begin, point, seeds).success
        with turns.of("started"):
            rehearsed = _rehearsed(effort.policy, seeds, turns)
        turns.end()
        if not np.array_equal(simulated, rehearsed):
            raise TrueupError("The same trials ended differently on the robot.")
    seconds = np.median(turns.seconds("simulated"))
    note = f"plain: {seconds:.2f} s; success {simulated.mean():.1%} on both (sim-to-sim)"
    details = {"policy": effort.policy, "trials": _TRIALS, "reality": _REALITY}
    what = f"{_TRIALS} rehearsal trials over the same in plain simulation"
    return [
        Measure.of(
            f"{what}, process started and ended",
            turns.ratio("started", "simulated"),
            unit="×",
            target=Target(side="≤", value=2.0),
            note=note,
            details=details,
        ),
        Measure.of(
            f"{what}, robot already there",
            turns.ratio("rehearsed", "simulated"),
            unit="×",
            target=Target(side="≤", value=2.0),
            note=f"{_TRIALS / np.median(turns.seconds('rehearsed')):,.0f} trials/s",
            details=details,
        ),
    ]


def _rehearsed(policy: str, seeds: np.ndarray, turns: Turns) -> np.ndarray:
    """Start a robot, play, and see it off; only the play counts as rehearsed."""
    with open_robot(f"rehearsal:{_REALITY}@{WORLD}", cells=_TRIALS) as robot, turns.of("rehearsed"):
        return _played(robot, policy, seeds)


def _played(robot: Robot, policy: str, seeds: np.ndarray) -> np.ndarray:
    """Which trials succeed, all at once."""
    robot.enable()
    robot.reset(seeds=seeds)
    seen, now = robot.observe(), robot.clock.now_s()
    controller = _controller(robot, policy, seen)
    for k in range(worlds.get(WORLD).steps):
        robot.act(controller(k, seen))
        now += robot.interface.period_s
        robot.clock.wait_until(now)
        seen = robot.observe()
        if _verdict(robot)["over"].all():
            break
    return _verdict(robot)["success"]


def _verdict(robot: Robot) -> dict[str, np.ndarray]:
    said = robot.verdict()
    assert said is not None
    return said


def _controller(robot: Robot, policy: str, seen: dict[str, np.ndarray]):
    if policy == "script":
        return ScriptedLift(worlds.get(WORLD), seen)
    pilot = Policy.load(policy).pilot(robot.n)
    pilot.begin(seen, robot.hold)
    return lambda k, observation: pilot(observation)
