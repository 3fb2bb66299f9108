"""Frames to learn from: what a policy sees, and what it should answer for the steps to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.policies import Contract
from trueup.train.imitation.demonstrations import Demonstration


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Some frames.

    Attributes:
        inputs: (b, inputs) what the network sees.
        answers: (b, length, nu) what it should answer.
        counts: (b, length) whether that is known, and right.
    """

    inputs: np.ndarray
    answers: np.ndarray
    counts: np.ndarray


class Lessons:
    """All frames of some demonstrations, laid out so that any of them can be drawn.

    What is seen is stored once; histories and chunks are gathered when they are drawn.

    Args:
        portions: Demonstrations of each portion.
        weights: How often each portion is drawn; none draws by its frames.
        contract: What the policy sees and answers.
    """

    def __init__(
        self,
        portions: Sequence[Sequence[Demonstration]],
        weights: Sequence[float | None],
        contract: Contract,
    ) -> None:
        stretches = [stretch for portion in portions for stretch in portion]
        lengths = np.array([len(stretch) for stretch in stretches])
        ends = np.cumsum(lengths)
        self._first = np.repeat(ends - lengths, lengths)
        self._last = np.repeat(ends - 1, lengths)
        self._frames = np.concatenate([_frames(stretch) for stretch in stretches])
        lead = np.array(contract.lead, np.float32)
        wanted = np.concatenate([(s.told - s.joints) / lead for s in stretches])
        self._answers = np.clip(wanted, -1.0, 1.0)
        self._right = np.concatenate([stretch.right for stretch in stretches])
        self.clipped = float(np.mean(np.abs(wanted) > _CLIPPED))
        self.portion = np.repeat(
            np.arange(len(portions)), [sum(map(len, portion)) for portion in portions]
        )
        self._steps = np.arange(contract.chunk.length if contract.chunk else 1)
        self._ages = np.arange(contract.history)
        drawn = np.concatenate([np.full(len(s), s.weight) for s in stretches])
        self.share = _shares(self.portion, drawn, weights)
        self._sum = np.cumsum(self.share)
        if not self._sum[-1] > 0:
            raise TrueupError(
                "Nothing would be learned: all weights are 0.", fix="Give a positive one."
            )

    def __len__(self) -> int:
        return len(self._frames)

    def drawn(self, generator: np.random.Generator, size: int) -> Batch:
        """Frames at random, each portion as often as its weight says."""
        rows = np.searchsorted(self._sum, generator.random(size) * self._sum[-1], side="right")
        return self.batch(np.minimum(rows, len(self) - 1))

    def batch(self, rows: np.ndarray) -> Batch:
        """These frames."""
        then = np.maximum(rows[:, None] - self._ages, self._first[rows][:, None])
        ahead = rows[:, None] + self._steps
        last = self._last[rows][:, None]
        at = np.minimum(ahead, last)
        return Batch(
            inputs=self._frames[then].reshape(len(rows), -1),
            answers=self._answers[at],
            counts=(ahead <= last) & self._right[at],
        )

    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation (inputs,) of what the network sees, as often as it is drawn.

        A number that never changes is divided by one, so that a change is not blown up.
        """
        share = self.share / self.share.sum()
        mean = share @ self._frames
        spread = np.sqrt(share @ (self._frames - mean) ** 2)
        spread = np.where(spread < _CONSTANT, 1.0, spread)
        ages = len(self._ages)
        return np.tile(mean, ages).astype(np.float32), np.tile(spread, ages).astype(np.float32)


_CONSTANT = 1e-6
_CLIPPED = 1.0 + 1e-3


def _frames(stretch: Demonstration) -> np.ndarray:
    """(k, width + nu) each observation beside the targets that were sent before it.

    Before the first one, the servos hold where they are.
    """
    sent = np.concatenate([stretch.joints[:1], stretch.told[:-1]])
    return np.concatenate([stretch.seen, sent], axis=1).astype(np.float32)


def _shares(portion: np.ndarray, drawn: np.ndarray, weights: Sequence[float | None]) -> np.ndarray:
    """(frames,) how often each frame is drawn.

    A portion without a weight counts as many as it has frames, against the mean portion with one.
    """
    share = drawn.astype(float)
    if all(weight is None for weight in weights):
        return share
    sums = np.bincount(portion, weights=share, minlength=len(weights))
    frames = np.bincount(portion, minlength=len(weights)) / len(portion)
    told = np.array([f if w is None else w for w, f in zip(weights, frames, strict=True)])
    factor = np.divide(told, sums, out=np.zeros_like(told), where=sums > 0)
    return share * factor[portion]
