"""The control loop: a policy drives a robot at a fixed rate, under guard and watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from trueup.deploy.tape import Tape
from trueup.hardware import Guard, Pace, Robot, Watchdog

Pilot = Callable[[dict[str, np.ndarray]], np.ndarray]
"""From what n bodies observe now to commands (n, nu)."""


class Onlooker(Protocol):
    """Somebody who watches: the operator at the keyboard, or nobody."""

    def turn(self) -> str | None:
        """Called once a turn; a word ends the flight: `success`, `failure`, `redo` or `stop`."""
        ...


class Nobody:
    """No one watches."""

    def turn(self) -> str | None:
        return None


@dataclass(kw_only=True)
class Flight:
    """One attempt of n bodies, while it goes on and after.

    Attributes:
        tape: All that was recorded.
        ended: (n,) the number of turns after which each body was done.
        success: (n,) whether somebody said that it succeeded.
        stopped: Why bodies were stopped, by row.
        word: What the onlooker said, where they ended it.
    """

    tape: Tape
    ended: np.ndarray
    success: np.ndarray
    stopped: dict[int, str]
    word: str | None = None

    @classmethod
    def of(cls, robot: Robot) -> Flight:
        """Before the first turn."""
        return cls(
            tape=Tape(robot),
            ended=np.full(robot.n, -1),
            success=np.zeros(robot.n, bool),
            stopped={},
        )

    @property
    def flying(self) -> np.ndarray:
        """(n,) bodies that are not done yet."""
        return self.ended < 0


def fly(
    robot: Robot,
    pilot: Pilot,
    guard: Guard,
    flight: Flight,
    *,
    turns: int,
    shadow: bool = False,
    onlooker: Onlooker | None = None,
    stall_s: float = 0.5,
) -> None:
    """Drive until all bodies are done, or for a number of turns.

    Whatever is raised on the way, the flight has what was recorded until then.

    Args:
        robot: Enabled, where an episode begins.
        pilot: Begun.
        guard: Begun. A body that it stops holds still while the others go on.
        flight: Takes in what happens.
        turns: The most there may be.
        shadow: Compute and record, but send nothing.
        onlooker: Who watches; nobody by default.
        stall_s: Longest turn, in real time; a simulated robot's are longer.
    """
    watcher = onlooker or Nobody()
    pace = Pace(robot.clock, robot.interface.period_s)
    with Watchdog(stall_s) as dog:
        for _ in range(turns):
            began_s = pace.wait()
            _judge(robot, flight)
            if not flight.flying.any():
                break
            _turn(robot, pilot, guard, flight, dog, pace, began_s, shadow)
            dog.rest()
            if (word := watcher.turn()) is not None:
                flight.word = word
                break
        else:
            pace.wait()  # the last command has its period, too
            _judge(robot, flight)
    flight.ended = np.where(flight.flying, len(flight.tape), flight.ended)


def _turn(
    robot: Robot,
    pilot: Pilot,
    guard: Guard,
    flight: Flight,
    dog: Watchdog,
    pace: Pace,
    began_s: float,
    shadow: bool,
) -> None:
    clock, late_s = robot.clock, pace.late_s
    dog.feed("observe")
    observation = robot.observe()
    seen_s = clock.now_s()
    dog.feed("infer")
    asked = perf_counter()
    wanted = np.asarray(pilot(observation), float)
    infer_s = perf_counter() - asked
    allowed, stopped = guard.judged(wanted, observation, began_s)
    for row, reason in stopped.items():
        if flight.flying[row]:
            flight.stopped[row], flight.ended[row] = reason, len(flight.tape) + 1
    dog.feed("act")
    answered_s = clock.now_s()
    told = robot.hold if shadow else robot.act(allowed)
    sent_s = clock.now_s()
    times = (began_s, late_s, seen_s - began_s, infer_s, sent_s - answered_s, sent_s)
    flight.tape.add(observation, told, wanted if shadow else None, times)


def _judge(robot: Robot, flight: Flight) -> None:
    """Take note of bodies that are over; the first end counts."""
    verdict = robot.verdict()
    if verdict is None:
        return
    now = flight.flying & verdict["over"]
    flight.success[now] = verdict["success"][now]
    flight.ended[now] = len(flight.tape)
