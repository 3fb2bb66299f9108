"""An episode and its parts, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

SPEEDS = "joint_velocity"
"""The signal that holds how fast the servos say they go, in the same order."""


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
        begin_s: Where in the file place 0 stands.
        rate_hz: Places a second in the file; none where they follow each other as in `time_s`.
        places: (k,) the place of each picture in the file; none where picture k is at place k.
        size: Height and width, where known.
    """

    time_s: np.ndarray
    frames: np.ndarray | None = None
    path: Path | None = None
    begin_s: float = 0.0
    rate_hz: float | None = None
    places: np.ndarray | None = None
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        time_s = np.asarray(self.time_s, float)
        if (self.frames is None) == (self.path is None):
            raise TrueupError(
                "A video has its pictures neither in memory nor in a file, or in both.",
                fix="Give either frames or a path.",
            )
        if not (np.isfinite(time_s).all() and (np.diff(time_s) >= 0).all()):
            raise TrueupError("The times of a video do not rise.", fix="Sort its pictures by time.")
        if self.frames is not None:
            shape, dtype = self.frames.shape, self.frames.dtype
            if len(shape) != 4 or shape[3] != 3 or dtype != np.uint8 or shape[0] != len(time_s):
                raise TrueupError(
                    f"A video has frames {shape} of {dtype} at {len(time_s)} times.",
                    fix="Give (k, height, width, 3) uint8 and one time for each of the k pictures.",
                )
        object.__setattr__(self, "time_s", time_s)

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return self._sides()[0]

    @property
    def width(self) -> int:
        """Pixels from left to right."""
        return self._sides()[1]

    def pictures(self, rows: Sequence[int] | np.ndarray | None = None) -> Iterator[np.ndarray]:
        """The pictures (height, width, 3) uint8, or some of them in rising order, one by one.

        A file that is shorter than it should be is told as an error, where it ends.
        """
        chosen = np.arange(len(self)) if rows is None else np.asarray(rows)
        if self.frames is not None:
            yield from (self.frames[row] for row in chosen)
            return
        assert self.path is not None
        from trueup.episodes.storage.pictures import decode  # PyAV, which most episodes need not

        wanted = self.file_times_s[chosen]
        runs = _rising(wanted)
        streams = [
            decode(self.path, wanted[runs == run]) for run in range(runs.max(initial=-1) + 1)
        ]
        for row, run in zip(chosen, runs, strict=True):
            picture = next(streams[run], None)
            if picture is None:
                raise TrueupError(
                    f"{self.path} ends before picture {row} of {len(self)}.",
                    fix="`trueup episodes validate` lists everything that is wrong with a dataset.",
                )
            yield picture

    @property
    def file_times_s(self) -> np.ndarray:
        """(k,) where each picture stands in the file."""
        places = np.arange(len(self)) if self.places is None else self.places
        if self.rate_hz is None:
            return self.begin_s + self.time_s - self.time_s[0]
        return self.begin_s + places / self.rate_hz

    def _sides(self) -> tuple[int, int]:
        if self.frames is not None:
            return self.frames.shape[1], self.frames.shape[2]
        if self.size is not None:
            return self.size
        picture = next(self.pictures([0]))
        return picture.shape[0], picture.shape[1]


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


def _rising(values: np.ndarray) -> np.ndarray:
    """(k,) a number for each value, so that those with the same number rise: as few as can be."""
    last: list[float] = []
    runs = np.zeros(len(values), int)
    for i, value in enumerate(values):
        run = next((r for r, end in enumerate(last) if end <= value), len(last))
        last[run : run + 1] = [value]
        runs[i] = run
    return runs
