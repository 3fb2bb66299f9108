"""Logistic regression with a ridge, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

_RIDGE = 0.02
_TURNS = 12
_FAR = 6.0  # standard deviations: what is further counts no more


@dataclass(frozen=True, kw_only=True)
class Logistic:
    """A linear log-odds of standardized numbers.

    Attributes:
        mean: (k,) of the numbers it was fitted to.
        std: (k,) their spread; 1 where there is none.
        weights: (k,)
        bias: Of the log-odds.
    """

    mean: np.ndarray
    std: np.ndarray
    weights: np.ndarray
    bias: float

    @classmethod
    def fitted(cls, x: np.ndarray, y: np.ndarray) -> Logistic:
        """To rows (n, k) of two classes, each of which counts one half whatever its size."""
        mean, std = x.mean(axis=0), x.std(axis=0)
        std = np.where(std > 1e-9, std, 1.0)
        z = np.column_stack([np.clip((x - mean) / std, -_FAR, _FAR), np.ones(len(x))])
        count = np.where(y, 0.5 / max(y.sum(), 1), 0.5 / max((~y).sum(), 1))
        ridge = np.append(np.full(x.shape[1], _RIDGE), 1e-9)
        w = np.zeros(z.shape[1])
        for _ in range(_TURNS):
            p = expit(z @ w)
            slope = z.T @ (count * (p - y)) + ridge * w
            bend = (z * (count * np.maximum(p * (1.0 - p), 1e-6))[:, None]).T @ z
            step = np.linalg.solve(bend + np.diag(ridge), slope)
            w -= step / max(1.0, np.abs(step).max())
            if np.abs(step).max() < 1e-4:
                break
        return cls(mean=mean, std=std, weights=w[:-1], bias=float(w[-1]))

    def parts(self, x: np.ndarray) -> np.ndarray:
        """(n, k) what each number adds to the log-odds."""
        return np.clip((x - self.mean) / self.std, -_FAR, _FAR) * self.weights

    def odds(self, x: np.ndarray) -> np.ndarray:
        """(n,) log-odds."""
        return self.parts(x).sum(axis=1) + self.bias


def auroc(good: np.ndarray, bad: np.ndarray) -> float:
    """How often a good one has the larger value than a bad one; ties count half."""
    if not len(good) or not len(bad):
        return float("nan")
    order = np.sort(bad)
    below, upto = np.searchsorted(order, good, "left"), np.searchsorted(order, good, "right")
    return float((below + upto).mean() / (2.0 * len(bad)))
