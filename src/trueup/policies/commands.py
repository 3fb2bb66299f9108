"""From readings to a network's input, and from its answer to commands: what sim and robot share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Drive:
    """How a network's answers, one per servo in [-1, 1], become position targets.

    A target is where the joint is now plus a share of its `lead`, so that an answer is nearly a
    force: zero lets go, one pulls with what the servo has. A target that were moved from where the
    *target* was would wind up against whatever blocks the joint, and would have to unwind before
    the joint returns. Targets then move no faster than `rate`, and stay inside their limits.

    Attributes:
        low: (nu,) smallest targets.
        high: (nu,) largest targets.
        lead: (nu,) furthest that an answer puts a target ahead of its joint.
        rate: (nu,) fastest that a target may move, per second.
        period_s: Time between commands.
    """

    low: np.ndarray
    high: np.ndarray
    lead: np.ndarray
    rate: np.ndarray
    period_s: float

    def moved(self, targets: np.ndarray, answer: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Targets (n, nu) after one answer (n, nu), where the joints read (n, nu)."""
        wanted = joints + np.clip(answer, -1.0, 1.0) * self.lead
        step = self.rate * self.period_s
        return np.clip(np.clip(wanted, targets - step, targets + step), self.low, self.high)


class Memory:
    """The last few inputs of n policies, newest first, and the targets they have moved so far.

    A network that sees several of them can notice what one reading hides: delay, speed, a servo
    that does not follow.

    Args:
        n: How many policies.
        width: Numbers of one observation.
        servos: Number of targets.
        history: How many inputs the network sees.
    """

    def __init__(self, n: int, width: int, servos: int, history: int) -> None:
        self.targets = np.zeros((n, servos))
        self._width, self._frame = width, width + servos
        self._seen = np.zeros((n, history * self._frame), np.float32)
        self._spare = self._seen.copy()

    def begin(self, rows: np.ndarray | slice, observation: np.ndarray, targets: np.ndarray) -> None:
        """Start episodes in some rows, as if all had always been as it is now."""
        self.targets[rows] = targets
        frame = np.concatenate([observation, targets], axis=1)
        self._seen[rows] = np.tile(frame, self._seen.shape[1] // self._frame)

    def see(self, observation: np.ndarray) -> None:
        """Take in what is observed now, after the targets were sent."""
        seen, self._spare = self._spare, self._seen
        seen[:, self._frame :] = self._spare[:, : -self._frame]
        seen[:, : self._width] = observation
        seen[:, self._width : self._frame] = self.targets
        self._seen = seen

    @property
    def input(self) -> np.ndarray:
        """(n, history * (width + servos)) what the network sees.

        Live, for no copy is made: it holds until `see` was called twice more.
        """
        return self._seen
