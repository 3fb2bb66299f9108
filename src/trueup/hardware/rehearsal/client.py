"""A rehearsal robot as its driver sees it: the contract, and nothing behind it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.clock import Clock, WallClock
from trueup.hardware.rehearsal.introduction import Introduction
from trueup.hardware.rehearsal.wire import PROTOCOL, Line, LineClosed, Message
from trueup.hardware.robot import Robot, RobotLost

_PATIENCE_S = 60.0  # for one answer
_TICKS_AT_ONCE = 25  # so that Ctrl-C and a lost robot are noticed soon


class RehearsalRobot(Robot):
    """Bodies that live in another process. What comes of them is sim-to-sim.

    On a simulated clock, time passes only while it is waited for, in whole ticks, and everything is
    repeated exactly by the same seeds and commands. In real time it passes by itself.

    Attributes:
        world: The world it plays, as everybody knows it.
        task: What there is to do, in words.
        realtime: Whether time passes by itself.

    Args:
        line: A connection to its process.
        ended: Called once the line is closed, to see the process off.
    """

    kind = "rehearsal"
    real = False

    def __init__(self, line: Line, ended: Callable[[], None] = lambda: None) -> None:
        self._line, self._ended = line, ended
        self._connected = self._enabled = self._gone = self._known = False
        self._questions = 0
        answer = self._asked({"do": "hello", "protocol": PROTOCOL})
        told = Introduction.read(answer.words.get("robot"))
        self.world, self.task, self.realtime = told.world, told.task, told.realtime
        self.name = f"rehearsal robot ({told.world}, sim-to-sim)"
        self.n, self.interface, self.columns = told.cells, told.interface, told.columns
        self.clock: Clock = WallClock() if told.realtime else _TickClock(self, told.tick_s)
        self._low, self._high = np.array(self.interface.low), np.array(self.interface.high)
        self._seen: dict[str, np.ndarray] = {}
        self._hold = np.zeros((self.n, len(self.interface.commands)))
        self._success, self._over = np.zeros(self.n, bool), np.zeros(self.n, bool)
        self._time_s = 0.0
        self._waiting: np.ndarray | None = None  # a command that goes along with the next tick

    def connect(self) -> None:
        self._check_open()
        self._do("connect")
        self._connected = True

    def disconnect(self) -> None:
        if self._gone:
            return
        try:
            if self._connected:
                self.disable()
        except RobotLost:
            pass
        finally:
            self._hang_up()

    def enable(self) -> None:
        self._check_session()
        self._do("enable")
        self._enabled = True

    def disable(self) -> None:
        self._check_session()
        self._do("disable")
        self._enabled, self._waiting = False, None

    def observe(self) -> dict[str, np.ndarray]:
        self._check_session()
        self._look()
        return {name: values.copy() for name, values in self._seen.items()}

    def act(self, commands: np.ndarray) -> np.ndarray:
        self._check_session()
        sent = np.clip(self._checked(commands), self._low, self._high)
        if self.realtime:
            self._do("act", {"commands": sent})
        else:
            self._waiting = sent
        self._hold = sent
        return sent.copy()

    def reset(self, seeds: np.ndarray | None = None, rows: np.ndarray | None = None) -> None:
        self._check_session()
        chosen = np.arange(self.n) if rows is None else np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else np.atleast_1d(chosen)
        arrays: dict[str, np.ndarray] = {"rows": chosen.astype(np.int64)}
        if seeds is not None:
            arrays["seeds"] = self._seeds(seeds, chosen)
        if self._waiting is not None:  # bodies that go on keep their last command
            self._pass(0)
        self._do("reset", arrays)

    @property
    def hold(self) -> np.ndarray:
        return self._hold.copy()

    def verdict(self) -> dict[str, np.ndarray]:
        self._check_session()
        self._look()
        return {"success": self._success.copy(), "over": self._over.copy()}

    # --------------------------------------------------------------------------------------------

    @property
    def time_s(self) -> float:
        """The time in its process, as of its last answer."""
        if self._connected and not self._known:
            self._look()
        return self._time_s

    def pass_ticks(self, ticks: int) -> None:
        """Let simulated time pass; its clock calls this."""
        self._check_session()
        for left in range(ticks, 0, -_TICKS_AT_ONCE):
            self._pass(min(left, _TICKS_AT_ONCE))

    def _pass(self, ticks: int) -> None:
        self._do("pass", {} if self._waiting is None else {"commands": self._waiting}, ticks=ticks)
        self._waiting = None

    def _look(self) -> None:
        """Ask for what the robot shows, where that may have changed since it was last heard."""
        if self.realtime or not self._known:
            self._do("observe")

    def _do(self, deed: str, arrays: dict[str, np.ndarray] | None = None, **words: int) -> None:
        """Ask for a deed, and take in what the robot shows after it."""
        self._known = False  # until it has answered: a wait for it may be broken off
        answer = self._asked({"do": deed, **words}, arrays)
        shown = answer.arrays
        self._seen = {
            feature.name: shown[f"observation/{feature.name}"]
            for feature in self.interface.observations
        }
        self._hold, self._success, self._over = shown["hold"], shown["success"], shown["over"]
        self._time_s, self._known = float(answer.words["time_s"]), True

    def _asked(self, words: dict, arrays: dict[str, np.ndarray] | None = None) -> Message:
        try:
            answer = self._answer(words, arrays)
        except LineClosed:
            raise self._lost("its process ended, or the connection was cut") from None
        except TimeoutError:
            raise self._lost(f"it did not answer for {_PATIENCE_S:.0f} s") from None
        if "error" in answer.words:
            what, fix = (str(answer.words.get(word, "")) for word in ("error", "fix"))
            if answer.words.get("lost"):
                raise self._lost(what[:1].lower() + what[1:].rstrip("."))
            raise TrueupError(what, fix=fix)
        return answer

    def _answer(self, words: dict, arrays: dict[str, np.ndarray] | None) -> Message:
        """Its answer to this question; answers to earlier ones, broken off, are let go."""
        self._questions += 1
        self._line.send({**words, "question": self._questions}, arrays)
        while True:
            answer = self._line.receive(_PATIENCE_S)
            if answer.words.get("question") in (None, self._questions):
                return answer

    def _lost(self, why: str) -> RobotLost:
        name = getattr(self, "name", "rehearsal robot")
        self._hang_up()
        return RobotLost(
            f"The {name} no longer answers: {why}.", fix="Start it again, and open a new one."
        )

    def _hang_up(self) -> None:
        if not self._gone:
            self._gone, self._connected, self._enabled = True, False, False
            self._line.close()
            self._ended()

    def _check_open(self) -> None:
        if self._gone:
            raise RobotLost(
                "The rehearsal robot is not there any more: its line is closed.",
                fix="Open a new one with open_robot.",
            )

    def _check_session(self) -> None:
        self._check_open()
        if not self._connected:
            raise TrueupError(
                f"The {self.name} is not connected.", fix="Call connect() first, or use `with`."
            )
        if self._line.closed():
            raise self._lost("its process ended, or the connection was cut")

    def _checked(self, commands: np.ndarray) -> np.ndarray:
        given, wanted = np.asarray(commands, float), (self.n, len(self.interface.commands))
        if not self._enabled:
            raise TrueupError(
                f"The {self.name} was commanded while its torque is off.", fix="Call enable first."
            )
        if given.shape != wanted:
            raise TrueupError(
                f"A command of shape {given.shape} was given to {self.n} bodies with "
                f"{wanted[1]} servos.",
                fix=f"Give an array of shape {wanted}: {', '.join(self.interface.commands)}.",
            )
        if not np.isfinite(given).all():
            row, servo = np.argwhere(~np.isfinite(given))[0]
            raise TrueupError(
                f"The command for {self.interface.commands[servo]!r} of body {row} is "
                f"{given[row, servo]}.",
                fix="Check the policy's output; commands must be finite.",
            )
        return given

    def _seeds(self, seeds: np.ndarray, rows: np.ndarray) -> np.ndarray:
        given = np.atleast_1d(np.asarray(seeds))
        whole = np.issubdtype(given.dtype, np.integer) and not (given < 0).any()
        if given.shape == (self.n,):
            given = given[rows] if len(rows) != self.n else given
        if not whole or given.shape != rows.shape:
            raise TrueupError(
                f"{len(rows)} bodies were to be reset with {given.size} seeds of type "
                f"{given.dtype}.",
                fix="Give one whole number from 0 for each.",
            )
        return given.astype(np.uint64)


class _TickClock(Clock):
    """Time that passes in whole ticks, and only while it is waited for."""

    def __init__(self, robot: RehearsalRobot, tick_s: float) -> None:
        self._robot, self._tick_s = robot, tick_s

    def now_s(self) -> float:
        return self._robot.time_s

    def wait_until(self, time_s: float) -> None:
        ticks = math.ceil((time_s - self.now_s()) / self._tick_s - 1e-6)
        if ticks > 0:
            self._robot.pass_ticks(ticks)
