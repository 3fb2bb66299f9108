"""How joints answer their commands, from recordings alone, and when they answer later than usual.

A servo's answer is nearly linear: where a joint is, is a sum of what it was told during the last
half second. The weights are fitted to all other episodes, so that an episode does not explain
away its own fault. What is left along the speed of that answer is time: δ seconds late at speed v
is δ·v off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS

_MEMORY_S = 0.5
_WINDOW_S = 1.0
_MOVES_RAD = 0.05
_RIDGE, _SMOOTH = 1e-5, 3e-4  # of the commands' mean square
_WRONG_RAD = 0.4  # further off is a stall, not an answer
_FURTHEST_S, _FINE_S = 0.2, 0.002
_SIZE_RAD = 1e-3  # of an error that every model has


@dataclass(frozen=True, kw_only=True)
class Lags:
    """How much later than usual the joints of an episode answer, second by second.

    Attributes:
        begin_s: (w,) where each window begins.
        lag_s: (w,)
        std_s: (w,) how uncertain, were the errors independent.
    """

    begin_s: np.ndarray
    lag_s: np.ndarray
    std_s: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One joint of one episode beside what its commands let expect.

    Attributes:
        expected: (m,)
        off: (m,) measured less expected; 0 where that says nothing.
        speed: (m,) of what is expected, in rad/s.
        weights: (taps,) of the commands, the newest first; they sum to about 1.
        told: (m, taps) the commands that each reading answers.
        size: A usual error, in rad.
    """

    expected: np.ndarray
    off: np.ndarray
    speed: np.ndarray
    weights: np.ndarray
    told: np.ndarray
    size: float


class Answers:
    """The answers of all joints of some episodes.

    Args:
        episodes: Which.
        own: Whether an episode counts for what is expected of it, as it always does where it is
            alone. What is wrong with a whole episode shows only where it does not.
    """

    def __init__(self, episodes: Sequence[Episode], *, own: bool = False) -> None:
        self.episodes = tuple(episodes)
        self.own = own or len(self.episodes) == 1

    def lags(self, i: int) -> Lags:
        """Of episode i."""
        time_s = self.episodes[i][JOINTS].time_s
        up, down = np.zeros(len(time_s)), np.zeros(len(time_s))
        for answer in self.of(i).values():
            width = max(3, round(_WINDOW_S / self.episodes[i].period_s))
            off, speed = _fast(answer.off, width), _fast(answer.speed, width)
            up -= off * speed / answer.size**2
            down += speed**2 / answer.size**2
        edges = np.arange(time_s[0], time_s[-1], _WINDOW_S) if len(time_s) else np.zeros(0)
        first = np.searchsorted(time_s, edges)
        first = first[np.diff(first, append=len(time_s)) > 0]
        if not len(first):
            return Lags(begin_s=np.zeros(0), lag_s=np.zeros(0), std_s=np.zeros(0))
        power = np.maximum(np.add.reduceat(down, first), 1e-12)
        return Lags(
            begin_s=time_s[first],
            lag_s=np.add.reduceat(up, first) / power,
            std_s=1.0 / np.sqrt(power),
        )

    def shift(self, i: int, begin_s: float, end_s: float) -> float:
        """How much later than usual the joints of episode i answer between two moments."""
        time_s = self.episodes[i][JOINTS].time_s
        rows = (time_s >= begin_s) & (time_s < end_s)
        tried = np.arange(-_FURTHEST_S, _FURTHEST_S, _FINE_S)
        misfit = np.zeros(len(tried))
        for answer in self.of(i).values():
            read = (answer.expected + answer.off)[rows]
            for k, late_s in enumerate(tried):
                due = np.interp(time_s[rows] - late_s, time_s, answer.expected)
                misfit[k] += np.var(read - due) / answer.size**2
        return float(tried[misfit.argmin()])

    def of(self, i: int) -> dict[str, Answer]:
        """The joints of episode i that move, by name."""
        joints, found = self.episodes[i][JOINTS], {}
        for name in joints.names:
            told, read = self._parts[i].get(name, (None, None))
            weights = None if told is None else self._weights(name, i)
            if told is None or read is None or weights is None:
                continue
            full = _design(told)
            expected = full @ weights
            off = read - expected
            off = np.where(np.isfinite(off) & (np.abs(off) < _WRONG_RAD), off, 0.0)
            found[name] = Answer(
                expected=expected,
                off=off,
                speed=np.nan_to_num(_slope(expected, joints.time_s)),
                weights=weights[:-1],
                told=told,
                size=float(1.4826 * np.median(np.abs(off - np.median(off)))) + _SIZE_RAD,
            )
        return found

    # --------------------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
        """Of each episode and joint: what it was told lately (m, taps), and what it read (m,)."""
        return [dict(_told_and_read(episode)) for episode in self.episodes]

    @cached_property
    def _products(self) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
        """Of each episode and joint: the normal equations of its weights."""
        found = []
        for parts in self._parts:
            row = {}
            for name, (told, read) in parts.items():
                known = np.isfinite(read) & (np.abs(read - told[:, 0]) < _WRONG_RAD)
                x = _design(told[known])
                row[name] = (x.T @ x, x.T @ read[known])
            found.append(row)
        return found

    def _weights(self, name: str, skip: int) -> np.ndarray | None:
        """(taps + 1,) of the commands and of a constant, from all episodes but maybe one."""
        size = len(self._products[skip][name][1])
        some = [
            p[name]
            for k, p in enumerate(self._products)
            if name in p and len(p[name][1]) == size and (k != skip or self.own)
        ]
        if not some:
            return None
        square, right = sum(p[0] for p in some), sum(p[1] for p in some)
        bends = np.diff(np.eye(size - 1), axis=0)
        scale = float(np.diag(square)[:-1].mean()) + 1e-12
        hold = np.zeros((size, size))
        hold[:-1, :-1] = scale * (_RIDGE * np.eye(size - 1) + _SMOOTH * bends.T @ bends)
        hold[-1, -1] = 1e-9 * scale
        return np.linalg.solve(square + hold, right)


def command_at(episode: Episode, time_s: np.ndarray) -> np.ndarray:
    """(m, joints) what each joint was told last, in the joints' order; NaN where it was not."""
    command, joints = episode[COMMAND], episode[JOINTS]
    latest = np.searchsorted(command.time_s, time_s + 1e-9, side="right") - 1
    rows = np.asarray(command.values, float)[np.maximum(latest, 0)]
    found = np.full((len(time_s), len(joints.names)), np.nan)
    for k, name in enumerate(joints.names):
        if name in command.names:
            found[:, k] = rows[:, command.names.index(name)]
    return found


def filled(values: np.ndarray) -> np.ndarray:
    """(m,) readings with NaN bridged; all zero where there is nothing else."""
    values = np.asarray(values, float)
    finite = np.isfinite(values)
    if finite.all() or not finite.any():
        return np.nan_to_num(values)
    rows = np.arange(len(values))
    return np.interp(rows, rows[finite], values[finite])


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of each stretch that is true."""
    steps = np.diff(np.concatenate([[0], np.asarray(flags, np.int8), [0]]))
    first, last = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _told_and_read(episode: Episode) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    joints = episode[JOINTS]
    taps = max(3, round(_MEMORY_S / episode.period_s) + 1)
    late = [command_at(episode, joints.time_s - i * episode.period_s) for i in range(taps)]
    for k, name in enumerate(joints.names):
        told = np.stack([rows[:, k] for rows in late], axis=1)
        if np.isfinite(told).all() and len(told) and np.ptp(told[:, 0]) > _MOVES_RAD:
            yield name, (told, np.asarray(joints.values[:, k], float))


def _design(told: np.ndarray) -> np.ndarray:
    return np.concatenate([told, np.ones((len(told), 1))], axis=1)


def _slope(values: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    rising = np.maximum.accumulate(time_s + 1e-9 * np.arange(len(time_s)))
    return np.gradient(values, rising) if len(values) > 1 else np.zeros_like(values)


def _fast(values: np.ndarray, width: int) -> np.ndarray:
    """What is left of a signal (m,) when its moving mean is taken away."""
    if len(values) < width:
        return values - values.mean()
    kernel = np.ones(width)
    counts = np.convolve(np.ones(len(values)), kernel, "same")
    return values - np.convolve(values, kernel, "same") / counts
