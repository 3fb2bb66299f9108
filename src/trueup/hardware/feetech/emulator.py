"""The emulated bus at work: bytes in, bytes out, in real time.

`serve_bus` runs it here until it is told to stop; `EmulatedArm` runs it in a process of its own, as
an arm is apart from its host, and lets its owner plant faults and ask for the truth.
"""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.feetech.arm import Arm
from trueup.hardware.feetech.calibration import Calibration, model_ranges
from trueup.hardware.feetech.faults import Faults
from trueup.hardware.feetech.line import Line
from trueup.hardware.feetech.mounting import Mounting
from trueup.hardware.feetech.packets import Parser
from trueup.hardware.feetech.terminal import Terminal

_IDLE_S = 0.05  # a silent bus lets time pass this often
_BROKEN_OFF_S = 0.02  # a packet that pauses for longer is not waited for


def serve_bus(
    arm: Arm,
    *,
    mounting: Mounting | None = None,
    faults: Faults | None = None,
    link: Path | str | None = None,
    announce: Callable[[str], None] = lambda path: None,
    keep_on: Callable[[Line], bool] = lambda line: True,
    listen_to: int | None = None,
    seed: int = 0,
) -> None:
    """Answer on a new pseudo-terminal until `keep_on` says no or Ctrl-C comes.

    Args:
        arm: The body behind the servos.
        mounting: How they sit in it; the usual one by default.
        faults: What is wrong from the start.
        link: Another path for the port.
        announce: Called once with the port's path, when it is ready.
        keep_on: Asked between packets, and may change the line.
        listen_to: A file descriptor; something to read there ends a wait at once.
        seed: Of what the faults draw.
    """
    line = Line(arm, mounting, seed=seed)
    line.plant(faults or Faults())
    terminal = Terminal(link)
    try:
        announce(terminal.path)
        _exchange(line, terminal, keep_on, () if listen_to is None else (listen_to,))
    except KeyboardInterrupt:
        pass
    finally:
        terminal.close()


def _exchange(
    line: Line, terminal: Terminal, keep_on: Callable[[Line], bool], others: tuple[int, ...]
) -> None:
    line.zero_s = zero = time.perf_counter() - line.arm.time_s
    parser, heard_s = Parser(), 0.0
    replies: list[tuple[float, int, bytes]] = []
    count = 0
    while keep_on(line):
        now = time.perf_counter() - zero
        while replies and replies[0][0] <= now:
            terminal.write(heapq.heappop(replies)[2])
        wait = min(_IDLE_S, replies[0][0] - now) if replies else _IDLE_S
        data = terminal.read(wait, *others)
        now = time.perf_counter() - zero
        if not data:
            line.advance(now)
            continue
        if now > heard_s + _BROKEN_OFF_S:
            parser.forget()
        heard_s, baud_rate = now, terminal.baud_rate
        for packet in parser.feed(data):
            for reply in line.hear(packet, now, baud_rate):
                count += 1
                heapq.heappush(replies, (reply.due_s, count, reply.data))


class EmulatedArm:
    """An emulated SO-101 on a pseudo-terminal, in a process of its own.

    What stands on the bus is what a real arm shows. The rest is for whoever owns the process: a
    test, or a rehearsal that plants faults and checks what was noticed.

    Args:
        reality: The truth, by name or file; the nominal world by default.
        world: Where the arm stands; the reality's own by default.
        mounting: How the servos sit in it.
        faults: What is wrong from the start.
        link: Another path for the port.
        seed: Of everything that is drawn.
    """

    def __init__(
        self,
        reality: str | Path | None = None,
        *,
        world: str | None = None,
        mounting: Mounting | None = None,
        faults: Faults | None = None,
        link: Path | str | None = None,
        seed: int = 0,
    ) -> None:
        self.mounting = mounting or Mounting()
        self.faults = faults or Faults()
        self.port = ""
        self._order: dict[str, Any] = {
            "reality": None if reality is None else str(reality),
            "world": world,
            "mounting": asdict(self.mounting),
            "faults": asdict(self.faults),
            "link": None if link is None else str(link),
            "seed": seed,
        }
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        """Start the process; `port` is the path to open."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trueup.hardware.feetech.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the owner, who still wants to let go of it
            text=True,
        )
        try:
            self.port = self._ask(self._order)["port"]
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the process; the port vanishes."""
        if self._process is not None:
            process, self._process = self._process, None
            with process:
                assert process.stdin is not None
                try:
                    process.stdin.close()  # its sign to end
                    process.wait(5.0)
                except (OSError, subprocess.TimeoutExpired):
                    process.kill()

    def plant(self, faults: Faults) -> None:
        """Make these faults true from now on, and mend all others."""
        self._ask({"plant": asdict(faults)})
        self.faults = faults

    def take_in_hand(self, pose: np.ndarray | None) -> None:
        """Move the limp joints (6,) to some angles, rad, as a person would; None lets go."""
        self._ask({"hand": None if pose is None else np.asarray(pose, float).tolist()})

    @property
    def joints(self) -> np.ndarray:
        """(6,) where the joints really are, rad."""
        return np.array(self._ask({"truth": "joints"})["joints"])

    def commands(self) -> list[tuple[float, float]]:
        """When each goal came and when it took effect, s on `time.perf_counter`."""
        return [(a, b) for a, b in self._ask({"truth": "commands"})["commands"]]

    @property
    def calibrations(self) -> dict[str, Calibration]:
        """What LeRobot's calibration of this arm would find."""
        return self.mounting.calibrations(model_ranges())

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            raise TrueupError("The emulated arm is not running.", fix="Start it first.")
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise TrueupError("The process of the emulated arm has ended.", fix="Start it again.")
        answer = json.loads(line)
        if "error" in answer:
            raise TrueupError(answer["error"]["what"], fix=answer["error"]["fix"])
        return answer

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
