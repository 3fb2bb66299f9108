"""The truncated normal distribution in plain numpy (quantile by Wichura's AS 241)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

_erfc = np.frompyfunc(math.erfc, 1, 1)

# Wichura (1988), "Algorithm AS 241: The percentage points of the normal distribution", PPND16.
_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_MIDDLE = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
     4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
     2.05319162663775882187, 1.0),
)  # fmt: skip
_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
     0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
     5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
     7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
     0.59983220655588793769, 1.0),
)  # fmt: skip


def cdf(z: ArrayLike) -> np.ndarray:
    """Probability that a standard normal lies below `z`."""
    return np.asarray(0.5 * _erfc(-np.asarray(z, float) / math.sqrt(2.0)), float)


def standard_quantile(p: ArrayLike) -> np.ndarray:
    """The value a standard normal stays below with probability `p`; infinite at 0 and 1."""
    p = np.asarray(p, float)
    q = p - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = q * _ratio(_CENTRE, 0.180625 - q * q)
        r = np.sqrt(-np.log(np.minimum(p, 1.0 - p)))
        outer = np.where(r <= 5.0, _ratio(_MIDDLE, r - 1.6), _ratio(_TAIL, r - 5.0))
    outer = np.where(np.isinf(r), np.inf, outer)
    return np.where(np.abs(q) <= 0.425, centre, np.copysign(outer, q))


def quantile(
    u: ArrayLike,
    mean: float | np.ndarray,
    std: float,
    low: float,
    high: float,
) -> np.ndarray:
    """Values of a normal truncated to [low, high] for uniform numbers `u`.

    Works in the lower tail on both sides, where probabilities keep their precision.
    """
    a, b = np.asarray((low - mean) / std), np.asarray((high - mean) / std)
    flip = a + b > 0
    lower, upper = np.where(flip, -b, a), np.where(flip, -a, b)
    u = np.where(flip, 1.0 - np.asarray(u), np.asarray(u))
    at, to = cdf(lower), cdf(upper)
    # too far out for floats, all of the mass lies at the end nearer to the mean
    z = np.where(to > at, np.clip(standard_quantile(at + u * (to - at)), lower, upper), upper)
    return mean + std * np.where(flip, -z, z)


def mass(mean: float, std: float, low: float, high: float) -> float:
    """Probability of a normal inside [low, high]."""
    a, b = (low - mean) / std, (high - mean) / std
    a, b = (-b, -a) if a + b > 0 else (a, b)
    return float(cdf(b) - cdf(a))


def log_density(x: np.ndarray, mean: float, std: float, low: float, high: float) -> np.ndarray:
    """Natural log of the density of a normal truncated to [low, high]; -inf outside."""
    z = (np.asarray(x) - mean) / std
    inside = -0.5 * z * z - math.log(std * math.sqrt(2.0 * math.pi) * mass(mean, std, low, high))
    return np.where((x >= low) & (x <= high), inside, -np.inf)


def _ratio(tables: tuple[tuple[float, ...], tuple[float, ...]], x: np.ndarray) -> np.ndarray:
    return np.polyval(tables[0], x) / np.polyval(tables[1], x)
