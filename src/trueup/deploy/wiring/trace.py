"""What a robot did while it was exercised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueup.hardware import Guard, Pace, Robot, Stopped, Timing

ASTRAY_RAD = 0.6
"""A joint this far from where it was told to be does something else."""
_STILL_RAD = 0.004
_STILL_S, _LONGEST_S = 0.4, 2.0


class Astray(Stopped):
    """A joint that is not where it was told to be."""

    def __init__(self, joint: str, reason: str) -> None:
        self.joint = joint
        super().__init__(
            reason, fix="Check its wiring, its units and its calibration; then start again."
        )


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One motion of n bodies, a row for each turn.

    Attributes:
        time_s: (k,) when each turn began.
        command: (k, nu) what was told; the same to all bodies.
        position: (k, n, nu) where the joints said they were, read before the command was sent.
        velocity: (k, n, nu) how fast; none where the robot does not say.
    """

    time_s: np.ndarray
    command: np.ndarray
    position: np.ndarray
    velocity: np.ndarray | None

    @property
    def error(self) -> np.ndarray:
        """(k, n, nu) how far each joint was behind the command sent a turn before."""
        before = np.concatenate([self.command[:1], self.command[:-1]])
        return before[:, None, :] - self.position


class Exerciser:
    """Plays motions on a robot, under guard, and keeps what happened.

    Args:
        robot: Connected and enabled.
        guard: What every command passes through.
        on_turn: Called after each turn, for progress and the operator's keys.
    """

    def __init__(self, robot: Robot, guard: Guard, on_turn: Callable[[], None]) -> None:
        self.robot, self.guard, self._on_turn = robot, guard, on_turn
        self._paces: list[Pace] = []
        self.observe_s: list[float] = []
        self.act_s: list[float] = []
        self._measured = robot.interface.measured or ""

    def play(self, commands: np.ndarray) -> Trace:
        """Send commands (k, nu), one a turn, to all bodies alike."""
        self._begin()
        return _gathered([self._turn(command) for command in commands])

    def settled(self, command: np.ndarray) -> Trace:
        """Send one command (nu,) until the joints have come to rest, or for a few seconds."""
        period_s = self.robot.interface.period_s
        window, turns = max(2, round(_STILL_S / period_s)), []
        self._begin()
        for _ in range(round(_LONGEST_S / period_s)):
            turns.append(self._turn(command))
            if len(turns) >= window and _still(np.stack([t[2] for t in turns[-window:]])):
                break
        return _gathered(turns[-window:])

    @property
    def timing(self) -> Timing:
        """How the rate was kept in all motions so far; thinking in between does not count."""
        parts = [pace.timing for pace in self._paces]
        return Timing(
            period_s=self.robot.interface.period_s,
            began_s=np.concatenate([part.began_s for part in parts]),
            late_s=np.concatenate([part.late_s for part in parts]),
        )

    def _begin(self) -> None:
        clock = self.robot.clock
        self._paces.append(Pace(clock, self.robot.interface.period_s))
        self.guard.begin(self.robot.hold, clock.now_s())

    def _turn(self, command: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray | None]:
        robot, clock = self.robot, self.robot.clock
        began_s = self._paces[-1].wait()
        observation = robot.observe()
        seen_s = clock.now_s()
        position = observation[self._measured]
        self._check(command, position)
        commands = np.repeat(command[None], robot.n, axis=0)
        allowed = self.guard.passed(commands, observation, began_s)
        robot.act(allowed)
        self.observe_s.append(seen_s - began_s)
        self.act_s.append(clock.now_s() - seen_s)
        self._on_turn()
        return began_s, command, position, observation.get("joint_velocity")

    def _check(self, command: np.ndarray, position: np.ndarray) -> None:
        off = np.abs(position - command)
        if not (off <= ASTRAY_RAD).all():
            row, joint = np.unravel_index(int(np.nanargmax(off)), off.shape)
            name = self.robot.interface.commands[joint]
            raise Astray(
                name,
                f"{name!r} reads {position[row, joint]:.3g} rad where it was told to be at "
                f"{command[joint]:.3g} rad.",
            )


def _still(positions: np.ndarray) -> bool:
    """Whether the second half of (k, n, nu) is where the first half was."""
    first, second = np.array_split(positions, 2)
    return bool((np.abs(second.mean(axis=0) - first.mean(axis=0)) < _STILL_RAD).all())


def _gathered(turns: list) -> Trace:
    time_s, command, position, velocity = zip(*turns, strict=True)
    return Trace(
        time_s=np.array(time_s),
        command=np.stack(command),
        position=np.stack(position),
        velocity=None if velocity[0] is None else np.stack(velocity),
    )
