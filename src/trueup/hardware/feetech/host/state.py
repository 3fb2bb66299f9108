"""What all servos sense at one moment, from one sync read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.hardware.feetech.registers import Register, register

_SENSED = (
    "Present_Position",
    "Present_Velocity",
    "Present_Load",
    "Present_Voltage",
    "Present_Temperature",
    "Status",
    "Present_Current",
)
FIRST = register(_SENSED[0]).address
"""Where the registers that are read begin."""

LENGTH = register(_SENSED[-1]).address + register(_SENSED[-1]).size - FIRST
"""How many bytes they take; one packet brings them all."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What the servos sense, one count of its register for each, in the order asked."""

    position: np.ndarray
    velocity: np.ndarray
    load: np.ndarray
    voltage: np.ndarray
    temperature: np.ndarray
    status: np.ndarray
    current: np.ndarray

    @classmethod
    def of(cls, reader: Any, ids: list[int]) -> State:
        """From the SDK's group that has just been answered."""
        found = {
            known.name: np.array([_value(reader, known, id_) for id_ in ids])
            for known in map(register, _SENSED)
        }
        return cls(
            **{name.removeprefix("Present_").lower(): values for name, values in found.items()}
        )


def _value(reader: Any, known: Register, id_: int) -> int:
    raw = reader.getData(id_, known.address, known.size)
    return known.decoded(int(raw).to_bytes(known.size, "little"))
