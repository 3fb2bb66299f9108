"""`python -m trueup.hardware.feetech.process`: an emulated arm, steered by JSON lines.

The first line says what to build, the answer has the port. Each later line is a request of
`EmulatedArm`. The end of the input ends the process, so that none outlives its owner.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.feetech.arm import Arm
from trueup.hardware.feetech.emulator import serve_bus
from trueup.hardware.feetech.faults import Faults
from trueup.hardware.feetech.line import Line
from trueup.hardware.feetech.mounting import Mounting

_PRIORITY = -10


class Owner:
    """The other end of standard input and output."""

    def __init__(self) -> None:
        self._unread = b""
        self.gone = False

    def request(self, *, wait: bool) -> dict[str, Any] | None:
        """The next request; None where there is none yet, or never again."""
        while b"\n" not in self._unread and not self.gone:
            if not wait and not select.select([0], [], [], 0.0)[0]:
                return None
            data = os.read(0, 65536)
            self.gone = not data
            self._unread += data
        if self.gone:
            return None
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def tell(self, answer: dict[str, Any]) -> None:
        """Answer in one line."""
        os.write(1, json.dumps(answer).encode() + b"\n")

    def refuse(self, error: TrueupError) -> None:
        """Answer with what is wrong."""
        self.tell({"error": {"what": error.what, "fix": error.fix}})


def main() -> None:
    """Build the arm of the first request, then answer on both sides until the owner is gone."""
    with suppress(OSError):  # servos do not wait for other programs; where this is allowed
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    owner = Owner()
    order = owner.request(wait=True)
    if order is None:
        return
    try:
        arm = Arm.rehearsed(order["reality"], order["world"], seed=order["seed"])
        serve_bus(
            arm,
            mounting=Mounting(**{k: _tupled(v) for k, v in order["mounting"].items()}),
            faults=Faults.from_json(order["faults"]),
            link=order["link"],
            announce=lambda path: owner.tell({"port": path}),
            keep_on=lambda line: _attend(owner, line),
            listen_to=0,
            seed=order["seed"],
        )
    except TrueupError as error:
        owner.refuse(error)
        sys.exit(2)


def _attend(owner: Owner, line: Line) -> bool:
    """Answer what the owner asks; whether it is still there."""
    while (request := owner.request(wait=False)) is not None:
        try:
            owner.tell(_answer(request, line))
        except TrueupError as error:
            owner.refuse(error)
    return not owner.gone


def _answer(request: dict[str, Any], line: Line) -> dict[str, Any]:
    line.advance(time.perf_counter() - line.zero_s)
    match request:
        case {"plant": faults}:
            line.plant(Faults.from_json(faults))
        case {"hand": pose}:
            line.take_in_hand(None if pose is None else np.array(pose))
        case {"truth": "joints"}:
            return {"joints": line.arm.truth.tolist()}
        case {"truth": "commands"}:
            zero = line.zero_s
            times = [[zero + c.received_s, zero + c.effective_s] for c in line.commands]
            return {"commands": times}
    return {}


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


if __name__ == "__main__":
    main()
