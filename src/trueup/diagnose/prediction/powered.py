"""Prediction-powered inference: real trials, made to count for more by simulation.

It assumes nothing of the simulator. Where simulation says nothing of a trial's outcome, the tuned
power is nil and the trials stand alone (Angelopoulos, Duchi and Zrnic 2023, "PPI++").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from trueup.errors import TrueupError
from trueup.evaluate import wilson

FEWEST = 5
"""Pairs below which no power can be tuned."""
_FEWEST_OF_A_KIND = 2  # successes and failures below which the trials stand alone
_DOUBT = 0.5  # pairs of opposite outcomes that may have been missed by luck


@dataclass(frozen=True, kw_only=True)
class Powered:
    """A share of success from real trials, helped by simulation.

    Attributes:
        share: The estimate.
        low: Lower end of its interval.
        high: Upper end.
        power: How far simulation is followed, from 0 (not at all) to 1.
        worth: How many trials without simulation would be as sure.
        why_alone: Why the trials stand alone, where they do.
    """

    share: float
    low: float
    high: float
    power: float
    worth: float
    why_alone: str = ""


def powered(
    done: ArrayLike, said: ArrayLike, fresh: ArrayLike, *, confidence: float = 0.9
) -> Powered:
    """Success on the robot, from trials and from what simulation says of them and of other starts.

    The interval is Wilson's for as many trials as the variance is worth, with Student's quantile:
    near 0 and 1 the normal one of the papers leaves the truth out far too often.

    Args:
        done: (n,) outcomes of the trials.
        said: (n,) for the start of each, the chance of success in simulation.
        fresh: (N,) of starts that were never tried: their chances, or outcomes in the same robots.
        confidence: Of the interval.
    """
    y, f, rest = (np.asarray(a, float).ravel() for a in (done, said, fresh))
    n, yes = len(y), int(y.sum())
    if len(f) != n or not len(rest):
        raise TrueupError(
            f"{n} trials have {len(f)} predictions, and there are {len(rest)} fresh ones.",
            fix="Give one for each trial, and at least one for a fresh start.",
        )
    why = _why_alone(n, yes, f)
    if why:
        low, high = wilson(yes, n, confidence)
        share = yes / n if n else 0.5
        return Powered(share=share, low=low, high=high, power=0.0, worth=n, why_alone=why)
    power = _power(y, f, float(rest.var()) / len(rest))
    share = float(np.clip(y.mean() + power * (rest.mean() - f.mean()), 0.0, 1.0))
    left = y - power * f
    within = (float(((left - left.mean()) ** 2).sum()) + _DOUBT) / (n - 2)
    variance = within / n + power**2 * float(rest.var()) / len(rest)
    spread = max(float(y.var(ddof=1)), share * (1.0 - share))
    worth = max(spread / variance, 0.5 * n)
    z = float(special.stdtrit(n - 2, 0.5 + 0.5 * confidence))
    low, high = _wilson(share, worth, z)
    return Powered(share=share, low=low, high=high, power=power, worth=worth)


def _why_alone(n: int, yes: int, said: np.ndarray) -> str:
    if n < FEWEST:
        return f"{n} trials with a known start are too few to weigh simulation by"
    if min(yes, n - yes) < _FEWEST_OF_A_KIND:
        kind = "successes" if yes < n - yes else "failures"
        return f"{min(yes, n - yes)} {kind} among {n} trials are too few to weigh simulation by"
    return "" if said.std() > 0.0 else "simulation says the same of every trial"


def _power(y: np.ndarray, f: np.ndarray, doubt: float) -> float:
    """What leaves the least variance, where the mean of fresh starts has the variance `doubt`."""
    together, own = float(((y - y.mean()) * (f - f.mean())).mean()), float(f.var())
    return float(np.clip(together / (own + len(y) * doubt), 0.0, 1.0))


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    square = z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))
