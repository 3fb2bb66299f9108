"""What learning from demonstrations tells: while it runs, and in the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueup.policies import Policy
from trueup.train.look import Success


@dataclass(frozen=True, kw_only=True)
class Cloned:
    """How learning from demonstrations ended.

    Attributes:
        policy: The best by the held-out episodes, as stored.
        why: "steps", "patience" or "interrupted".
        error: Its mean absolute error on the held-out episodes, as a share of a servo's lead.
        success: On fresh simulated episodes, by "nominal" and "randomized"; empty where none were
            played.
        steps: Steps of learning.
        demonstrations: Episodes learned from, by dataset.
        passed_over: Why others were not, counted, by dataset.
        clipped: Share of commands that were further from their joint than a servo pulls.
        wall_s: Time it took, pauses not counted.
    """

    policy: Policy
    why: str
    error: float
    success: dict[str, Success] = field(default_factory=dict)
    steps: int
    demonstrations: dict[str, int]
    passed_over: dict[str, dict[str, int]]
    clipped: float
    wall_s: float


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where learning stands.

    Attributes:
        step: Steps done, of `steps`.
        steps: In all, at most.
        error: Of the last steps, on what is learned from.
        held_out: On the held-out episodes.
        left_s: Seconds left if nothing stops it earlier.
    """

    step: int
    steps: int
    error: float
    held_out: float
    left_s: float
