"""How a sum of delays is shared out between them, which no slope shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.identify.problem import Residual
from trueup.identify.sandwich import inflation
from trueup.identify.target import Slopes, Target


def shared(target: Target, u: np.ndarray) -> list[int]:
    """Delays that may take from the longest one, or give to it."""
    return [i for i in target.delays if i != target.longest(u)] if len(target.delays) > 1 else []


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Ways to share out a sum of delays, each with the rest of the parameters at its best.

    Attributes:
        points: (k, d) the shares.
        steps: (k, d) from there to where the rest is best.
        misfit: (k,) minus the logarithm of how likely the readings are there, errors that hang
            together in time counted as what they are.
        doubt: (k,) the same of the two delays, by the mean and spread of their priors.
        possible: (k,) whether both priors allow it at all.
    """

    points: np.ndarray
    steps: np.ndarray
    misfit: np.ndarray
    doubt: np.ndarray
    possible: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """(d,) the likeliest."""
        k = int((self.misfit + self.doubt).argmin())
        return self.points[k] + self.steps[k]

    @property
    def weights(self) -> np.ndarray:
        """(k,) of each share: what readings say, among those that are possible."""
        possible = self.possible if self.possible.any() else np.ones(len(self.points), bool)
        weight = np.where(possible, np.exp(self.misfit[possible].min() - self.misfit), 0.0)
        return weight / weight.sum()


def profile(target: Target, seen: Slopes, u: np.ndarray, i: int) -> Profile:
    """Other shares of delay i and the longest."""
    points = target.splits(u, i)
    delays = np.array([i, target.longest(u)])
    rest = np.setdiff1d(np.arange(len(u)), delays)
    left = target.readings(points)
    steps = np.array(
        [
            newton(seen.slopes, r, p, target, held=np.array([i]))
            for r, p in zip(left, points, strict=True)
        ]
    )
    left = left + steps @ seen.slopes.T
    off = (points + steps - target.centre) / target.spread
    low, high = target.support[delays].T
    inside = (points[:, delays] >= low) & (points[:, delays] <= high)
    return Profile(
        points=points,
        steps=steps,
        misfit=_weighed(left, target.here) + 0.5 * (off[:, rest] ** 2).sum(axis=1),
        doubt=0.5 * (off[:, delays] ** 2).sum(axis=1),
        possible=inside.all(axis=1),
    )


def _weighed(left: np.ndarray, here: Residual) -> np.ndarray:
    """(k,) how unlikely readings (k, N) are, against the likeliest of them.

    A wrong model's errors go on for seconds, and which of two shares they happen to favour is one
    observation, not hundreds: the difference counts as much less as it hangs together in time.
    """
    power = 0.5 * (left**2).sum(axis=1)
    best = left[power.argmin()]
    less = np.array([inflation(best, other - best, here) for other in left])
    return (power - power.min()) / less


def uncertain_shares(
    target: Target, seen: Slopes, u: np.ndarray, wide: np.ndarray, *, about_mean: bool = False
) -> np.ndarray:
    """(d, d) a covariance, widened where a sum of delays could as well be shared out otherwise.

    What a prior allows it allows evenly: a share near its end is no less likely than one in its
    middle, and only readings decide. Where priors allow no share at all, as the sum is longer than
    both together, they have been wrong, and do not narrow it either.

    Args:
        target: The landscape.
        seen: Slopes at the point.
        u: (d,) the point.
        wide: (d, d)
        about_mean: Whether shares are spread about their mean, or about the point, as an interval
            around it has to count them.
    """
    for i in shared(target, u):
        found = profile(target, seen, u, i)
        shares, weight = found.points[:, i], found.weights
        middle = float(weight @ shares) if about_mean else u[i]
        apart = float(weight @ (shares - middle) ** 2)
        if found.possible.any():
            apart = min(apart, target.spread[i] ** 2)
        longest = target.longest(u)
        way = np.zeros(len(u))
        way[i], way[longest] = 1.0, -target.step_of(longest) / target.step_of(i)
        wide = wide + max(apart - wide[i, i], 0.0) * np.outer(way, way)
    return wide


def newton(
    slopes: np.ndarray,
    values: np.ndarray,
    u: np.ndarray,
    target: Target,
    held: np.ndarray | None = None,
) -> np.ndarray:
    """(d,) the step to the bottom; what does nothing stays, and so does what is at a bound."""
    before = 1.0 / target.spread**2
    square = slopes.T @ slopes + np.diag(before)
    slope = slopes.T @ values + before * (u - target.centre)
    free, step = ~target.fixed(u), np.zeros(len(u))
    free[[] if held is None else held] = False
    for _ in range(3):
        step = np.zeros(len(u))
        step[free] = -np.linalg.solve(square[np.ix_(free, free)], slope[free])
        out = free & (((u <= 0.0) & (step < 0)) | ((u >= 1.0) & (step > 0)))
        if not out.any():
            break
        free &= ~out
    return step
