"""Several signals as one: LeRobot's policies read no numbers but the robot's state and this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.episodes.episode import COMMAND, JOINTS, Channel, Episode
from trueup.episodes.storage.features import UNSTATED
from trueup.errors import TrueupError

ENVIRONMENT = "environment_state"
"""The signal whose key is LeRobot's `observation.environment_state`."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """One signal that lies in another.

    Attributes:
        name: Its name.
        size: How many numbers.
        unit: Of each of them; `unstated` where nobody said.
    """

    name: str
    size: int
    unit: str


def packed(episode: Episode, names: Sequence[str]) -> Episode:
    """The same episode with some signals joined into one, column by column, in that order.

    Columns are then called SIGNAL.COLUMN, and the unit lists that of every column.
    """
    wrong = next((n for n in names if n in (COMMAND, JOINTS) or n not in episode.signals), None)
    if wrong is not None:
        free = [name for name in episode.signals if name not in (COMMAND, JOINTS)]
        raise TrueupError(
            f"There is no signal {wrong!r} to be made part of the {ENVIRONMENT}; there is "
            f"{', '.join(free) or 'none'}.",
            fix="Choose among those.",
        )
    parts = [episode[name] for name in names]
    for name, part in zip(names, parts, strict=True):
        if not np.array_equal(part.time_s, parts[0].time_s):
            raise TrueupError(
                f"The signals {names[0]!r} and {name!r} are on clocks of their own, so they cannot "
                "be one signal.",
                fix="Record them on one clock, or leave one out.",
            )
    columns = [
        (f"{name}.{column}", part.unit)
        for name, part in zip(names, parts, strict=True)
        for column in part.names
    ]
    joined = Channel(
        values=np.concatenate([part.values.astype(np.float32) for part in parts], axis=1),
        time_s=parts[0].time_s,
        unit=", ".join(unit for _, unit in columns),
        names=tuple(name for name, _ in columns),
    )
    rest = {name: channel for name, channel in episode.signals.items() if name not in names}
    return replace(episode, signals={**rest, ENVIRONMENT: joined})


def parts_of(names: Sequence[str], unit: str) -> tuple[Packed, ...]:
    """Which signals lie in one, by the names of its columns and by its unit."""
    units = unit.split(", ")
    units = units if len(units) == len(names) else [UNSTATED] * len(names)
    found: list[Packed] = []
    for column, of in zip(names, units, strict=True):
        name = column.rpartition(".")[0] or column
        if found and found[-1].name == name:
            found[-1] = replace(found[-1], size=found[-1].size + 1)
        else:
            found.append(Packed(name=name, size=1, unit=of))
    return tuple(found)
