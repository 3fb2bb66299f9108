"""Every number that learning from demonstrations may be told, and which demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trueup.episodes import JointUnits
from trueup.errors import TrueupError
from trueup.policies import Chunk


@dataclass(frozen=True, kw_only=True)
class Cloning:
    """How to learn from demonstrations.

    Attributes:
        chunk: Control steps that the policy answers ahead; 1 is plain behaviour cloning.
        forget: How soon an older answer to a step is forgotten, as `Chunk` has it.
        history: Observations that the policy sees at once.
        hidden: Width of each hidden layer.
        steps: Steps of learning, at most.
        batch: Frames of one step.
        learning_rate: At its highest; it rises over the first steps and falls to nothing.
        held_out: Share of each portion's episodes that are not learned from, but judged by.
        look_every: Steps between two looks at the held-out episodes; each is also a checkpoint.
        patience: Looks without a better one after which learning stops.
        confirm_episodes: Episodes that are played at the end in the nominal world, and as many in
            the space of the demonstrations; 0 plays none.
        seed: Same seed, same policy.
    """

    chunk: int = 10
    forget: float = 0.5
    history: int = 2
    hidden: tuple[int, ...] = (256, 256)
    steps: int = 10_000
    batch: int = 512
    learning_rate: float = 1e-3
    held_out: float = 0.05
    look_every: int = 500
    patience: int = 6
    confirm_episodes: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        Chunk(length=self.chunk, forget=self.forget)
        for name, low, high in _BOUNDS:
            value = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if not low <= number <= high:
                    raise TrueupError(
                        f"The setting {name} is {number:g}; it must lie from {low:g} to {high:g}.",
                        fix="Leave it out for a default that suits most tasks.",
                    )
        if not self.hidden:
            raise TrueupError("The network has no hidden layer.", fix="Give at least one width.")

    def to_json(self) -> dict[str, Any]:
        """Every setting by its name."""
        return {**asdict(self), "hidden": list(self.hidden)}


_BOUNDS = (
    ("history", 1, 64),
    ("hidden", 1, 4096),
    ("steps", 1, 10**9),
    ("batch", 1, 10**6),
    ("learning_rate", 1e-8, 1.0),
    ("held_out", 0.0, 0.9),
    ("look_every", 1, 10**9),
    ("patience", 1, 10**9),
    ("confirm_episodes", 0, 10**6),
    ("seed", 0, 2**62),
)


@dataclass(frozen=True, kw_only=True)
class Portion:
    """A dataset, and how much of what is learned comes from it.

    Attributes:
        dataset: Its folder.
        weight: How often it is drawn from, against the other portions' weights; by default, each
            frame of all portions is drawn as often as any other.
        episodes: Which of its episodes; by default all that succeeded, or whose outcome is unknown.
        weights: Of single episodes within the portion, by their number; 1 where not named.
        read_as: Units of its joints, where it does not state them.
        refused: Episodes that may not be learned from, by number, and why: those that consent does
            not cover. They are never read, even if `episodes` names them.
    """

    dataset: Path | str
    weight: float | None = None
    episodes: Sequence[int] | None = None
    weights: Mapping[int, float] = field(default_factory=dict)
    read_as: JointUnits | None = None
    refused: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = [*self.weights.values(), 1.0 if self.weight is None else self.weight]
        wrong = [weight for weight in given if not 0.0 <= weight < float("inf")]
        if wrong:
            raise TrueupError(
                f"A weight of {self.dataset} is {wrong[0]}.", fix="Give positive numbers, or 0."
            )

    def to_json(self) -> dict[str, Any]:
        """For files: which demonstrations."""
        return {
            "dataset": str(self.dataset),
            "weight": self.weight,
            "episodes": None if self.episodes is None else [int(i) for i in self.episodes],
            "weights": {str(i): float(w) for i, w in sorted(self.weights.items())},
            "read_as": None if self.read_as is None else str(self.read_as),
            "refused": {str(i): why for i, why in sorted(self.refused.items())},
        }
