"""Commands ahead of time: which of those that a checkpoint answered are sent now, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Ask = Callable[[np.ndarray], np.ndarray]
"""From rows (k,) to their commands (k, steps, nu) from now on."""


class Queue(ABC):
    """Commands that n bodies are still to be sent."""

    @abstractmethod
    def begin(self, rows: np.ndarray | slice) -> None:
        """Forget what was answered to some rows."""

    @abstractmethod
    def following(self, ask: Ask) -> np.ndarray:
        """(n, nu) what is sent now; `ask` answers to the rows that need it."""


def queue_for(config: Mapping[str, Any], n: int, servos: int) -> Queue:
    """As the checkpoint was meant to be used: blended where it says so, else one by one."""
    length = int(config.get("chunk_size") or config.get("n_action_steps") or 1)
    fading = config.get("temporal_ensemble_coeff")
    if fading is not None:
        return Blended(n, length, servos, float(fading))
    return OneByOne(n, min(length, int(config.get("n_action_steps") or 1)), servos)


class OneByOne(Queue):
    """The first commands of an answer in order, then a new answer."""

    def __init__(self, n: int, steps: int, servos: int) -> None:
        self._steps, self._waiting = steps, np.zeros((n, steps, servos))
        self._at = np.full(n, steps)

    def begin(self, rows: np.ndarray | slice) -> None:
        self._at[rows] = self._steps

    def following(self, ask: Ask) -> np.ndarray:
        empty = np.flatnonzero(self._at == self._steps)
        if len(empty):
            self._waiting[empty] = ask(empty)[:, : self._steps]
            self._at[empty] = 0
        now = self._waiting[np.arange(len(self._at)), self._at]
        self._at += 1
        return now


class Blended(Queue):
    """A new answer in each step, and the mean of all that were given for it, older ones first.

    The weight of the i-th answer for a step is exp(-fading × i), as LeRobot has it.
    """

    def __init__(self, n: int, length: int, servos: int, fading: float) -> None:
        self._weight = np.exp(-fading * np.arange(length))
        self._total = np.cumsum(self._weight)
        self._mean = np.zeros((n, length, servos))
        self._count = np.zeros((n, length), int)

    def begin(self, rows: np.ndarray | slice) -> None:
        self._count[rows] = 0

    def following(self, ask: Ask) -> np.ndarray:
        answers = ask(np.arange(len(self._count)))
        before = np.where(self._count > 0, self._total[self._count - 1], 0.0)[..., None]
        more = self._weight[self._count][..., None]
        self._mean = (self._mean * before + answers * more) / (before + more)
        self._count += 1
        now = self._mean[:, 0].copy()
        self._mean[:, :-1], self._count[:, :-1] = self._mean[:, 1:], self._count[:, 1:]
        self._count[:, -1] = 0
        return now
