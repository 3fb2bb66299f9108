"""Encoders whose readings wander off, and a fit that is not misled by it.

A random walk of tens of milliradians looks like numbers that are wrong: like a servo too soft to
hold its arm up, and a zero that makes up for it. No number of a fit repeats a walk. What a reading
says beyond the readings before it does not wander, and that is what such a fit compares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.signal import lfilter

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.noise import sensor_noise

SETTLED_S = 1.0
"""After that a joint is where its servo holds it, wherever its encoder said that it began."""

_LEAST = 1.5e-3  # rad/√s, at the lower end: three times what is usual
_MODEL_RAD = 3e-3  # by so much a fitted simulator is off by itself, from reading to reading


def wander_rate(episodes: Sequence[Episode]) -> float:
    """How fast encoders wander, rad/√s; 0 where they were not surely heard to, or hardly do.

    Encoders of an arm are alike, so that two in three have to: what makes loaded joints creep is
    none of their doing, and one of several intervals may well reach too far down.
    """
    try:
        sensors = sensor_noise(episodes, signals=[JOINTS])
    except TrueupError:  # recordings without a rest: nothing is heard
        return 0.0
    heard = [s.drift for s in sensors if s.unit == "rad" and math.isfinite(s.drift.high)]
    lows = sorted(drift.low for drift in heard)
    if not lows or lows[len(lows) // 3] < _LEAST:
        return 0.0
    return float(np.median([drift.value for drift in heard]))


def unforeseen(errors: np.ndarray, wander: float, period_s: float) -> np.ndarray:
    """What errors (p, m) of a walk and of all else differ by from those before foretell.

    The steady state of Kalman's filter for a level that walks. The first reading tells the level.
    """
    walk, other = wander**2 * period_s, _MODEL_RAD**2
    variance = 0.5 * walk + math.sqrt(0.25 * walk**2 + walk * other)  # of a level that is foretold
    gain = variance / (variance + other)
    start = (1.0 - gain) * errors[:, :1]
    level, _ = lfilter([gain], [1.0, gain - 1.0], errors, axis=1, zi=start)
    return np.concatenate([np.zeros_like(start), errors[:, 1:] - level[:, :-1]], axis=1)


def wanders(wander: float) -> str:
    """What is said of it."""
    return (
        f"Encoders wander by {1e3 * wander:.1f} mrad in a second, and further in more: only what a "
        "reading says beyond those before it was compared, so that no zero can be told."
    )
