"""Clocks that a robot may live by: the wall's, or one that runs when it is waited for."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

_SPIN_S = 0.001  # the last bit of a wait is spent awake: a sleeping thread is woken late


class Clock(ABC):
    """Time as the robot has it, in seconds since some moment of its own."""

    @abstractmethod
    def now_s(self) -> float:
        """The time now."""

    @abstractmethod
    def wait_until(self, time_s: float) -> None:
        """Return at that time, or at once where it has passed.

        A simulated robot moves on while it is waited for, and only then.
        """


class WallClock(Clock):
    """Real time, never set back."""

    def __init__(self) -> None:
        self._zero = time.perf_counter()

    def now_s(self) -> float:
        return time.perf_counter() - self._zero

    def wait_until(self, time_s: float) -> None:
        left = time_s - self.now_s()
        if left > _SPIN_S:
            time.sleep(left - _SPIN_S)
        while self.now_s() < time_s:
            pass
