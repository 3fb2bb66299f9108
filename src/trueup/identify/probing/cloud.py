"""A fit where slopes cannot be trusted: clouds of points, and what they say the readings mean.

Contact is not smooth. A cube that slips one step later changes many readings by more than their
noise; a finite difference sees only such jumps, and the best of many points is the luckiest. Here
points are drawn from what is believed, each is replayed from a beginning as uncertain as the real
one, and a ridge regression learns to read parameters off replays. It is then given the recording.
What it gets wrong about points it has not seen is how wrong it may be about the robot: intervals
come from there, not from slopes. The next cloud is drawn from the answer, until it stays as wide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import norm, qmc

from trueup.identify.problem import Residual

_LARGE = 20.0  # of the noise: from here on a residual counts by its logarithm
_RIDGES = 10.0 ** np.arange(-0.5, 5.0, 0.5)  # times what noise alone asks for
_WIDER = 2.0  # standard deviations of the next cloud against those of the answer
_NARROWER = 0.75  # a cloud that is no narrower than this share of the last is the last
_SCOUTS, _POINTS = 4, 12  # for each parameter: between the bounds to begin with, and in a cloud
_FEWEST = 60  # points of a cloud: where fingers meet a thing is no straight line of its size
_NARROWEST = 0.01  # of the way between the bounds: how wide every cloud is at least
_OUTSIDE = 2.0  # squared distance for each parameter, in standard deviations of the cloud
_LEAST = 0.15  # of the way between the bounds: how wide the first cloud is at least


class Searched(Protocol):
    """What can be searched: residuals in units of noise, many points (p, d) at once.

    Each row may begin a little elsewhere, as far as the beginning is unknown.
    """

    def residual(self, u: np.ndarray) -> Residual: ...


@dataclass(frozen=True, kw_only=True)
class Belief:
    """A normal in the unit cube.

    Attributes:
        mean: (d,)
        covariance: (d, d)
    """

    mean: np.ndarray
    covariance: np.ndarray

    @property
    def spread(self) -> np.ndarray:
        """(d,) standard deviations."""
        return np.sqrt(np.diag(self.covariance))


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Where clouds ended.

    Attributes:
        belief: What is thought now.
        clouds: How many there were.
        points: How many points were replayed.
        still: Whether the last cloud was no narrower than the one before it.
    """

    belief: Belief
    clouds: int
    points: int
    still: bool


def settle(
    problem: Searched,
    prior: Belief,
    generator: np.random.Generator,
    *,
    shaken: Searched | None = None,
    rounds: int = 8,
    on_round: Callable[[int, Belief], None] | None = None,
) -> Settled:
    """Look everywhere, then close in from the best of what was seen.

    Args:
        problem: What to make small.
        prior: What is thought before.
        generator: Of the clouds.
        shaken: The same with beginnings that differ from row to row; the problem by default.
        rounds: Clouds at most.
        on_round: Told after each: its number, and what is thought now.
    """
    scouts, size = (max(each * len(prior.mean), _FEWEST) for each in (_SCOUTS, _POINTS))
    wide = np.maximum(prior.spread, _LEAST)
    drawn = Belief(mean=_scouted(problem, prior, generator, scouts), covariance=np.diag(wide**2))
    number, still, now, best = 0, False, prior, prior
    while number < rounds and not still:
        points = _cloud(drawn, size, generator)
        answer = _answered(points, (shaken or problem).residual(points).values)
        now = _told(answer, points, prior)
        number += 1
        if on_round is not None:
            on_round(number, now)
        after = _next(drawn, now, wide)
        if not _left(drawn, now):
            best = min(best, now, key=lambda belief: np.linalg.slogdet(belief.covariance)[1])
            still = bool((after.spread > _NARROWER * drawn.spread).all())
        drawn = after
    found = now if best is prior else best
    return Settled(belief=found, clouds=number, points=1 + scouts + number * size, still=still)


def _next(drawn: Belief, now: Belief, wide: np.ndarray) -> Belief:
    """The cloud that follows: wider than the answer, and back to where it came from if far off."""
    ratio = np.clip(_WIDER * now.spread, _NARROWEST, wide) / now.spread
    covariance = now.covariance * np.outer(ratio, ratio)
    if _left(drawn, now):
        step = now.mean - drawn.mean
        covariance = covariance + np.outer(step, step)
    return Belief(mean=now.mean, covariance=covariance)


def _left(drawn: Belief, now: Belief) -> bool:
    """Whether an answer lies outside the cloud that it was read off, where nobody looked."""
    step = now.mean - drawn.mean
    return bool(step @ np.linalg.solve(drawn.covariance, step) > _OUTSIDE * len(step))


def _scouted(
    problem: Searched, prior: Belief, generator: np.random.Generator, n: int
) -> np.ndarray:
    """(d,) the best of points everywhere between the bounds, and of where the prior has them."""
    everywhere = qmc.LatinHypercube(len(prior.mean), rng=generator).random(n)
    near = prior.mean + 4.0 * prior.spread * (everywhere - 0.5)
    points = np.where(np.arange(n)[:, None] % 2, everywhere, near)
    points = np.clip(np.concatenate([prior.mean[None], points]), 0.0, 1.0)
    found = problem.residual(points).values
    usual = np.median(np.abs(found), axis=0) + 1.0
    return points[int(np.log1p((found / usual) ** 2).mean(axis=1).argmin())]


def _cloud(drawn: Belief, n: int, generator: np.random.Generator) -> np.ndarray:
    """(n, d) points that fill a belief evenly, inside the bounds."""
    even = qmc.LatinHypercube(len(drawn.mean), rng=generator).random(n)
    root = np.linalg.cholesky(drawn.covariance + 1e-12 * np.eye(len(drawn.mean)))
    return np.clip(drawn.mean + norm.ppf(even) @ root.T, 0.0, 1.0)


def _answered(points: np.ndarray, residuals: np.ndarray) -> Belief:
    """What a regression of points (n, d) on residuals (n, N) reads off the recording itself.

    The recording is where all residuals are zero, but for its noise. The ridge of each parameter is
    the one that errs least on points left out, one at a time, and on noise.
    """
    n = len(points)
    tamed = _LARGE * np.arcsinh(residuals / _LARGE)
    middle, readings = points.mean(axis=0), tamed - tamed.mean(axis=0)
    away = points - middle
    gram = readings @ readings.T
    power, ways = np.linalg.eigh(gram)
    power, along = np.maximum(power, 0.0), ways.T @ away
    at = -(readings @ tamed.mean(axis=0))
    noise = max(1.0, float((tamed**2).mean(axis=1).min()))  # more where the model is wrong
    best: list[tuple[float, np.ndarray, np.ndarray]] = [(np.inf, at, at)] * points.shape[1]
    for ridge in n * noise * _RIDGES:
        weights = ways @ (along / (power + ridge)[:, None])
        share = power / (power + ridge)
        kept = 1.0 - 1.0 / n - (ways**2) @ share
        left = (away - ways @ (share[:, None] * along)) / kept[:, None]
        error = (left**2).mean(axis=0) + noise * np.einsum("ij,ik,kj->j", weights, gram, weights)
        for j in np.flatnonzero(error < [found[0] for found in best]):
            best[j] = (float(error[j]), weights[:, j], left[:, j])
    weights = np.stack([found[1] for found in best], axis=1)
    left = np.stack([found[2] for found in best], axis=1)
    return Belief(
        mean=np.clip(middle + at @ weights, 0.0, 1.0),
        covariance=left.T @ left / n + noise * weights.T @ gram @ weights,
    )


def _told(answer: Belief, points: np.ndarray, prior: Belief) -> Belief:
    """The prior with what the data added to a cloud: the cloud itself is no evidence."""
    cloud = np.cov(points.T).reshape(len(prior.mean), -1)
    before, after = np.linalg.inv(cloud), np.linalg.inv(answer.covariance)
    root = np.linalg.cholesky(cloud)
    gain, axes = np.linalg.eigh(root.T @ (after - before) @ root)
    half = np.linalg.inv(root).T @ axes
    told = (half * np.maximum(gain, 0.0)) @ half.T
    shift = after @ answer.mean - before @ points.mean(axis=0)
    # where nothing was told, neither was a place
    shift = half @ np.where(gain > 0.0, half.T @ cloud @ shift, 0.0)
    precision = np.linalg.inv(prior.covariance)
    covariance = np.linalg.inv(told + precision)
    mean = covariance @ (shift + precision @ prior.mean)
    return Belief(mean=np.clip(mean, 0.0, 1.0), covariance=covariance)
