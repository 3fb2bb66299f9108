"""Answers to several steps ahead, and how those of different times become the one that is sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError

_LONGEST = 1000


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """How far ahead a network answers, and how soon an older answer is forgotten.

    A network that answers for one step alone can be led astray by its own last error; one that
    must also say what comes next has to know what it is about. What is sent is the mean of all
    that was ever answered for this step (Zhao et al. 2023), newer ones counting more.

    Attributes:
        length: Control steps that one answer covers, the present one first.
        forget: An answer that is k steps old counts exp(-forget × k).
    """

    length: int
    forget: float

    def __post_init__(self) -> None:
        if not 1 <= self.length <= _LONGEST:
            raise TrueupError(
                f"A chunk of {self.length} steps cannot be answered.",
                fix=f"Give a length from 1 to {_LONGEST}.",
            )
        if not 0.0 <= self.forget < np.inf:
            raise TrueupError(
                f"Older answers are to be forgotten at a rate of {self.forget}.",
                fix="Give 0 for a plain mean, or a positive number.",
            )


class Ahead:
    """What n policies have answered for the steps to come.

    Args:
        n: How many policies.
        servos: Answers of one step.
        chunk: How far ahead, and how soon forgotten.
    """

    def __init__(self, n: int, servos: int, chunk: Chunk) -> None:
        self._chunk = chunk
        self._sum = np.zeros((n, chunk.length, servos))
        self._weight = np.zeros((n, chunk.length, 1))

    def begin(self, rows: np.ndarray | slice) -> None:
        """Forget everything in some rows."""
        self._sum[rows] = self._weight[rows] = 0.0

    def __call__(self, answers: np.ndarray) -> np.ndarray:
        """The answer (n, servos) for this step, after the network's (n, length × servos)."""
        kept = np.exp(-self._chunk.forget)
        for told in (self._sum, self._weight):
            told[:, :-1] = kept * told[:, 1:]
            told[:, -1] = 0.0
        self._sum += answers.reshape(self._sum.shape)
        self._weight += 1.0
        return self._sum[:, 0] / self._weight[:, 0]
