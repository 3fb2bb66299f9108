"""Laplace's approximation put to the test: points drawn from it, each weighed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_WIDER = 1.1  # than the approximation: tails that it misses must be drawn too
_FREEDOM = 3.0  # of the t distribution, for each dimension: heavier tails than a normal's
_TOO_FEW = 1.5  # effective draws for each dimension below which they say nothing
_TWICE = 0.25  # of all draws: where fewer count, there is a second round


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What weighted draws say of a distribution.

    Attributes:
        mean: (d,)
        covariance: (d, d)
        effective: How many equally weighted draws they are worth.
        draws: How many there were.
    """

    mean: np.ndarray
    covariance: np.ndarray
    effective: float
    draws: int

    @property
    def enough(self) -> bool:
        """Whether they say anything."""
        return self.effective >= _TOO_FEW * len(self.mean)


def sampled(
    cost: Callable[[np.ndarray], np.ndarray],
    mean: np.ndarray,
    covariance: np.ndarray,
    *,
    generator: np.random.Generator,
    draws: int = 256,
) -> Sampled:
    """Draw around an approximation and weigh each draw by the exact density.

    Draws come in pairs to either side, from a t distribution a little wider than the approximation.
    Where few of them count, the approximation is moved towards what they say, and drawn from again;
    all draws are then weighed together.

    Args:
        cost: Minus the log density of points (p, d), up to a constant.
        mean: (d,) of the approximation.
        covariance: (d, d) likewise.
        generator: Where the draws come from.
        draws: How many at a time; even.
    """
    kernels = [_Kernel(mean, covariance)]
    points = kernels[0].drawn(generator, draws)
    costs = cost(points)
    found = _weighed(points, costs, kernels)
    if found.effective < _TWICE * draws:
        kernels.append(_Kernel(*_towards(found, mean, covariance)))
        points = np.concatenate([points, kernels[1].drawn(generator, draws)])
        costs = np.concatenate([costs, cost(points[draws:])])
        found = _weighed(points, costs, kernels)
    return found


class _Kernel:
    """A t distribution."""

    def __init__(self, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.mean, self.freedom = mean, _FREEDOM * len(mean)
        values, vectors = np.linalg.eigh(covariance)
        self._size = _WIDER * np.sqrt(np.maximum(values, 1e-300))
        self._axes = vectors

    def drawn(self, generator: np.random.Generator, n: int) -> np.ndarray:
        z = generator.standard_normal((n // 2, len(self.mean)))
        z /= np.sqrt(generator.chisquare(self.freedom, (n // 2, 1)) / self.freedom)
        return self.mean + (np.concatenate([z, -z]) * self._size) @ self._axes.T

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Up to a constant that all kernels of one dimension share."""
        square = ((((points - self.mean) @ self._axes) / self._size) ** 2).sum(axis=1)
        half = 0.5 * (self.freedom + len(self.mean))
        return -half * np.log1p(square / self.freedom) - np.log(self._size).sum()


def _weighed(points: np.ndarray, costs: np.ndarray, kernels: list[_Kernel]) -> Sampled:
    """Mean and covariance under the exact density, all kernels taken as one mixture."""
    mixture = np.logaddexp.reduce([kernel.log_density(points) for kernel in kernels], axis=0)
    logs = -costs - mixture
    if not np.isfinite(logs.max()):  # no draw is possible: they say nothing
        none = kernels[0].mean
        nothing = np.zeros((len(none), len(none)))
        return Sampled(mean=none, covariance=nothing, effective=0.0, draws=len(points))
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean = weight @ points
    off = points - mean
    effective = 1.0 / (weight**2).sum()
    spare = max(1.0 - (weight**2).sum(), 1e-3)
    return Sampled(
        mean=mean,
        covariance=(off * weight[:, None]).T @ off / spare,
        effective=float(effective),
        draws=len(points),
    )


def _towards(
    found: Sampled, mean: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance between an approximation and what draws say, by how much they say."""
    share = found.effective / (found.effective + 2.0 * len(mean))
    return mean + share * (found.mean - mean), covariance + share * (found.covariance - covariance)
