"""A fixed rate, and how well it was kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.hardware.clock import Clock


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How a loop kept its rate.

    Attributes:
        period_s: What was meant.
        began_s: (k,) when each turn began.
        late_s: (k,) how long after its due time.
    """

    period_s: float
    began_s: np.ndarray
    late_s: np.ndarray

    def misses(self, beyond_s: float) -> int:
        """Turns that began later than this after their due time."""
        return int((self.late_s > beyond_s).sum())

    @property
    def periods_s(self) -> np.ndarray:
        """(k - 1,) from each turn to the next."""
        return np.diff(self.began_s)


class Pace:
    """Turns at a fixed rate by a robot's clock.

    Due times lie on a grid from the first turn, so that one late turn does not delay the others. A
    turn that is missed by more than a period is skipped, not made up for in a burst.

    Args:
        clock: Whose time.
        period_s: From one turn to the next.
    """

    def __init__(self, clock: Clock, period_s: float) -> None:
        self.clock, self.period_s = clock, period_s
        self._due: float | None = None
        self._began: list[float] = []
        self._late: list[float] = []

    def wait(self) -> float:
        """Wait for the next turn; the time at which it began."""
        now = self.clock.now_s()
        if self._due is None:
            self._due = now
        else:
            self._due += self.period_s
            if now - self._due > self.period_s:
                self._due += self.period_s * ((now - self._due) // self.period_s)
            self.clock.wait_until(self._due)
            now = self.clock.now_s()
        self._began.append(now)
        self._late.append(max(0.0, now - self._due))
        return now

    @property
    def late_s(self) -> float:
        """How long after its due time the last turn began."""
        return self._late[-1] if self._late else 0.0

    @property
    def timing(self) -> Timing:
        """How the rate was kept so far."""
        return Timing(
            period_s=self.period_s, began_s=np.array(self._began), late_s=np.array(self._late)
        )
