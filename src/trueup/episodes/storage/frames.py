"""From an episode's own clocks to LeRobot's table of frames, and back without loss.

LeRobot knows one clock: row i of its table is frame i. Here one signal's clock becomes that of the
frames. Whatever ran on another clock gets a held view in the table, for LeRobot, and is kept as it
was beside it, for us.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.episodes.episode import COMMAND, JOINTS, Channel, Episode
from trueup.errors import TrueupError

_NEAR = 0.25  # a clock serves for the frames where its usual step is this close to the period


@dataclass(frozen=True, kw_only=True)
class Extra:
    """What the table of frames cannot hold of one signal or camera.

    Attributes:
        name: Of the signal, or of the camera with `@` before it.
        time_s: (k,) its own clock.
        values: (k, size) its readings where the table shows a held view only; of a camera (k, 1)
            where each picture stands in the video, counted from the episode's first frame.
    """

    name: str
    time_s: np.ndarray
    values: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Framed:
    """An episode as a table.

    Attributes:
        time_s: (n,) when each frame really was.
        columns: By signal, (n, size).
        pictures: By camera, the picture that each place of its video shows, as an index. The
            first n places are the frames'; pictures that no frame shows come after them.
        extras: What is kept beside the table.
    """

    time_s: np.ndarray
    columns: dict[str, np.ndarray]
    pictures: dict[str, np.ndarray]
    extras: list[Extra]

    def __len__(self) -> int:
        return len(self.time_s)


def framed(episode: Episode) -> Framed:
    """Lay an episode out in frames."""
    clock = frame_clock(episode)
    columns, pictures, extras = {}, {}, []
    for name, channel in episode.signals.items():
        if not len(channel):
            raise TrueupError(
                f"The signal {name!r} of an episode has no readings.", fix="Leave it out."
            )
        columns[name], extra = _column(name, channel, clock, episode.period_s)
        extras += extra
    for name, video in episode.videos.items():
        pictures[name], extra = _places(name, video.time_s, clock)
        extras += extra
    return Framed(time_s=clock, columns=columns, pictures=pictures, extras=extras)


def frame_clock(episode: Episode) -> np.ndarray:
    """(n,) when the frames are: the commands', else the joints', else any clock of that period.

    A robot is told something once a frame, so the commands say best what a frame is. Where no
    signal has the period that was meant, the frames lie on a grid.
    """
    order = [n for n in (COMMAND, JOINTS) if n in episode.signals]
    order += [n for n in episode.signals if n not in order]
    clocks = [episode.signals[name].time_s for name in order]
    for clock in clocks:
        if len(clock) > 1 and _fits(clock, episode.period_s):
            return clock
    longest = max(clocks, key=len)
    if len(longest) <= 1:
        return longest
    begin, end = min(c[0] for c in clocks if len(c)), max(c[-1] for c in clocks if len(c))
    return begin + episode.period_s * np.arange(int((end - begin) / episode.period_s + 1e-9) + 1)


def channel(column: np.ndarray, clock: np.ndarray, extra: Extra | None) -> tuple[np.ndarray, ...]:
    """Values and times of a signal again, from its column and what was kept beside it."""
    if extra is None:
        return column, clock
    if extra.values is None:
        return column, extra.time_s
    return extra.values, extra.time_s


def by_name(extras: Iterable[Extra]) -> Mapping[str, Extra]:
    """Extras by signal or camera."""
    return {extra.name: extra for extra in extras}


def held(time_s: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """(n,) the last reading at or before each frame; before the first reading, that one."""
    return np.maximum(np.searchsorted(time_s, clock, side="right") - 1, 0)


def _column(
    name: str, channel: Channel, clock: np.ndarray, period_s: float
) -> tuple[np.ndarray, list[Extra]]:
    times = channel.time_s
    if np.array_equal(times, clock):
        return channel.values, []
    if len(times) == len(clock) and np.abs(times - clock).max() <= period_s:
        return channel.values, [Extra(name=name, time_s=times)]
    view = channel.values[held(times, clock)]
    return view, [Extra(name=name, time_s=times, values=channel.values)]


def _places(name: str, times: np.ndarray, clock: np.ndarray) -> tuple[np.ndarray, list[Extra]]:
    """Which picture each place of the video shows, and where each picture stands."""
    if not len(times):
        raise TrueupError(f"The camera {name!r} of an episode has no pictures.", fix="Leave it out")
    if np.array_equal(times, clock):
        return np.arange(len(clock)), []
    paired = len(times) == len(clock) and np.abs(times - clock).max() <= np.ptp(clock) / len(clock)
    shown = np.arange(len(clock)) if paired else held(times, clock)
    unseen = np.setdiff1d(np.arange(len(times)), shown)
    places = np.concatenate([shown, unseen])
    picture, first = np.unique(places, return_index=True)
    assert len(picture) == len(times)
    return places, [Extra(name=f"@{name}", time_s=times, values=first[:, None])]


def _fits(clock: np.ndarray, period_s: float) -> bool:
    step = float(np.median(np.diff(clock)))
    return abs(step / period_s - 1) <= _NEAR
