"""Whether simulation puts policies in the order that the robot does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import TrueupError

FEWEST = 3
"""Policies below which an order says nothing."""
_RESAMPLED = 2000


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number with its 90 % interval; none where every policy fared alike."""

    value: float | None
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How well one order of policies agrees with that of the robot.

    Attributes:
        policies: How many.
        pearson: Correlation of the shares.
        spearman: Correlation of the ranks.
        mmrv: Mean maximum rank violation: what the worst wrong choice costs, on average.
    """

    policies: int
    pearson: Figure
    spearman: Figure
    mmrv: Figure

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        figures = {name: getattr(self, name).to_json() for name in _FIGURES}
        return {"policies": self.policies, **figures}


def pearson(said: ArrayLike, real: ArrayLike) -> float:
    """Correlation of two rows of shares; NaN where one of them is all alike."""
    a, b = _pair(said, real)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 1e-12 else float("nan")


def spearman(said: ArrayLike, real: ArrayLike) -> float:
    """Correlation of the ranks; what is equal shares its rank."""
    a, b = _pair(said, real)
    return pearson(_ranks(a), _ranks(b))


def mmrv(said: ArrayLike, real: ArrayLike) -> float:
    """Mean maximum rank violation, as SIMPLER defines it (Li et al. 2024).

    Two policies in the wrong order cost the difference of their real shares; each policy counts
    with its most costly pair. 0 is the right order throughout.
    """
    a, b = _pair(said, real)
    wrong = (a[:, None] > a[None, :]) != (b[:, None] > b[None, :])
    return float((np.abs(b[:, None] - b[None, :]) * wrong).max(axis=1).mean())


_FIGURES: dict[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "mmrv": mmrv,
}


def agreement(said: ArrayLike, successes: ArrayLike, trials: ArrayLike) -> Agreement:
    """The agreement of shares `said` with real trials, policy by policy.

    The intervals hold what the luck of the trials leaves open, by a Bayesian bootstrap of them with
    half a success and half a failure added, so that 20 of 20 is not taken for certainty. The
    policies are taken as given.
    """
    share = np.asarray(said, float)
    yes, n = np.asarray(successes, float), np.asarray(trials, float)
    if len(share) < FEWEST or np.any(n < 1):
        raise TrueupError(
            f"The order of {len(share)} policies cannot be judged.",
            fix=f"Give at least {FEWEST}, each with at least one trial.",
        )
    drawn = np.random.default_rng(0).beta(yes + 0.5, n - yes + 0.5, (_RESAMPLED, len(share)))
    figures = {
        name: _figure(of(share, yes / n), [of(share, real) for real in drawn])
        for name, of in _FIGURES.items()
    }
    return Agreement(policies=len(share), **figures)


def _figure(value: float, resampled: list[float]) -> Figure:
    finite = np.array(resampled)[np.isfinite(resampled)]
    if not np.isfinite(value) or not len(finite):
        return Figure(value=None, low=None, high=None)
    low, high = np.quantile(finite, (0.05, 0.95))
    return Figure(value=value, low=min(value, float(low)), high=max(value, float(high)))


def _ranks(x: np.ndarray) -> np.ndarray:
    below, up_to = (x[:, None] > x).sum(axis=1), (x[:, None] >= x).sum(axis=1)
    return 0.5 * (below + up_to - 1)


def _pair(said: ArrayLike, real: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(said, float).ravel(), np.asarray(real, float).ravel()
    if len(a) != len(b) or not len(a):
        raise TrueupError(
            f"{len(a)} shares cannot be compared with {len(b)}.",
            fix="Give both for every policy, in one order.",
        )
    return a, b
