"""The step between the values that a sensor can read at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.episodes import Channel

_LEAST_LEVELS = 4
_LEAST_READINGS = 20
_REVISITS = 1.5  # readings for each level, at least: a smooth signal hits each value once
_ROUNDING = 3e-6  # of the largest value: single precision, and numbers printed with six digits
_OFF = 0.05  # of a step: how far values may lie from the lattice (a smooth signal: 0.29)
_MOST_LEVELS = 20_000


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Values that are a whole number of steps apart.

    Attributes:
        step: Between neighbours.
        std: How uncertain the step is, from the rounding of what was stored.
        levels: Different values that were seen.
    """

    step: float
    std: float
    levels: int


def steps_of(channels: Sequence[Channel]) -> np.ndarray:
    """(k,) the step of each column of a signal in several recordings; 0 where it lies on none."""
    values = np.concatenate([np.asarray(channel.values, float) for channel in channels])
    return np.array([0.0 if (found := lattice_of(x)) is None else found.step for x in values.T])


def lattice_of(values: np.ndarray) -> Lattice | None:
    """The lattice of readings (n,), or none where they lie on none."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    levels = np.unique(values)
    if len(values) < _LEAST_READINGS or len(levels) < 2:
        return None
    rounding = _ROUNDING * float(np.abs(levels).max())
    levels = levels[np.concatenate([[True], np.diff(levels) > rounding])]
    few = len(levels) < _LEAST_LEVELS or len(levels) > _MOST_LEVELS
    if few or len(values) < _REVISITS * len(levels):
        return None
    step = _common_step(np.diff(levels), 3.0 * rounding)
    return None if step is None else _refined(levels, step)


def _common_step(gaps: np.ndarray, rounding: float) -> float | None:
    """The largest step that all gaps are multiples of, as Euclid found it."""
    step = float(gaps.min())
    for gap in np.unique(gaps)[:200]:
        a, b = float(gap), step
        while b > rounding:
            rest = a - b * np.rint(a / b)
            a, b = b, abs(rest) if abs(rest) > max(rounding, _OFF * b) else 0.0
        step = a
    return step if step > 10.0 * rounding else None


def _refined(levels: np.ndarray, step: float) -> Lattice | None:
    """The step by least squares over all levels; none where they do not lie on it."""
    counts, first = np.zeros(len(levels)), 0.0
    for _ in range(3):
        counts = np.rint((levels - levels[0]) / step)
        slopes = np.stack([counts, np.ones_like(counts)], axis=1)
        (step, first), *_ = np.linalg.lstsq(slopes, levels, rcond=None)
    off = (levels - first - step * counts) / step
    if np.sqrt(np.mean(off**2)) > _OFF:
        return None
    spread = np.sqrt(np.sum((counts - counts.mean()) ** 2))
    std = float(step * np.std(off) / max(spread, 1.0))
    return Lattice(step=float(step), std=std, levels=len(levels))
