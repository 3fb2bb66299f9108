"""What goes wrong on a bus, planted: lost, broken, late bytes; servos and power that go."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from trueup.errors import TrueupError, UnknownName


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The true state of a bus. The default is a bus in order.

    Attributes:
        command_late_s: A goal takes effect this long after its last byte arrived.
        reply_late_s: A status packet leaves this much later than the servo would send it.
        dropped: Share of status packets that never leave.
        corrupted: Share of status packets with one bit turned.
        missing: Ids of servos that are unplugged: silent and limp.
        alarms: Error bits by id, as an overheated or overloaded servo reports them.
        powered: Whether there is power; without it all servos are silent and limp, and forget.
    """

    command_late_s: float = 0.0
    reply_late_s: float = 0.0
    dropped: float = 0.0
    corrupted: float = 0.0
    missing: tuple[int, ...] = ()
    alarms: dict[int, int] = field(default_factory=dict)
    powered: bool = True

    def __post_init__(self) -> None:
        for name in ("command_late_s", "reply_late_s"):
            if not 0.0 <= getattr(self, name) <= 10.0:
                raise TrueupError(
                    f"A bus with {name} = {getattr(self, name)}.", fix="Give 0 to 10 seconds."
                )
        for name in ("dropped", "corrupted"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise TrueupError(
                    f"A bus with {name} = {getattr(self, name)}.", fix="Give a share from 0 to 1."
                )

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Faults:
        """From the JSON that `dataclasses.asdict` gives."""
        known = [f.name for f in fields(cls)]
        for name in data:
            if name not in known:
                raise UnknownName("bus fault", name, known)
        values = dict(data)
        if "missing" in values:
            values["missing"] = tuple(values["missing"])
        if "alarms" in values:
            values["alarms"] = {int(id_): bits for id_, bits in values["alarms"].items()}
        return cls(**values)
