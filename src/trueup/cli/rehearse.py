"""`trueup rehearse`: a robot that hides its truth, for whoever has none at hand."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.options import Count, Machine
from trueup.errors import TrueupError
from trueup.hardware.rehearsal.door import ADDRESS, door
from trueup.hardware.rehearsal.orders import Orders


@dataclass(frozen=True, kw_only=True)
class Rehearse(Machine):
    """Start a robot that hides its truth, for those with none at hand.

    It plays an arm at a REALITY in a process of its own, prints how to connect to it, and tells
    nothing of its truth to whatever connects. Without REALITY, the realities are listed. What is
    measured on it is sim-to-sim. Ctrl-C stops it.

    trueup rehearse garage --cells 50
    """

    reality: Annotated[Positional[str | None], arg(metavar="REALITY")] = None
    """A name from the list, or a JSON file of your own."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """By default the one that the reality names."""
    cells: Count = 1
    """How many bodies, each with its own piece of work."""
    realtime: bool = False
    """Let time pass by itself, as at a real arm, instead of only while it is waited for."""
    rate: Annotated[float | None, arg(metavar="HZ")] = None
    """Commands a second; the world's own by default."""
    address: Annotated[str, arg(metavar="ADDRESS")] = ADDRESS
    """Where to wait: tcp:HOST:PORT (port 0 takes any free one) or unix:PATH."""
    bus: bool = False
    """Answer as the servo bus of an SO-101 on a pseudo-terminal instead, in real time."""
    link: Annotated[Path | None, arg(metavar="PATH")] = None
    """With --bus, a path of your choice that leads to the port."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """List, or serve until stopped."""
        self._check()
        if self.reality is None:
            self._list()
        elif self.bus:
            self._serve_bus(self.reality)
        else:
            self._serve(self.reality)

    def _check(self) -> None:
        if self.link and not self.bus:
            raise TrueupError("--link is for a bus, and --bus was not given.", fix="Give --bus.")
        if self.bus and (self.cells != 1 or self.address != ADDRESS or self.rate is not None):
            raise TrueupError(
                "A bus has one arm on its own port, and its driver sets the rate, but --cells, "
                "--address or --rate was given.",
                fix="Leave them out, or leave out --bus.",
            )

    def _list(self) -> None:
        from trueup.hardware.reality import read_reality, realities

        stories = {name: read_reality(name).story for name in realities()}
        if self.json:
            show.print_json([{"name": name, "story": story} for name, story in stories.items()])
            return
        rows = show.table("reality", "story", keep=("reality",))
        for name, story in stories.items():
            rows.add_row(name, story)
        out = show.console()
        out.print(rows)
        out.print("`trueup rehearse REALITY` starts one.", style="dim")

    def _serve(self, reality: str) -> None:
        from trueup.hardware.rehearsal.server import Server, opened

        orders = Orders(
            reality=reality,
            world=self.world,
            cells=self.cells,
            realtime=self.realtime,
            period_s=None if self.rate is None else _period_s(self.rate),
            threads=self.threads,
        )
        _end_when_told()
        with door(self.address) as (listening, address):
            try:
                cells = opened(orders)
                server = Server(cells, realtime=self.realtime)
                self._tell(cells.world.name, 1.0 / cells.interface.period_s, address)
                server.listen(listening)
            except KeyboardInterrupt:
                pass

    def _serve_bus(self, reality: str) -> None:
        from trueup.hardware.feetech import Arm, serve_bus

        _end_when_told()
        serve_bus(Arm.rehearsed(reality, self.world), link=self.link, announce=self._tell_port)

    def _tell_port(self, port: str) -> None:
        if self.json:
            show.print_json({"cells": 1, "realtime": True, "robot": f"so101:{port}"})
        else:
            print("The servo bus of an SO-101, emulated, in real time. Sim-to-sim.")
            print(f"Connect with  --robot so101:{port}")
            print("Stop with     Ctrl-C")
        sys.stdout.flush()

    def _tell(self, world: str, rate_hz: float, address: str) -> None:
        if self.json:
            facts = {"world": world, "cells": self.cells, "realtime": self.realtime}
            show.print_json({**facts, "rate_hz": rate_hz, "robot": address})
        else:
            bodies = "one body" if self.cells == 1 else f"{self.cells} bodies"
            clock = "in real time" if self.realtime else "on a simulated clock"
            print(f"A rehearsal robot for {world}: {bodies}, {rate_hz:g} Hz, {clock}. Sim-to-sim.")
            print(f"Connect with  --robot {address}")
            print("Stop with     Ctrl-C")
        sys.stdout.flush()  # whoever reads it through a pipe waits for it


def _end_when_told() -> None:
    """Let Ctrl-C and a plain kill end it tidily, also where a shell began it in the background."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def _period_s(rate_hz: float) -> float:
    if not 0 < rate_hz < float("inf"):
        raise TrueupError(f"--rate is {rate_hz}.", fix="Give commands a second, such as 50.")
    return 1.0 / rate_hz
