"""How many trials a wanted interval takes, with simulation and without."""

from __future__ import annotations

import math

from scipy import special

_MOST = 1_000_000


def half_width_alone(share: float, trials: float, confidence: float = 0.9) -> float:
    """Half the width of Wilson's interval of so many trials, at this share."""
    if trials <= 0:
        return 0.5
    square = _z(confidence) ** 2
    root = share * (1.0 - share) / trials + square / (4.0 * trials**2)
    return math.sqrt(square * root) / (1.0 + square / trials)


def trials_alone(share: float, half_width: float, confidence: float = 0.9) -> int:
    """How many trials give an interval of this half width, if nothing but trials is known."""
    if half_width_alone(share, _MOST, confidence) > half_width:
        return _MOST
    low, high = 0, _MOST
    while high - low > 1:
        middle = (low + high) // 2
        enough = half_width_alone(share, middle, confidence) <= half_width
        low, high = (low, middle) if enough else (middle, high)
    return high


def trials_more(
    now: float, wanted: float, spread_of_a_trial: float, confidence: float = 0.9
) -> int:
    """How many more trials narrow an interval of half width `now` to the one that is wanted.

    What is known now counts as trials of the same spread: precisions add up.

    Args:
        now: Half the width of the interval.
        wanted: Half the width that is wanted.
        spread_of_a_trial: Variance of one trial around what simulation says of it.
        confidence: Of both intervals.
    """
    if now <= wanted:
        return 0
    square = _z(confidence) ** 2
    return max(1, math.ceil(spread_of_a_trial * square * (wanted**-2 - now**-2)))


def _z(confidence: float) -> float:
    return float(special.ndtri(0.5 + 0.5 * confidence))
