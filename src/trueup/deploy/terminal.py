"""The operator at a terminal: single keys while the robot runs, questions in between."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from trueup.deploy.trials import Operator
from trueup.hardware import Keys, Robot, Stopped

KEYS = "space: stop at once · y: it succeeded · n: it failed · r: again"
_WORDS = {"y": "success", "n": "failure", "r": "redo", " ": "stop", "q": "stop", "\x1b": "stop"}


class Terminal(Operator):
    """Asks and listens during a `with`.

    Args:
        robot: Whose clock runs on while somebody thinks.
        say: Called with what to tell the operator.
    """

    def __init__(self, robot: Robot, say: Callable[[str], None]) -> None:
        self._robot, self._say, self._keys = robot, say, Keys()
        self.present = self._keys.there

    def reset(self, trial: int) -> None:
        self._ask(
            f"Trial {trial}: put everything in its place, then press Enter (q stops).", "\n\rq"
        )

    def verdict(self, trial: int) -> str:
        return _WORDS[
            self._ask(f"Trial {trial}: did it succeed? y, n, or r to do it again.", "ynr")
        ]

    def turn(self) -> str | None:
        key = self._keys.pressed()
        return None if key is None else _WORDS.get(key.lower())

    def preflight_turn(self) -> None:
        """For turns of preflight: a stop key ends it."""
        if self.turn() == "stop":
            raise Stopped("The operator stopped it.", asked=True)

    def release(self) -> None:
        """Before torque goes off a real arm, which then falls."""
        if self._robot.real and self.present:
            self._ask("It holds still. Support it, then press Enter: torque goes off.", "\n\r")

    def __enter__(self) -> Self:
        self._keys.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keys.__exit__(kind, error, trace)

    def _ask(self, question: str, wanted: str) -> str:
        self._say(question)
        key = self._keys.chosen(wanted, self._robot.clock)
        if key == "q":
            raise Stopped("The operator stopped it.", asked=True)
        return key
