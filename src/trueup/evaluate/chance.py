"""How sure a counted share is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from scipy import special

from trueup.errors import TrueupError

Method = Literal["wilson", "jeffreys", "exact"]


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a share (Wilson 1927), sound also at 0 and at 1."""
    if n == 0:
        return 0.0, 1.0
    z = float(special.ndtri(0.5 + 0.5 * confidence))
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    # rounding must not put what was seen outside: at 0 of 1,000 the lower end was 2e-19
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def jeffreys(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The central mass of the Beta posterior of a share, from Jeffreys' prior Beta(1/2, 1/2).

    At 0 and at n successes the open side is closed (Brown, Cai and DasGupta 2001), or the interval
    would leave out what was seen.
    """
    a, b = successes + 0.5, n - successes + 0.5
    return _beta_interval((a, b), (a, b), successes, n, confidence)


def exact(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval that never covers too little (Clopper and Pearson 1934), and so is wide."""
    low = (successes, n - successes + 1)
    high = (successes + 1, n - successes)
    return _beta_interval(low, high, successes, n, confidence)


def _beta_interval(
    low: tuple[float, float], high: tuple[float, float], successes: int, n: int, confidence: float
) -> tuple[float, float]:
    tail = 0.5 - 0.5 * confidence
    return (
        0.0 if successes == 0 else float(special.betaincinv(*low, tail)),
        1.0 if successes == n else float(special.betaincinv(*high, 1.0 - tail)),
    )


_METHODS: dict[str, Callable[[int, int, float], tuple[float, float]]] = {
    "wilson": wilson,
    "jeffreys": jeffreys,
    "exact": exact,
}


def share_interval(
    successes: int, n: int, *, method: Method = "wilson", confidence: float = 0.95
) -> tuple[float, float]:
    """The interval of a share, by the method of that name."""
    if method not in _METHODS:
        raise TrueupError(
            f"There is no interval named {method!r}.", fix=f"Take one of {', '.join(_METHODS)}."
        )
    if not 0.0 < confidence < 1.0:
        raise TrueupError(
            f"An interval of confidence {confidence} cannot be given.",
            fix="Give a share between 0 and 1, such as 0.95.",
        )
    return _METHODS[method](successes, n, confidence)
