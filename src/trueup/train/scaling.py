"""Rewards of any size, brought to a size that a critic can learn."""

from __future__ import annotations

from typing import Any

import numpy as np

_LARGEST = 10.0


class Scale:
    """Divides rewards by the spread of the discounted returns seen so far.

    A critic learns returns of a few units quickly and returns of a hundred slowly; what the author
    of a world chose as the size of its rewards should not decide which.

    Args:
        n: How many worlds.
        gamma: The discount.
    """

    def __init__(self, n: int, gamma: float) -> None:
        self._gamma, self._return = gamma, np.zeros(n)
        self._count, self._mean, self._square = 0.0, 0.0, 0.0

    @property
    def size(self) -> float:
        """What rewards are divided by."""
        return float(np.sqrt(self._square / self._count)) if self._square > 0.0 else 1.0

    def scaled(self, reward: np.ndarray) -> np.ndarray:
        """Rewards (n,) of one step, divided; they count towards the spread first."""
        self._return = self._gamma * self._return + reward
        self._learn(self._return)
        return np.clip(reward / max(self.size, 1e-6), -_LARGEST, _LARGEST)

    def end(self, rows: np.ndarray) -> None:
        """Episodes that are over do not go on into the next."""
        self._return[rows] = 0.0

    def _learn(self, values: np.ndarray) -> None:
        """Mean and squared deviation of all values so far (Chan et al. 1979)."""
        n, mean = len(values), float(values.mean())
        total, shift = self._count + n, mean - self._mean
        self._square += float(((values - mean) ** 2).sum()) + shift**2 * self._count * n / total
        self._mean += shift * n / total
        self._count = total

    def state(self) -> dict[str, Any]:
        """All that lasts over a restart of the worlds, as JSON can hold it."""
        return {"count": self._count, "mean": self._mean, "square": self._square}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken."""
        self._count, self._mean, self._square = (state[k] for k in ("count", "mean", "square"))
