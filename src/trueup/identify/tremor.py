"""Whether what is left of a fit trembles: one tone in all joints that nobody commanded.

A hand that holds a leader arm shakes it at a steady frequency, from 3 to 12 Hz, and every joint
with a phase of its own. No replay repeats the phases; how much of it there is, is told by how much
of the power that is left lies in one tone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.effects.human import Tremor as Effect
from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.replay import Track, replayed
from trueup.space import Prior, Uniform
from trueup.worlds import World

_LOWEST_HZ, _HIGHEST_HZ = 3.0, 12.0
_FINE = 0.25  # of what a recording's length tells apart
_NEAR_HZ = 1.5
_CLEAR = 15.0  # times the tones around it: what joints answer to commands stands out by 5 at most
_MOSTLY = 0.2  # of what is left: beside it, joints that are shaken answer at other tones, too
_COMMANDED = 0.5  # of the tone: as much of it in the commands, and it is an answer to them
_FIRST_RAD = 0.01  # of trembling, to see how joints answer
_SURE = 0.15  # of its size: no two joints say the same
_SURE_HZ = 0.1
_ROUNDS = 2  # joints that stick answer more to much than to little


@dataclass(frozen=True, kw_only=True)
class Tremor:
    """What one tone in all joints explains.

    Attributes:
        share: Of the power that is left, every joint counted alike.
        frequency_hz: Of the tone.
        clear: How many times as loud it is as the tones around it.
        commanded: How much of it is in the commands, as a share of what is in the joints.
    """

    share: float
    frequency_hz: float
    clear: float
    commanded: float

    @property
    def told(self) -> bool:
        """Whether somebody trembles."""
        return self.clear >= _CLEAR and self.commanded <= _COMMANDED

    @property
    def mostly(self) -> bool:
        """Whether it is what is left, and not a small thing beside others."""
        return self.told and self.share >= _MOSTLY

    def __str__(self) -> str:
        return (
            f"{100 * self.share:.0f} % of what is left is a tone of {self.frequency_hz:.1f} Hz in "
            "all joints that nobody commanded, as where a hand trembles (human/tremor_amplitude)."
        )


def tremor_of(tracks: Sequence[Track], episodes: Sequence[Episode]) -> Tremor | None:
    """What a tone explains of positions that were simulated (at the first point) and measured.

    None where nothing is left, or recordings are too short to tell tones apart.
    """
    heard = [_Heard(track, episode) for track, episode in zip(tracks, episodes, strict=True)]
    heard = [one for one in heard if one.told]
    if not heard:
        return None
    longest = max(one.seconds for one in heard)
    grid = np.arange(_LOWEST_HZ, _HIGHEST_HZ, _FINE / longest)
    share = np.array([_share(heard, f) for f in grid])
    around = [float(np.median(share[np.abs(grid - f) < _NEAR_HZ])) for f in grid]
    clear = share / np.maximum(around, 1e-12)
    k = int(clear.argmax())
    best = float(grid[k])
    told = np.concatenate([one.commands(best) for one in heard])
    joints = np.concatenate([one.amplitudes(best) for one in heard])
    return Tremor(
        share=float(share[k]),
        frequency_hz=best,
        clear=float(clear[k]),
        commanded=float(np.sqrt((told**2).sum() / max((joints**2).sum(), 1e-18))),
    )


def tremor_readings(
    world: World,
    episodes: Sequence[Episode],
    at: Mapping[str, float],
    *,
    threads: int = 0,
) -> dict[str, Prior]:
    """How much a hand trembles, and how fast; where none does, how little it is at most.

    The same recordings are replayed by a hand that trembles a little: how much joints answer to
    that says how much they were shaken.

    Args:
        world: The arm without its task.
        episodes: Free motions.
        at: What the arm was identified as.
        threads: CPU threads; 0 takes all.
    """
    if Effect.amplitude not in world.catalogue:
        return {}
    known = {n: v for n, v in at.items() if n in world.catalogue}
    steady = _replayed(world, episodes, known, threads)
    tremor = tremor_of(steady, episodes)
    if tremor is None:
        return {}
    hz, size = tremor.frequency_hz, world.catalogue[Effect.amplitude]
    off = _amplitudes([track.residual[0] for track in steady], steady, hz)
    found = _FIRST_RAD
    for _ in range(_ROUNDS):
        shaken = {**known, Effect.amplitude: found, Effect.frequency: hz}
        moved = _replayed(world, episodes, shaken, threads)
        apart = [a.simulated[0] - b.simulated[0] for a, b in zip(moved, steady, strict=True)]
        answered = _amplitudes(apart, steady, hz)
        felt = answered > 0.05 * answered.max(initial=0.0)
        if not felt.any():
            return {}
        found = float(np.clip(found * np.median(off[felt] / answered[felt]), 1e-4, size.high))
    if not tremor.told:
        return {Effect.amplitude: Uniform(0.0, found)}
    rate = world.catalogue[Effect.frequency]
    return {
        Effect.amplitude: Uniform((1.0 - _SURE) * found, min((1.0 + _SURE) * found, size.high)),
        Effect.frequency: Uniform(max(hz - _SURE_HZ, rate.low), min(hz + _SURE_HZ, rate.high)),
    }


def _replayed(
    world: World, episodes: Sequence[Episode], at: Mapping[str, float], threads: int
) -> list[Track]:
    found = replayed(world, episodes, at, signals=[JOINTS], threads=threads)
    return [tracks[JOINTS] for tracks in found.tracks]


def _amplitudes(values: Sequence[np.ndarray], tracks: Sequence[Track], hz: float) -> np.ndarray:
    """(joints,) of a tone in each joint, over all recordings."""
    each = [
        _tones(x, track.time_s, hz)[0] for x, track in zip(values, tracks, strict=True) if len(x)
    ]
    return np.sqrt((np.array(each) ** 2).mean(axis=0))


class _Heard:
    """One recording: what is left of its joints, and what they were told."""

    def __init__(self, track: Track, episode: Episode) -> None:
        off = track.residual[0]
        rows, columns = _read(off)
        self.time_s, self.off = track.time_s[rows], off[np.ix_(rows, columns)]
        self.seconds = float(np.ptp(self.time_s)) if len(self.time_s) else 0.0
        self.size = np.sqrt((self.off**2).mean(axis=0)) + 1e-9
        self._command = episode[COMMAND]

    @property
    def told(self) -> bool:
        """Whether there is enough of it."""
        return self.off.shape[1] > 0 and self.seconds * _LOWEST_HZ > 6.0

    def explained(self, hz: float) -> tuple[float, float]:
        """Power of a tone, and of all, every joint counted alike."""
        _, power = _tones(self.off / self.size, self.time_s, hz)
        return float(power.sum()), float(((self.off / self.size) ** 2).sum())

    def amplitudes(self, hz: float) -> np.ndarray:
        """(joints,) of a tone in what is left."""
        return _tones(self.off, self.time_s, hz)[0]

    def commands(self, hz: float) -> np.ndarray:
        """(joints,) of the same tone in the commands."""
        values = np.asarray(self._command.values, float)
        return _tones(values - values.mean(axis=0), self._command.time_s, hz)[0]


def _share(heard: Sequence[_Heard], hz: float) -> float:
    power = np.array([one.explained(hz) for one in heard])
    return float(power[:, 0].sum() / max(power[:, 1].sum(), 1e-18))


def _tones(values: np.ndarray, time_s: np.ndarray, hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Amplitude and power of a tone in each column, by least squares."""
    rows, columns = _read(values)
    amplitude, power = np.zeros((2, values.shape[1]))
    angle = 2.0 * np.pi * hz * time_s[rows]
    waves = np.column_stack([np.sin(angle), np.cos(angle)])
    weights, *_ = np.linalg.lstsq(waves, values[np.ix_(rows, columns)], rcond=None)
    amplitude[columns] = np.sqrt((weights**2).sum(axis=0))
    power[columns] = ((waves @ weights) ** 2).sum(axis=0)
    return amplitude, power


def _read(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m,) moments at which joints were read, and (size,) joints that ever were.

    The first second of a recording may be left out of all joints, and all of it out of one.
    """
    known = np.isfinite(values)
    columns = np.any(known, axis=0)
    return np.all(known[:, columns], axis=1), columns
