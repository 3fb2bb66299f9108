"""A watchdog: breaks a turn of a loop that does not end."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from trueup.hardware.guard import Stopped


class Watchdog:
    """Raises `Stopped` in the loop that it watches, when nobody fed it for a while of real time.

    A position servo holds still while nothing new is sent, so a loop that hangs is not yet a robot
    that runs away; but nobody looks after it any more. The watchdog breaks into a policy that
    computes for ever and into a read from a bus that never answers. It works by a timer signal, so
    it watches the main thread only; elsewhere the guard still sees the stall, once the turn ends.

    Args:
        limit_s: Longest turn.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s, self.stage = limit_s, "the first turn"
        self._before: Any = None
        self._armed = False

    def feed(self, stage: str) -> None:
        """All is well, and this is what is done next: `observe`, `infer`, `act`."""
        self.stage = stage
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, self.limit_s)

    def rest(self) -> None:
        """Nothing is expected for now."""
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGALRM, self._bark)
            self._armed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._armed:
            self.rest()
            self._armed = False
            signal.signal(signal.SIGALRM, self._before)

    def _bark(self, number: int, frame: FrameType | None) -> None:
        raise Stopped(
            f"The loop stood still for {self.limit_s:.2g} s of real time in {self.stage!r}.",
            fix="Look at the policy where it was `infer`, at the cable where it was not.",
        )
