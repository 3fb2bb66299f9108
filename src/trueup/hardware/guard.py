"""The safety envelope: the last hand that every command passes through on its way to a robot.

Where a command is merely too far or too quick, it is clipped, and counted. Where something is wrong
that clipping would hide (not a number, a joint pressing against something, a hand through the
table, a loop that stood still, the operator's stop), the robot is stopped, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.policies import Interface

Place = Callable[[np.ndarray], np.ndarray]
"""From joint positions (n, nu) to where the hand is (n, 3): nominal kinematics."""


class Stopped(TrueupError):
    """A robot was stopped for safety.

    Args:
        reason: Why, as a sentence.
        row: Which body; none where it concerns all.
        asked: Whether a person asked for it.
    """

    def __init__(
        self, reason: str, *, row: int | None = None, asked: bool = False, fix: str = ""
    ) -> None:
        self.reason, self.row, self.asked = reason, row, asked
        super().__init__(reason, fix=fix or "Look at the robot, then start again.")


@dataclass(frozen=True, kw_only=True)
class Box:
    """Where a hand may be.

    Attributes:
        low: Smallest x, y and z in m, from where the robot's model stands.
        high: Largest.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]


TABLETOP = Box(low=(-0.45, -0.5, -0.05), high=(0.55, 0.5, 0.65))
"""Around an arm on a table: nowhere in the table, nowhere further than the arm reaches.

Where joints are off by a degree or two, or a table sags, a hand on it is believed to be lower.
"""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a robot may do.

    Attributes:
        low: (nu,) smallest targets; commands beyond are clipped.
        high: (nu,) largest.
        speed: (nu,) fastest that a target may move, per second; commands beyond are clipped.
        force: (nu,) largest force that a joint may need for longer than `patience_s`, in the unit
            of the force signal; infinite where anything goes, as in a gripper that holds.
        error: (nu,) furthest that a joint may stay from its target for longer than `patience_s`:
            what stands for force where a robot measures none.
        patience_s: How long a joint may push.
        box: Where the hand may be; none where it is not watched.
        stall_s: Longest time between two commands.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    speed: tuple[float, ...]
    force: tuple[float, ...]
    error: tuple[float, ...]
    patience_s: float = 1.0
    box: Box | None = None
    stall_s: float = 0.5

    @classmethod
    def of(
        cls,
        interface: Interface,
        *,
        speed: float = 4.0,
        force: float = 2.8,
        error: float = 0.5,
        box: Box | None = None,
        stall_s: float = 0.5,
    ) -> Limits:
        """Limits for a robot, the same for each joint; a gripper may push as long as it likes.

        The numbers suit servos of about 3 N·m, of the kind that the SO-101 has.
        """
        holds = ["gripper" in joint for joint in interface.commands]
        return cls(
            low=interface.low,
            high=interface.high,
            speed=(speed,) * len(holds),
            force=tuple(np.inf if held else force for held in holds),
            error=tuple(np.inf if held else error for held in holds),
            box=box,
            stall_s=stall_s,
        )


class Guard:
    """Lets commands through to a robot, clipped to its limits, or stops it.

    Call `begin` before each episode, then `passed` once a turn with what is about to be sent.

    Args:
        limits: What the robot may do.
        interface: What it observes and takes.
        place: Where its hand is, from its joints; needed where the limits have a box.
        force: The observation that holds the force of each joint, where there is one.
    """

    def __init__(
        self,
        limits: Limits,
        interface: Interface,
        *,
        place: Place | None = None,
        force: str = "joint_force",
    ) -> None:
        if limits.box is not None and place is None:
            raise TrueupError(
                "The hand is to stay inside a box, but nothing says where the hand is.",
                fix="Give the guard `place`, such as tcp_kinematics(world), or limits without box.",
            )
        self.limits, self.interface, self.place = limits, interface, place
        sizes = {feature.name: feature.size for feature in interface.observations}
        self._force = force if sizes.get(force) == len(interface.commands) else None
        self.clipped = np.zeros(len(interface.commands), int)
        self._stop: str | None = None
        self._last: np.ndarray | None = None
        self._time_s = 0.0
        self._pushing_s = np.zeros(0)

    @property
    def watched(self) -> tuple[str, ...]:
        """What this guard can see to, in words: a robot without force readings gives less."""
        words = ["joint limits", "speed", "numbers that are not finite", "distance from targets"]
        words += ["force"] if self._force else []
        return (*words, *(["hand inside its box"] if self.limits.box else []), "stalls", "stop key")

    def begin(self, hold: np.ndarray, time_s: float) -> None:
        """Start from commands (n, nu) that keep every servo where it is."""
        self._last = np.array(hold, float)
        self._time_s = time_s
        self._pushing_s = np.zeros(self._last.shape)

    def stop(self, reason: str = "The operator stopped it.") -> None:
        """Refuse everything from now on: the emergency stop. Safe to call from any thread."""
        self._stop = reason

    def passed(
        self, commands: np.ndarray, observation: Mapping[str, np.ndarray], time_s: float
    ) -> np.ndarray:
        """Commands (n, nu) that may be sent now; raises `Stopped` where one body must stop."""
        allowed, stopped = self.judged(commands, observation, time_s)
        for row, reason in stopped.items():
            raise Stopped(reason, row=row if len(allowed) > 1 else None)
        return allowed

    def judged(
        self, commands: np.ndarray, observation: Mapping[str, np.ndarray], time_s: float
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Commands that may be sent, and which bodies must stop, and why; these hold still.

        Raises `Stopped` where it concerns all bodies: the stop key, or a loop that stood still.
        """
        last = self._begun(commands)
        if self._stop is not None:
            raise Stopped(self._stop, asked=True)
        since = time_s - self._time_s
        if since > self.limits.stall_s:
            raise Stopped(
                f"No command came for {since:.2f} s, and {self.limits.stall_s:.2f} s is the limit: "
                "the policy or the bus stalled."
            )
        stopped = self._not_finite(commands, observation)
        safe = np.where(np.isfinite(commands), commands, last)
        allowed = self._clipped(safe, last, since)
        self._look(allowed, observation, since, stopped)
        rows = list(stopped)
        allowed[rows] = last[rows]
        self._last, self._time_s = allowed, time_s
        return allowed.copy(), stopped

    def _begun(self, commands: np.ndarray) -> np.ndarray:
        if self._last is None:
            raise TrueupError(
                "The guard was asked before its episode began.",
                fix="Call begin(robot.hold, robot.clock.now_s()) first.",
            )
        if np.shape(commands) != self._last.shape:
            raise TrueupError(
                f"Commands of shape {np.shape(commands)} came for {self._last.shape[0]} × "
                f"{self._last.shape[1]} servos.",
                fix="Give one row for each body, one column for each servo.",
            )
        return self._last

    def _clipped(self, commands: np.ndarray, last: np.ndarray, since: float) -> np.ndarray:
        period_s = self.interface.period_s
        # a pause earns no leap, and the first command follows `begin` at once
        step = np.array(self.limits.speed) * min(max(since, period_s), 2.0 * period_s)
        near = np.clip(commands, last - step, last + step)
        allowed = np.clip(near, self.limits.low, self.limits.high)
        self.clipped += (np.abs(allowed - commands) > 1e-9).sum(axis=0)
        return allowed

    def _not_finite(
        self, commands: np.ndarray, observation: Mapping[str, np.ndarray]
    ) -> dict[int, str]:
        found: dict[int, str] = {}
        for row, servo in np.argwhere(~np.isfinite(commands)):
            joint, value = self.interface.commands[servo], commands[row, servo]
            found.setdefault(int(row), f"The command for {joint!r} is {value}.")
        for name, values in observation.items():
            for row in np.flatnonzero(~np.isfinite(values).all(axis=1)):
                found.setdefault(int(row), f"The reading {name!r} is not finite.")
        return found

    def _look(
        self,
        allowed: np.ndarray,
        observation: Mapping[str, np.ndarray],
        since: float,
        stopped: dict[int, str],
    ) -> None:
        """Joints that push too long and hands that left their box."""
        measured = self.interface.measured
        pushing = np.zeros(allowed.shape, bool)
        if measured is not None:
            pushing |= np.abs(allowed - observation[measured]) > self.limits.error
        if self._force is not None:
            pushing |= np.abs(observation[self._force]) > self.limits.force
        self._pushing_s = np.where(pushing, self._pushing_s + max(since, 0.0), 0.0)
        for row, servo in np.argwhere(self._pushing_s > self.limits.patience_s):
            joint = self.interface.commands[servo]
            evidence = self._evidence(allowed, observation, int(row), int(servo))
            stopped.setdefault(
                int(row),
                f"{joint!r} has been pushing for {self._pushing_s[row, servo]:.1f} s: {evidence}.",
            )
        if self.limits.box is not None and self.place is not None and measured is not None:
            self._look_at_hands(self.place(observation[measured]), self.limits.box, stopped)

    def _evidence(
        self, allowed: np.ndarray, observation: Mapping[str, np.ndarray], row: int, servo: int
    ) -> str:
        if self._force is not None:
            force = abs(observation[self._force][row, servo])
            if force > self.limits.force[servo]:
                return f"it needs {force:.2f}, and {self.limits.force[servo]:.2f} is the limit"
        assert self.interface.measured is not None
        off = abs(allowed[row, servo] - observation[self.interface.measured][row, servo])
        return f"it is {off:.2f} from its target, and {self.limits.error[servo]:.2f} is the limit"

    @staticmethod
    def _look_at_hands(places: np.ndarray, box: Box, stopped: dict[int, str]) -> None:
        outside = (places < box.low) | (places > box.high)
        for row, axis in np.argwhere(outside):
            low, high, at = box.low[axis], box.high[axis], places[row, axis]
            stopped.setdefault(
                int(row),
                f"The hand is at {'xyz'[axis]} = {at:.3f} m, and may be from {low:.3f} to "
                f"{high:.3f} m.",
            )
