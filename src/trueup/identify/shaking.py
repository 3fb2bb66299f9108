"""Commands that shake: joints that tremble at every frequency, whether they move or not.

An encoder that is noisy reads positions that jump about, and speeds that have nothing to do with
them. A joint that is shaken really moves: its readings of position and of speed say the same. Gears
that are rough shake it as well, but only while they turn; and no joint as much as the next, where
noise on commands moves all of them alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.effects.actuation import CommandNoise
from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS, SPEEDS
from trueup.replay import Track, replayed
from trueup.space import Prior, Uniform
from trueup.worlds import World

_LOWEST_HZ, _HIGHEST = 7.0, 0.96  # above what motions and servos do; of half the rate of readings
_FIRST_RAD, _LEAST_RAD = 0.02, 0.008  # policies are trained with less than that
_ROUNDS = 2  # joints that stick answer more to much than to little
_ALIKE, _SOMEWHAT = 0.4, 0.2  # correlation of speeds that were read with those positions make
_SLOWLY = 0.4  # of what there is while a joint moves fast, there is while it is slow
_EVEN = 1.25  # times: joints that noise alone moves are off by as many times what it makes of them
_ALL = (0.7, 1.3)  # of how far joints are off: what noise makes of it where it is all there is
_HEARD_RAD = 0.001  # less than a servo's tick
_SURE = 0.2  # of its size


def shaking_readings(
    world: World, episodes: Sequence[Episode], at: Mapping[str, float], *, threads: int = 0
) -> dict[str, Prior]:
    """How noisy commands are when they arrive; nothing where they are as they were sent.

    Little noise is told only where it is all that is left of every joint: there is little of much.

    Args:
        world: The arm without its task.
        episodes: Free motions.
        at: What the arm was identified as.
        threads: CPU threads; 0 takes all.
    """
    having = [e for e in episodes if JOINTS in e.signals and SPEEDS in e.signals]
    if not having or CommandNoise.name not in world.catalogue:
        return {}
    known = {n: v for n, v in at.items() if n in world.catalogue}
    period_s = having[0].period_s
    steady = _replayed(world, having, known, threads)
    heard = _Band([(r[JOINTS].residual[0], r[SPEEDS].residual[0]) for r in steady], period_s)
    if heard.alike < _SOMEWHAT:
        return {}
    noise, found, all_of_it = world.catalogue[CommandNoise.name], _FIRST_RAD, False
    for _ in range(_ROUNDS):
        moved = _replayed(world, having, {**known, CommandNoise.name: found}, threads)
        apart = [_apart(a, b) for a, b in zip(steady, moved, strict=True)]
        answered = _Band(apart, period_s).power
        factor = float(np.clip(np.sqrt(heard.power / max(answered, 1e-12)), 0.1, 4.0))
        all_of_it = _all_of_it(steady, apart, factor)
        found = min(factor * found, noise.high)
    clear = heard.alike >= _ALIKE and _slowly(steady) >= _SLOWLY
    much = clear and found >= _LEAST_RAD
    if not much and not (all_of_it and found >= _HEARD_RAD):
        return {}
    low, high = (1.0 - _SURE) * found, (1.0 + _SURE) * found
    return {CommandNoise.name: Uniform(low, min(high, noise.high))}


def _replayed(
    world: World, episodes: Sequence[Episode], at: Mapping[str, float], threads: int
) -> list[Mapping[str, Track]]:
    return list(replayed(world, episodes, at, signals=[JOINTS, SPEEDS], threads=threads).tracks)


def _apart(steady: Mapping[str, Track], moved: Mapping[str, Track]) -> tuple[np.ndarray, ...]:
    """By how much a shaken arm is elsewhere, and moves otherwise."""
    return tuple(moved[n].simulated[0] - steady[n].simulated[0] for n in (JOINTS, SPEEDS))


def _all_of_it(
    steady: Sequence[Mapping[str, Track]], apart: Sequence[tuple[np.ndarray, ...]], factor: float
) -> bool:
    """Whether every joint is off by as much as noise moves it that is so many times as large."""
    off = _sizes([row[JOINTS].residual[0] for row in steady])
    made = factor * _sizes([positions for positions, _ in apart])
    there = np.isfinite(off) & np.isfinite(made)
    times = off[there] / np.maximum(made[there], 1e-9)
    if not len(times) or times.max() > _EVEN * times.min():
        return False
    return bool(_ALL[0] <= np.median(times) <= _ALL[1])


def _sizes(recordings: Sequence[np.ndarray]) -> np.ndarray:
    """(joints,) root mean square."""
    return np.sqrt((np.concatenate(list(recordings)) ** 2).mean(axis=0))


def _slowly(tracks: Sequence[Mapping[str, Track]]) -> float:
    """How much joints shake while they are slow, as a share of that while they are fast."""
    slow = fast = 0.0
    for track in (row[JOINTS] for row in tracks):
        jerk = np.diff(track.residual[0], 2, axis=0) ** 2
        speed = np.abs(track.simulated[0][2:] - track.simulated[0][:-2])
        for column, way in zip(jerk.T, speed.T, strict=True):
            if np.isfinite(column).all() and len(column):
                low, high = np.quantile(way, [0.25, 0.75])
                slow += float(np.median(column[way <= low]))
                fast += float(np.median(column[way >= high]))
    return slow / max(fast, 1e-18)


@dataclass(frozen=True)
class _Band:
    """Motion at high frequencies, by positions and by speeds, of recordings (m, joints) each."""

    recordings: Sequence[tuple[np.ndarray, ...]]
    period_s: float

    @property
    def power(self) -> float:
        """Of what both agree about, in (rad/s)² for each joint and frequency."""
        together, _, _, count = self._sums()
        return max(together, 0.0) / max(count, 1)

    @property
    def alike(self) -> float:
        """Their correlation."""
        together, told, read, _ = self._sums()
        return together / max(np.sqrt(told * read), 1e-18)

    def _sums(self) -> tuple[float, float, float, int]:
        found = np.zeros(3)
        count = 0
        for positions, speeds in self.recordings:
            made = (positions[2:] - positions[:-2]) / (2.0 * self.period_s)
            read = speeds[1:-1]
            there = np.isfinite(made).all(axis=0) & np.isfinite(read).all(axis=0)
            if not there.any() or len(made) < 2:
                continue
            window = np.hanning(len(made))[:, None] / np.sqrt(0.375 * len(made))
            hz = np.fft.rfftfreq(len(made), self.period_s)
            band = (hz > _LOWEST_HZ) & (hz < 0.5 * _HIGHEST / self.period_s)
            fades = np.sinc(2.0 * hz * self.period_s)[band][:, None]  # over two readings
            a = np.fft.rfft(made[:, there] * window, axis=0)[band] / fades
            b = np.fft.rfft(read[:, there] * window, axis=0)[band]
            found += [np.real(a * b.conj()).sum(), (np.abs(a) ** 2).sum(), (np.abs(b) ** 2).sum()]
            count += a.size
        together, told, read_ = (float(x) for x in found)
        return together, told, read_, count
