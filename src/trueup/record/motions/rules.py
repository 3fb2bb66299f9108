"""What ends a movement early: a finger that meets something, a thing that slips."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.worlds.kinematics import ForwardKinematics

Observation = Mapping[str, np.ndarray]
Watch = Callable[[Observation, np.ndarray], np.ndarray]
"""From an observation and the commands (n, nu) sent last to (n,) whether to go no further."""


class Rule(ABC):
    """Watches robots while they move; a rule that needs a reading a robot lacks never holds."""

    @abstractmethod
    def begun(self, n: int, period_s: float) -> Watch:
        """A fresh watch over n robots."""


@dataclass(frozen=True, kw_only=True)
class Stalled(Rule):
    """A joint that is told to move on and does not: its position error has settled.

    Attributes:
        column: The joint, among the commands.
        signal: The observation that holds the joints' positions.
        error_rad: How far the command must be ahead.
        still_rad: How little the joint may have moved meanwhile.
        window_s: For how long.
    """

    column: int
    signal: str
    error_rad: float = 0.06
    still_rad: float = 0.008
    window_s: float = 0.2

    def begun(self, n: int, period_s: float) -> Watch:
        seen: deque[np.ndarray] = deque(maxlen=max(2, round(self.window_s / period_s) + 1))

        def watch(observation: Observation, commands: np.ndarray) -> np.ndarray:
            joint = observation[self.signal][:, self.column]
            seen.append(joint.copy())
            ahead = np.abs(commands[:, self.column] - joint) > self.error_rad
            if len(seen) < (seen.maxlen or 0):
                return np.zeros(n, bool)
            return ahead & (np.ptp(np.stack(seen), axis=0) < self.still_rad)

        return watch


@dataclass(frozen=True, kw_only=True)
class Slipped(Rule):
    """A held thing that no longer is where the hand took it.

    Attributes:
        hand: Where the hand is, by the nominal model.
        signal: The observation that holds the joints' positions.
        place: The observation that holds the thing's place.
        distance_m: How far it must have moved in the hand.
    """

    hand: ForwardKinematics
    signal: str
    place: str
    distance_m: float = 0.006

    def begun(self, n: int, period_s: float) -> Watch:
        first: list[np.ndarray] = []

        def watch(observation: Observation, commands: np.ndarray) -> np.ndarray:
            if self.place not in observation:
                return np.zeros(n, bool)
            q = observation[self.signal]
            inside = self.hand.into_site(q, observation[self.place] - self.hand(q))
            if not first:
                first.append(inside)
            return np.linalg.norm(inside - first[0], axis=1) > self.distance_m

        return watch
