"""Robots by their address."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError
from trueup.hardware.rehearsal.client import RehearsalRobot
from trueup.hardware.rehearsal.door import reached
from trueup.hardware.rehearsal.orders import Orders
from trueup.hardware.rehearsal.wire import Line
from trueup.hardware.robot import Robot

_FORMS = (
    "rehearsal:REALITY[@WORLD] (`trueup rehearse` lists realities), tcp:HOST:PORT or unix:PATH "
    "(what `trueup rehearse REALITY` prints), or so101:PORT for a real arm"
)
_PROGRAM = "from trueup.hardware.rehearsal.server import main; main()"
_GRACE_S = 5.0
_ARM_PERIOD_S = 0.04


def open_robot(
    address: str,
    *,
    cells: int = 1,
    realtime: bool = False,
    period_s: float | None = None,
    threads: int = 0,
    calibration: Path | str | None = None,
) -> Robot:
    """The robot at an address, not yet connected: that is for `with`, or for its `connect`.

    Args:
        address: `rehearsal:REALITY[@WORLD]` starts a rehearsal robot in a process of its own;
            `tcp:HOST:PORT` or `unix:PATH` reaches one that is already running; `so101:PORT` is an
            SO-101 on a serial port.
        cells: Bodies of a rehearsal robot that is started here.
        realtime: Whether its time passes by itself, as a real one's does.
        period_s: Time between commands; its world's own by default.
        threads: CPU threads of its process; 0 takes all.
        calibration: LeRobot's calibration file of a real arm; by default what its servos keep.
    """
    kind, _, rest = address.partition(":")
    chosen = {"cells": cells, "realtime": realtime, "period_s": period_s, "threads": threads}
    if kind == "rehearsal" and rest:
        reality, at, world = rest.rpartition("@")
        return _started(
            Orders(reality=reality if at else rest, world=world if at else None, **chosen)
        )
    if kind in ("tcp", "unix") and rest:
        _refuse_choices(address, chosen)
        return RehearsalRobot(Line(reached(address)))
    if kind == "so101" and rest:
        _refuse_choices(address, {"cells": cells})
        from trueup.hardware.so101 import So101  # its drivers are optional

        return So101(rest, calibration=calibration, period_s=period_s or _ARM_PERIOD_S)
    raise TrueupError(f"There is no robot at {address!r}.", fix=f"Give {_FORMS}.")


def _refuse_choices(address: str, chosen: dict[str, Any]) -> None:
    """What somebody else has decided already cannot be chosen here."""
    defaults = {"cells": 1, "realtime": False, "period_s": None, "threads": 0}
    for name, value in chosen.items():
        if value != defaults[name]:
            raise TrueupError(
                f"{name} cannot be {value} for {address}: it is what it is.",
                fix="Only a rehearsal robot that is started here takes it; for one that waits "
                "somewhere, say it to `trueup rehearse`.",
            )


def _started(orders: Orders) -> RehearsalRobot:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(theirs.fileno())],
        stdin=subprocess.PIPE,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C is for us: we still want to switch the torque off
        text=True,
    )
    theirs.close()
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(orders.to_json() + "\n")
        process.stdin.close()

    def ended() -> None:
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    line = Line(ours)
    try:
        return RehearsalRobot(line, ended)
    except BaseException:
        line.close()
        ended()
        raise
