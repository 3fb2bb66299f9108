"""The latency budget of a running loop against the true delays of the emulated servo bus.

The arm is in a process of its own behind a pseudo-terminal. It knows when each command came and
when it took effect; the loop knows neither, and has only what it sent and what it read.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.deploy import Budget, Flight, budget, fly
from trueup.episodes import Episode
from trueup.hardware import Guard, Limits
from trueup.hardware.feetech import EmulatedArm, Faults
from trueup.hardware.so101 import So101
from trueup.worlds import get

_PERIOD_S, _SECONDS, _FLIGHTS = 0.02, 2.5, 4
_HELD, _FAR_RAD = 10, 0.15  # turns between two targets, and how far these are from home
_PLANTED_MS = ((0.0, 0.0), (10.0, 0.0), (25.0, 2.0), (60.0, 5.0))


def measure(effort: Effort) -> list[Measure]:
    planted = _PLANTED_MS[1:3] if effort.quick else _PLANTED_MS
    found = [_one(command / 1e3, reply / 1e3) for command, reply in planted]
    errors = [1e3 * abs(_typical_s(measured) - true) for measured, true, _ in found]
    worst = int(np.argmax(errors))
    return [
        Measure(
            what="latency budget against the emulated bus's true delays, worst error",
            value=errors[worst],
            unit="ms",
            target=Target(side="≤", value=2.0),
            note="; ".join(
                f"planted {command:g}+{reply:g}: {1e3 * _typical_s(measured):.1f} for "
                f"{1e3 * true:.1f}"
                for (command, reply), (measured, true, _) in zip(planted, found, strict=True)
            )
            + " ms (sim-to-sim)",
            details={
                f"{command:g}+{reply:g} ms": {
                    **measured.to_json(),
                    "true_total_s": true,
                    "true_settle_s": settle,
                }
                for (command, reply), (measured, true, settle) in zip(planted, found, strict=True)
            },
        )
    ]


def _typical_s(found: Budget) -> float:
    """The middle of the whole: a busy machine makes some turns long, on either side of the bus."""
    assert found.settle is not None
    parts = found.observe.median + found.infer.median + found.act.median
    return parts + found.settle.delay_s


def _one(command_s: float, reply_s: float) -> tuple[Budget, float, float]:
    """The budget; and until a command truly takes effect: from its turn, and from its arrival."""
    faults = Faults(command_late_s=command_s, reply_late_s=reply_s)
    with (
        EmulatedArm(world="so101/arm", faults=faults) as arm,
        So101(arm.port, driver="sdk", period_s=_PERIOD_S) as robot,
    ):
        robot.enable()
        robot.reset()
        wall, home = perf_counter() - robot.clock.now_s(), robot.hold
        flights, totals, settles = [], [], []
        for k in range(_FLIGHTS):
            flights.append(_flown(robot, k))
            turns = flights[-1].tape.turns
            came, acted = np.array(arm.commands()[-len(turns) :]).T
            totals.append(acted - wall - turns.began_s)
            settles.append(acted - came)
            robot.act(home)
            robot.clock.wait_until(robot.clock.now_s() + 1.0)
    all_turns, episodes = [f.tape.turns for f in flights], [_episode(f) for f in flights]
    found = budget(all_turns, episodes, get("so101/arm"))
    return found, float(np.median(np.concatenate(totals))), float(np.mean(settles))


def _flown(robot: So101, seed: int) -> Flight:
    """A few seconds of targets about where the arm is, new every now and then."""
    generator, home = np.random.default_rng(seed), robot.hold
    targets = home.copy()
    turn = 0

    def pilot(observation: dict[str, np.ndarray]) -> np.ndarray:
        nonlocal targets, turn
        if turn % _HELD == 0:
            targets = home + generator.uniform(-_FAR_RAD, _FAR_RAD, home.shape)
        turn += 1
        return targets

    guard = Guard(Limits.of(robot.interface, speed=20.0), robot.interface)
    guard.begin(home, robot.clock.now_s())
    flight = Flight.of(robot)
    fly(robot, pilot, guard, flight, turns=round(_SECONDS / _PERIOD_S), stall_s=5.0)
    return flight


def _episode(flight: Flight) -> Episode:
    found = flight.tape.episode(
        0, len(flight.tape), task="", outcome=None, labels={}, origin={"label": "sim-to-sim"}
    )
    assert found is not None
    return found
