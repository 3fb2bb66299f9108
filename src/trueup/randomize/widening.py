"""One update of the maximum-entropy curriculum: as wide as success and trust allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueup.randomize.betas import Betas

_HALVINGS = 20
_CHANCE = 6.0  # how far, in squared standard errors, a parameter's two numbers stray by chance
_TIGHTEST = 1e4  # natural parameters beyond which a distribution is a point


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Episodes whose outcomes an update goes by.

    Attributes:
        statistics: (n, 2k) of the places they were at.
        log_drawn: (n,) log density with which those were drawn.
        success: (n,) 1 where the episode succeeded, else 0.
    """

    statistics: np.ndarray
    log_drawn: np.ndarray
    success: np.ndarray

    def weights(self, betas: Betas) -> np.ndarray:
        """(n,) importance weights that make these episodes stand for others; they sum to 1."""
        logs = betas.log_density(self.statistics) - self.log_drawn
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    def expected_success(self, betas: Betas) -> float:
        """The success to expect in worlds drawn from `betas`."""
        return float(self.weights(betas) @ self.success)

    def slope(self, betas: Betas) -> tuple[np.ndarray, float]:
        """How success grows with the natural parameters (k, 2), and the slope's variance scale."""
        w = self.weights(betas)
        rest = self.success - w @ self.success
        centred = self.statistics - w @ self.statistics
        slope = (w * rest) @ centred
        return slope.reshape(betas.eta.shape), float((w * w) @ (rest * rest))


def widened(old: Betas, evidence: Evidence, *, target: float, trust: float) -> Betas:
    """The widest distribution near `old` in which success still reaches `target`.

    The problem is DORAEMON's: most entropy, subject to an importance-weighted success of `target`
    and a divergence from `old` of at most `trust`; where the target is out of reach, most success
    instead. It is solved on the plane that matters. In natural parameters the steepest way to more
    entropy, measured by divergence, is straight at the origin, −η; the steepest way to more
    success, g, is the information's inverse times the covariance of success and statistics, one
    2 × 2 block for each parameter. To second order in the step, the optimum is a mixture of the
    two, d = α g + β (−η)⊥, as long as trust allows. Only α is left to find, by bisection on the
    exact estimates. So an update costs some 20 weighted means, whatever the number of parameters.
    """
    down = -old.eta
    metric = old.information()
    towards = _success_direction(old, evidence, metric)
    radius = np.sqrt(2.0 * trust)
    if towards is None:  # no outcome differs from another: there is one way to go, or none
        reached = evidence.expected_success(old) >= target
        return _trusted(old, _shortened(down, metric, radius), trust) if reached else old
    across = down - _inner(down, towards, metric) * towards
    length = _length(across, metric)
    across = across / length if length > 0 else across

    def at(alpha: float) -> Betas:
        beta = min(np.sqrt(max(radius**2 - alpha**2, 0.0)), length)
        return _trusted(old, alpha * towards + beta * across, trust)

    freely = _inner(_shortened(down, metric, radius), towards, metric)
    return _least(at, freely, radius, lambda betas: evidence.expected_success(betas) >= target)


def _least(
    at: Callable[[float], Betas], low: float, high: float, holds: Callable[[Betas], bool]
) -> Betas:
    """What the smallest number gives for which it holds; what the largest gives where none does."""
    if holds(at(low)):
        return at(low)
    if not holds(at(high)):
        return at(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(at(middle)) else (middle, high)
    return at(high)


def _success_direction(old: Betas, evidence: Evidence, metric: np.ndarray) -> np.ndarray | None:
    """The way (k, 2) to more success, of length 1; None where outcomes say nothing.

    A hundred parameters and a thousand episodes give a hundred slopes that are mostly chance. What
    the slope says of the common width is one number and well known, so it is kept. The rest is
    shrunk parameter by parameter, by what chance alone would give.
    """
    slope, variance = evidence.slope(old)
    steepest = _solved(old, slope, metric)
    down = -old.eta
    common = np.zeros_like(down)
    if (size := _inner(down, down, metric)) > 0:
        common = _inner(steepest, down, metric) / size * down
    rest = steepest - common
    seen = np.einsum("ka,kab,kb->k", rest, metric, rest)
    kept = np.clip(1.0 - _CHANCE * variance / np.maximum(seen, 1e-300), 0.0, 1.0)
    way = common + kept[:, None] * rest
    length = _length(way, metric)
    return way / length if length > 1e-9 else None


def _solved(old: Betas, slope: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """The natural gradient, which does not push through the wall at 0."""
    free = np.linalg.solve(metric, slope[..., None])[..., 0]
    stuck = (old.eta <= 0.0) & (free < 0.0)
    blocks = np.where(stuck[:, :, None] | stuck[:, None, :], np.eye(2), metric)
    return np.linalg.solve(blocks, np.where(stuck, 0.0, slope)[..., None])[..., 0]


def _trusted(old: Betas, step: np.ndarray, trust: float) -> Betas:
    """As much of a step as trust allows: divergence grows all along the way."""

    def at(share: float) -> Betas:
        return Betas(np.clip(old.eta + share * step, 0.0, _TIGHTEST))

    if at(1.0).divergence(old) <= trust:
        return at(1.0)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if at(middle).divergence(old) <= trust else (low, middle)
    return at(low)


def _inner(x: np.ndarray, y: np.ndarray, metric: np.ndarray) -> float:
    return float(np.einsum("ka,kab,kb->", x, metric, y))


def _length(x: np.ndarray, metric: np.ndarray) -> float:
    return float(np.sqrt(max(_inner(x, x, metric), 0.0)))


def _shortened(x: np.ndarray, metric: np.ndarray, radius: float) -> np.ndarray:
    length = _length(x, metric)
    return x * min(1.0, radius / length) if length > 0 else x
