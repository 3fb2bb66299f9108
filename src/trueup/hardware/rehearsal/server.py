"""The process of a rehearsal robot: it owns the truth and the physics, and answers messages.

`open_robot` starts `main` in a new process with one end of a socket pair. Its orders come on
standard input, so that no command line names the reality. It ends when the other end of the line
does.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.reality import Reality, read_reality
from trueup.hardware.rehearsal.cells import Cells, MujocoCells
from trueup.hardware.rehearsal.introduction import introduced
from trueup.hardware.rehearsal.orders import Orders
from trueup.hardware.rehearsal.wire import PROTOCOL, BadFrame, Line, LineClosed, Message
from trueup.worlds import get

_FINEST_S = 0.005  # s; a clock of the wall is stepped in physics steps of at most this
_BEHIND_S = 0.25  # s; a server that falls behind by more does not make up for it in a burst
_LONGEST = 10_000  # ticks in one message


def opened(orders: Orders) -> Cells:
    """The bodies that were ordered."""
    reality = read_reality(orders.reality)
    world = get(orders.world or reality.world)
    step_s = float(world.model.opt.timestep)
    fine_s = max(1, int(_FINEST_S / step_s + 1e-9)) * step_s
    return _engine(reality)(
        reality,
        world,
        orders.cells,
        period_s=orders.period_s,
        tick_s=fine_s if orders.realtime else None,
        threads=orders.threads or (1 if orders.cells == 1 else 0),
    )


def _engine(reality: Reality) -> Callable[..., Cells]:
    if reality.engine == "mujoco":
        return MujocoCells
    from trueup.hardware.bullet import BulletCells  # PyBullet is an optional extra

    return BulletCells


class Refusal(TrueupError):
    """What a driver asked for and cannot have: the only errors that it hears the words of."""


class Server:
    """Answers one connection after the other, and lets time pass.

    Args:
        cells: The bodies.
        realtime: Whether time passes by itself, by the wall's clock, or only when waited for.
    """

    def __init__(self, cells: Cells, *, realtime: bool = False) -> None:
        self._cells, self._realtime = cells, realtime
        self._ticks, self._resets = 0, 0
        self._behind_from = time.perf_counter()
        self._door: socket.socket | None = None
        self._deeds: dict[str, Callable[[Message], None]] = {
            "connect": lambda message: self._cells.power(False),
            "enable": lambda message: self._cells.power(True),
            "disable": lambda message: self._cells.power(False),
            "observe": lambda message: None,
            "act": self._act,
            "pass": self._pass,
            "reset": self._reset,
        }
        self._begin(np.arange(cells.n), None)

    def answer(self, line: Line) -> None:
        """Serve one connection until it ends; torque is off then."""
        try:
            while True:
                self._wait(line)
                if not self._answered(line):
                    return
        except LineClosed:
            return
        finally:
            self._cells.power(False)
            line.close()

    def listen(self, door: socket.socket) -> None:
        """Serve whoever comes, one at a time, until interrupted."""
        while True:
            self._wait(door)
            line = Line(door.accept()[0])
            self._door = door
            self.answer(line)
            self._door = None

    # --------------------------------------------------------------------------------------------

    def _wait(self, source: Line | socket.socket) -> None:
        """Until something is there to read; meanwhile time passes, if it does so by itself."""
        if isinstance(source, Line) and source.begun:
            return
        awaited = [source, *([self._door] if self._door else [])]
        while source not in (ready := select.select(awaited, [], [], self._until_tick_s())[0]):
            if self._door in ready:
                self._turn_away(self._door)
            self._catch_up()
        self._catch_up()

    def _turn_away(self, door: socket.socket | None) -> None:
        """A robot has one driver."""
        assert door is not None
        line = Line(door.accept()[0])
        with suppress(LineClosed):
            told = Refusal("Somebody else is driving this robot.", fix="Wait until they are done.")
            line.send(_refusal(told))
        line.close()

    def _until_tick_s(self) -> float | None:
        if not self._realtime:
            return None
        due = self._behind_from + (self._ticks + 1) * self._cells.tick_s
        return max(0.0, due - time.perf_counter())

    def _catch_up(self) -> None:
        """The ticks that are due."""
        if not self._realtime:
            return
        behind = time.perf_counter() - self._behind_from - self._ticks * self._cells.tick_s
        if behind > _BEHIND_S:
            self._behind_from += behind - self._cells.tick_s
            behind = self._cells.tick_s
        for _ in range(int(behind / self._cells.tick_s + 1e-9)):
            self._tick()

    def _tick(self) -> None:
        self._cells.step()
        self._ticks += 1

    def _answered(self, line: Line) -> bool:
        """Answer one message; false where nothing more can be said on this line."""
        try:
            message = line.receive(timeout_s=10.0)
        except (BadFrame, TimeoutError) as error:
            told = error if isinstance(error, BadFrame) else BadFrame("it stopped in the middle")
            line.send(_refusal(told))
            return False
        words, arrays, goes_on = self._answer(message)
        line.send({**words, "question": message.words.get("question")}, arrays)
        return goes_on

    def _answer(self, message: Message) -> tuple[dict[str, Any], dict[str, np.ndarray], bool]:
        """What to say, and whether more can be said after it."""
        try:
            if message.words.get("do") == "hello":
                return self._hello(message), {}, True
            self._deed(message)(message)
            return {"time_s": self._ticks * self._cells.tick_s}, self._shown(), True
        except Refusal as error:
            return _refusal(error), {}, True
        except Exception:
            traceback.print_exc()  # for whoever runs the server; the truth stays here
            return {"error": "The rehearsal robot failed inside.", "lost": True}, {}, False

    def _hello(self, message: Message) -> dict[str, Any]:
        spoken = message.words.get("protocol")
        if spoken != PROTOCOL:
            raise Refusal(
                f"This robot speaks version {PROTOCOL} of the protocol, not {spoken!r}.",
                fix="Use the same trueup on both sides.",
            )
        return {"robot": introduced(self._cells, realtime=self._realtime).model_dump()}

    def _deed(self, message: Message) -> Callable[[Message], None]:
        word = message.words.get("do")
        if word not in self._deeds:
            raise Refusal(
                f"A rehearsal robot cannot {word!r}.", fix=f"It can: {', '.join(self._deeds)}."
            )
        return self._deeds[word]

    def _shown(self) -> dict[str, np.ndarray]:
        """All that a robot shows: what it senses, and what an onlooker sees."""
        cells = self._cells
        seen = {f"observation/{name}": values for name, values in cells.observation.items()}
        return {**seen, "hold": cells.hold, "success": cells.success, "over": cells.over}

    # Deeds --------------------------------------------------------------------------------------

    def _act(self, message: Message) -> None:
        face, commands = self._cells.interface, message.arrays.get("commands")
        wanted = (self._cells.n, len(face.commands))
        if commands is None or commands.shape != wanted or not np.isfinite(commands).all():
            raise Refusal(
                "The commands are missing, of another shape or not finite.",
                fix=f"Send finite numbers of shape {wanted}.",
            )
        self._cells.command(np.clip(commands, face.low, face.high))

    def _pass(self, message: Message) -> None:
        ticks = message.words.get("ticks")
        if self._realtime or type(ticks) is not int or not 0 <= ticks <= _LONGEST:
            raise Refusal(
                f"Time cannot pass by {ticks!r} ticks here.",
                fix=f"Ask for 0 to {_LONGEST}, on a simulated clock.",
            )
        if "commands" in message.arrays:
            self._act(message)
        for _ in range(ticks):
            self._tick()

    def _reset(self, message: Message) -> None:
        rows = message.arrays.get("rows", np.arange(self._cells.n))
        inside = rows.ndim == 1 and ((rows >= 0) & (rows < self._cells.n)).all()
        seeds = message.arrays.get("seeds")
        if (
            not inside
            or (np.diff(rows) <= 0).any()
            or (seeds is not None and len(seeds) != len(rows))
        ):
            raise Refusal(
                "There are no such bodies, or not one seed for each.",
                fix=f"Give rising rows from 0 to {self._cells.n - 1}, and a seed for each.",
            )
        self._begin(rows, seeds)

    def _begin(self, rows: np.ndarray, seeds: np.ndarray | None) -> None:
        """Begin episodes; without seeds, by the next ones of a count that starts at 0."""
        if seeds is None:
            seeds = np.arange(self._resets, self._resets + len(rows))
            self._resets += len(rows)
        self._cells.reset(rows, np.asarray(seeds, np.uint64))


def _refusal(error: TrueupError) -> dict[str, Any]:
    return {"error": error.what, "fix": error.fix}


def main() -> None:
    """Serve the one line whose number is the only argument; orders come on standard input."""
    line = Line(socket.socket(fileno=int(sys.argv[1])))
    orders = Orders(**json.loads(sys.stdin.readline()))
    try:
        server = Server(opened(orders), realtime=orders.realtime)
    except TrueupError as error:  # of the reality file, and before there is a robot
        line.send(_refusal(error))
        return
    server.answer(line)
