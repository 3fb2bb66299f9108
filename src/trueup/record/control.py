"""What an operator may ask of a recording while it runs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from types import FrameType, TracebackType
from typing import Any, Self

from trueup.hardware import Keys

KEYS = "p pauses, q ends the recording and goes back, space stops at once, Ctrl-C is q"


class Ask(StrEnum):
    """What is wanted now."""

    RUN = "run"
    PAUSE = "pause"
    """Come to rest and hold there; the recording goes on."""
    ABORT = "abort"
    """Come to rest, keep what was recorded, bring the arm back."""
    STOP = "stop"
    """Hold still at once, keep what was recorded, go nowhere."""


class Control:
    """An operator who asks for nothing: what a recording has where nobody watches it.

    `asked` is called once a turn, so an answer must not wait.
    """

    def asked(self) -> Ask:
        """What is wanted now."""
        return Ask.RUN

    def ready(self, request: str) -> bool:
        """Ask the operator to do something, and wait until it is done; false to end instead."""
        return True

    def let_go(self, reason: str) -> None:
        """Say why an arm was stopped, and wait until somebody supports it: torque goes off next."""


class Keyboard(Control):
    """Keys of a terminal, and Ctrl-C, during a `with`.

    Args:
        say: Shows the operator a sentence.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._keys, self._say = Keys(), say
        self._ask = Ask.RUN
        self._before: Any = None
        self._caught = False

    def asked(self) -> Ask:
        while key := self._keys.pressed():
            self._take(key.lower())
        return self._ask

    def ready(self, request: str) -> bool:
        if not self._keys.there:
            return True
        self._say(f"{request} Then press Enter; q ends.")
        return self._waited("\n\rq") != "q"

    def let_go(self, reason: str) -> None:
        if self._keys.there:
            self._say(f"{reason} It holds still. Support it and press Enter.")
            self._waited("\n\r")

    def _take(self, key: str) -> None:
        if key == " ":
            self._ask = Ask.STOP
        elif key == "q" and self._ask is not Ask.STOP:
            self._ask = Ask.ABORT
        elif key == "p" and self._ask in (Ask.RUN, Ask.PAUSE):
            self._ask = Ask.RUN if self._ask is Ask.PAUSE else Ask.PAUSE

    def _waited(self, wanted: str) -> str:
        while True:
            key = self._keys.pressed()
            if key is not None and key.lower() in wanted:
                return key.lower()
            if self._ask in (Ask.ABORT, Ask.STOP) and "q" in wanted:
                return "q"
            time.sleep(0.02)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """First ask to end, then to stop; a third Ctrl-C ends the program."""
        if self._ask is Ask.STOP:
            raise KeyboardInterrupt
        self._ask = Ask.STOP if self._ask is Ask.ABORT else Ask.ABORT

    def __enter__(self) -> Self:
        self._keys.__enter__()
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupted)
            self._caught = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._caught:
            signal.signal(signal.SIGINT, self._before)
            self._caught = False
        self._keys.__exit__(kind, error, trace)
