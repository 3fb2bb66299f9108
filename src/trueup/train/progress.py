"""Where training stands after an update, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from trueup.train.look import Success


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where training stands after an update.

    Attributes:
        update: Updates done, of `updates`.
        updates: In all, at most.
        steps: Control steps learned from.
        exploring: Success of the last training episodes, exploration included; nan at first.
        look: Success at the last look, without exploration; none before the first.
        reward: Mean of the last update, per step, scaled as it is learned from.
        spread: Standard deviation of the answers.
        steps_per_s: Control steps a second, learning included, looks not.
        left_s: Seconds left if no target stops it earlier.
        plan: Where the plan stands.
        learning_rate: Of the last update.
        losses: Of the last update.
    """

    update: int
    updates: int
    steps: int
    exploring: float
    look: Success | None
    reward: float
    spread: float
    steps_per_s: float
    left_s: float
    plan: str
    learning_rate: float
    losses: dict[str, float]
