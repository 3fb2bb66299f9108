"""How much success differs between draws, beyond the luck of the episodes of each."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

_LEAST, _MOST = 0.5, 1e5  # of the concentration: from all or nothing to no difference at all


def concentration(successes: np.ndarray, n: int) -> float:
    """Of a Beta that success is drawn from, once for each draw; large where draws hardly differ.

    The most likely one for a beta-binomial of the observed mean, under a weak prior against
    extremes, so that a handful of draws cannot claim that they are all alike.
    """
    mean = _mean(successes, n)

    def cost(log_size: float) -> float:
        size = np.exp(log_size)
        a, b = mean * size, (1.0 - mean) * size
        log_likelihood = special.betaln(successes + a, n - successes + b) - special.betaln(a, b)
        return -float(log_likelihood.sum()) + 0.5 * (log_size - np.log(20.0)) ** 2 / 9.0

    found = optimize.minimize_scalar(cost, bounds=(np.log(_LEAST), np.log(_MOST)), method="bounded")
    return float(np.exp(found.x))  # type: ignore[attr-defined]


def shares(fresh: np.ndarray, paired: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(draws,) twice: the Beta that the share of each draw follows.

    Draws borrow from one another as much as they are alike: raw shares of a few episodes each would
    pass the luck of starts off as a difference between robots. What they borrow is learned from
    `fresh` starts alone: those of trials are the same for all, and their luck does not average out.

    Args:
        fresh: (draws, n) success from starts that no two draws share.
        paired: (draws, k) success from the starts of trials.
    """
    successes, n = fresh.sum(axis=1), fresh.shape[1]
    mean = _mean(successes, n)
    size = concentration(successes, n) if len(successes) > 1 else 1.0
    yes, no = (successes + paired.sum(axis=1), (n - successes) + (~paired).sum(axis=1))
    return yes + size * mean, no + size * (1.0 - mean)


def _mean(successes: np.ndarray, n: int) -> float:
    total = n * len(successes)
    return float((successes.sum() + 0.5) / (total + 1.0))
