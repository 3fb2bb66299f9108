"""Where in recordings a sensor can be heard alone: at rest, and when a motion is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.identify.answers import runs

_SETTLED_S = 1.0  # after a command, until a joint is at rest
_SHORTEST_S = 0.5
_ENOUGH_S = 5.0
_CONSTANT_RAD = 1e-5  # from command to command
_CREEP_RAD = 0.05  # a joint that goes further within one rest was not at rest
_NEIGHBOURS = 25  # readings whose middle says where a joint is, however noisy each of them
_PACKET = 3  # columns that do not all read the same twice but where nothing was read
_REPEAT_S = 2.0
_LEAD_S = 1.0  # before that: what came earlier no longer shows
_SAME_RAD = 2e-4
_MOVES_RAD = 0.05
_ANCHORS = 16  # of each episode
_MOST_REPEATS = 200


@dataclass(frozen=True, kw_only=True)
class Rest:
    """A stretch in which a column could only have read the same.

    Attributes:
        values: (k,) readings.
        period_s: Between them.
        episode: Which.
        fresh: (k,) whether any column of the signal read otherwise than the moment before; all
            where that is unknown.
    """

    values: np.ndarray
    period_s: float
    episode: int
    fresh: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """The same commands twice, and before that for long enough to begin alike.

    Attributes:
        first: Where they occur first: (episode, begin_s, end_s).
        second: The same of the second.
        moving: The joints that are told to move.
    """

    first: tuple[int, float, float]
    second: tuple[int, float, float]
    moving: frozenset[str]


def rests_of(episodes: Sequence[Episode], signal: str, column: str) -> list[Rest]:
    """Where a column of a signal was at rest, in all episodes.

    All joints must be, as a joint that moves shakes the others. Where that hardly ever happens, it
    is enough for an encoder that its own joint is.
    """
    found = list(_rests(episodes, signal, column, own=False))
    if signal != JOINTS or sum(len(r.values) * r.period_s for r in found) > _ENOUGH_S:
        return found
    return list(_rests(episodes, signal, column, own=True))


def _rests(episodes: Sequence[Episode], signal: str, column: str, *, own: bool) -> Iterator[Rest]:
    for number, episode in enumerate(episodes):
        if signal not in episode.signals or column not in episode[signal].names:
            continue
        channel = episode[signal]
        values = np.asarray(channel.values[:, channel.names.index(column)], float)
        fresh = _fresh(channel)
        for begin, end in _still_times(episode, signal, column if own else None):
            rows = np.flatnonzero((channel.time_s >= begin) & (channel.time_s <= end))
            if len(rows) < 5 or not np.isfinite(values[rows]).all():
                continue
            period = float(np.diff(channel.time_s[rows]).mean())
            if period > 0:
                anew = None if fresh is None else fresh[rows]
                yield Rest(values=values[rows], period_s=period, episode=number, fresh=anew)


def _fresh(channel: Channel) -> np.ndarray | None:
    """(m,) which readings are not the last ones again; one or two columns may be so by chance."""
    if len(channel.names) < _PACKET:
        return None
    anew = (np.diff(np.asarray(channel.values, float), axis=0) != 0.0).any(axis=1)
    return np.concatenate([[True], anew])


def _still_times(
    episode: Episode, signal: str, column: str | None
) -> Iterator[tuple[float, float]]:
    """From when to when one joint, or every joint, is told to stay and does."""
    if COMMAND not in episode.signals:
        channel = episode[signal]  # nobody tells it to move: a sensor on a bench
        if len(channel):
            yield float(channel.time_s[0]), float(channel.time_s[-1])
        return
    command = episode[COMMAND]
    some = [command.names.index(column)] if column in command.names else slice(None)
    values = np.asarray(command.values, float)[:, some]
    steps = np.abs(np.diff(values, axis=0)).max(axis=1)
    for first, last in runs(steps < _CONSTANT_RAD):
        begin, end = command.time_s[first] + _SETTLED_S, float(command.time_s[last + 1])
        if end - begin >= _SHORTEST_S and _at_rest(episode, column, begin, end):
            yield begin, end


def _at_rest(episode: Episode, column: str | None, begin_s: float, end_s: float) -> bool:
    """Whether the joint, or every joint, stays where it is."""
    if JOINTS not in episode.signals:
        return True
    joints = episode[JOINTS]
    rows = (joints.time_s >= begin_s) & (joints.time_s <= end_s)
    some = [joints.names.index(column)] if column in joints.names else slice(None)
    part = np.asarray(joints.values, float)[rows][:, some]
    if not len(part):
        return False
    near = median_filter(part, size=(min(_NEIGHBOURS, len(part)), 1), mode="nearest")
    return bool((np.ptp(near, axis=0) < _CREEP_RAD).all())


def repeats_of(episodes: Sequence[Episode]) -> list[Repeat]:
    """Motions that were commanded twice in the same way, each to its nearest later repetition."""
    found: list[Repeat] = []
    tables = [_table(episode) for episode in episodes]
    for e, episode in enumerate(episodes):
        lead, rows = (round(s / episode.period_s) for s in (_LEAD_S, _LEAD_S + _REPEAT_S))
        for a in _anchors(tables[e], lead, rows):
            for f in range(e, len(tables)):
                after = a + rows if f == e else 0
                b = _found_again(tables[e], a, tables[f], rows, after=after)
                if b is not None:
                    command = episode[COMMAND], episodes[f][COMMAND]
                    found.append(
                        Repeat(
                            first=(e, *_times(command[0], a + lead, rows - lead)),
                            second=(f, *_times(command[1], b + lead, rows - lead)),
                            moving=_moving(command[0], a + lead, rows - lead),
                        )
                    )
                    break
            if len(found) >= _MOST_REPEATS:
                return found
    return found


def _table(episode: Episode) -> np.ndarray:
    if COMMAND not in episode.signals:
        return np.zeros((0, 0))
    return np.asarray(episode[COMMAND].values, float)


def _anchors(table: np.ndarray, lead: int, rows: int) -> np.ndarray:
    """Rows from which on some seconds of moving commands are looked for again."""
    if len(table) < rows:
        return np.zeros(0, int)
    tried = np.linspace(0, len(table) - rows, _ANCHORS).astype(int)
    moves = [np.ptp(table[a + lead : a + rows], axis=0).max() > _MOVES_RAD for a in tried]
    return np.unique(tried[np.array(moves, bool)])


def _found_again(
    table: np.ndarray, a: int, other: np.ndarray, rows: int, *, after: int
) -> int | None:
    """The first row of the same commands in another table: a few rows first, then all."""
    last = len(other) - rows + 1
    if other.shape[1:] != table.shape[1:] or last <= after:
        return None
    starts = np.arange(after, last)
    for k in (0, rows // 2, rows // 4, 3 * rows // 4, rows - 1):
        starts = starts[(np.abs(other[starts + k] - table[a + k]) < _SAME_RAD).all(axis=1)]
    for b in starts:
        if (np.abs(other[b : b + rows] - table[a : a + rows]) < _SAME_RAD).all():
            return int(b)
    return None


def _times(command: Channel, a: int, rows: int) -> tuple[float, float]:
    return float(command.time_s[a]), float(command.time_s[a + rows - 1])


def _moving(command: Channel, a: int, rows: int) -> frozenset[str]:
    way = np.ptp(np.asarray(command.values, float)[a : a + rows], axis=0)
    return frozenset(n for n, w in zip(command.names, way, strict=True) if w > _MOVES_RAD)
