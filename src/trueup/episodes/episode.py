"""An episode and its parts, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import TrueupError, UnknownName

COMMAND = "command"
"""The signal that holds what a robot was told: one position target per servo."""

JOINTS = "joint_position"
"""The signal that holds where the servos say they are, in the order of the commands."""


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    ABORTED = "aborted"
    """Stopped before its end, by a person or a safety limit; what was recorded is still true."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """One signal over time. Nothing was resampled on the way in.

    Attributes:
        values: (k, size) readings, in SI units.
        time_s: (k,) when each was taken, rising, on the clock all channels of the episode share.
        unit: Of every column.
        names: Of each column.
    """

    values: np.ndarray
    time_s: np.ndarray
    unit: str
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        values, time_s = np.asarray(self.values), np.asarray(self.time_s, float)
        if values.ndim != 2 or time_s.shape != values.shape[:1]:
            raise TrueupError(
                f"A channel has values of shape {values.shape} and times of shape {time_s.shape}.",
                fix="Give values (k, size) and one time for each of the k rows.",
            )
        if len(self.names) != values.shape[1]:
            raise TrueupError(
                f"A channel has {values.shape[1]} columns and {len(self.names)} names: "
                f"{', '.join(self.names)}.",
                fix="Give one name for each column.",
            )
        if not (np.isfinite(time_s).all() and (np.diff(time_s) >= 0).all()):
            raise TrueupError(
                "The times of a channel do not rise.", fix="Sort its rows by time, without gaps."
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "time_s", time_s)

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, kw_only=True)
class Video:
    """Pictures over time: in memory, or in a file that is decoded when asked.

    Attributes:
        time_s: (k,) when each picture was taken.
        frames: (k, height, width, 3) uint8, or none where they are in a file.
        path: The file, or none where they are in memory.
        begin_s: Where in the file the first picture stands.
    """

    time_s: np.ndarray
    frames: np.ndarray | None = None
    path: Path | None = None
    begin_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One record, sim or real.

    Attributes:
        signals: Channels by name; `command` and `joint_position` are what a servo was told and
            where it was.
        period_s: The time between frames that was meant; the true times are in the channels.
        task: What was to be done, in words.
        outcome: How it ended; none where nobody judged.
        labels: Words to slice by later: object, lighting, person, phase of a study.
        origin: Where it comes from, as JSON: robot, whether it is real, world, policy, seed.
        videos: Pictures by camera.
    """

    signals: Mapping[str, Channel]
    period_s: float
    task: str = ""
    outcome: Outcome | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    videos: Mapping[str, Video] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.signals:
            raise TrueupError(
                "An episode without signals says nothing.", fix="Record at least one."
            )
        if not self.period_s > 0:
            raise TrueupError(
                f"An episode has {self.period_s} s between frames.", fix="Give seconds above 0."
            )

    def __getitem__(self, name: str) -> Channel:
        if name not in self.signals:
            raise UnknownName("signal", name, self.signals)
        return self.signals[name]

    @property
    def duration_s(self) -> float:
        """From the first reading of any channel to the last."""
        times = [c.time_s for c in self.signals.values() if len(c)]
        if not times:
            return 0.0
        return float(max(t[-1] for t in times) - min(t[0] for t in times))
