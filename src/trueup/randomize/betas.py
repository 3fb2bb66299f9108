"""Independent Beta distributions over a unit cube, as an exponential family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, betaln, digamma, polygamma

_INSIDE = 1e-7  # how near to the faces of the cube a place counts


@dataclass(frozen=True)
class Betas:
    """One Beta(1 + η₀, 1 + η₁) for each axis of the cube.

    In these natural parameters, uniform is the origin, the statistics of a place u are ln u and
    ln(1 − u), and the Fisher information is one 2 × 2 block for each axis.

    Attributes:
        eta: (k, 2) natural parameters, none below 0: each distribution has one peak.
    """

    eta: np.ndarray

    @staticmethod
    def around(places: np.ndarray, concentration: float) -> Betas:
        """Peaks at places (k,) of the cube, its faces included."""
        return Betas(concentration * np.stack([places, 1.0 - places], axis=-1))

    @property
    def _mean(self) -> np.ndarray:
        """(k, 2) expected statistics."""
        a = 1.0 + self.eta
        return digamma(a) - digamma(a.sum(axis=1, keepdims=True))

    @property
    def _log_partition(self) -> np.ndarray:
        return betaln(*(1.0 + self.eta).T)

    def entropy(self) -> float:
        """In nats; 0 where all is uniform, and below 0 elsewhere."""
        return float(self._log_partition.sum() - (self.eta * self._mean).sum())

    def divergence(self, other: Betas) -> float:
        """Kullback and Leibler's, from `other` to this, in nats."""
        partitions = (other._log_partition - self._log_partition).sum()
        return float(partitions + ((self.eta - other.eta) * self._mean).sum())

    def information(self) -> np.ndarray:
        """(k, 2, 2) Fisher information of the natural parameters."""
        a = 1.0 + self.eta
        blocks = np.zeros((len(a), 2, 2)) - polygamma(1, a.sum(axis=1))[:, None, None]
        blocks[:, [0, 1], [0, 1]] += polygamma(1, a)
        return blocks

    def log_density(self, statistics: np.ndarray) -> np.ndarray:
        """(n,) at places whose statistics (n, 2k) are given."""
        return statistics @ self.eta.ravel() - self._log_partition.sum()

    def sample(self, generator: np.random.Generator, n: int) -> np.ndarray:
        """(n, k) places."""
        a, b = 1.0 + self.eta.T
        return np.clip(generator.beta(a, b, (n, len(self.eta))), _INSIDE, 1.0 - _INSIDE)

    def quantiles(self, p: np.ndarray) -> np.ndarray:
        """(k, len(p)) places below which shares `p` lie."""
        a, b = 1.0 + self.eta.T[..., None]
        return betaincinv(a, b, p)


def statistics(places: np.ndarray) -> np.ndarray:
    """What the densities at places (n, k) depend on, ln u and ln(1 − u), as (n, 2k)."""
    u = np.clip(places, _INSIDE, 1.0 - _INSIDE)
    return np.stack([np.log(u), np.log1p(-u)], axis=-1).reshape(len(u), 2 * u.shape[1])
