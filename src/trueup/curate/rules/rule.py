"""What a rule is: something to measure in every episode, or to check in one, or in all together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueup.curate.fence import Fence, Side
from trueup.curate.look import Look
from trueup.curate.place import Place
from trueup.curate.prints import Prints
from trueup.curate.survey import Survey
from trueup.curate.world_view import WorldView

SMALL = 1e-3
"""Of a column's span: changes below it are not told apart."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What a rule may look at, so that one that cannot says so.

    Attributes:
        survey: The signals that there are.
        world: Where states can be put; none where there is none.
        blind: Why there is no world.
        judged: Whether any episode says how it ended.
    """

    survey: Survey
    world: WorldView | None
    blind: str
    judged: bool


class Rule(ABC):
    """Anything that can be wrong with an episode. A rule is one class and one row of the registry.

    Attributes:
        name: As in the keep-list, and to leave it out by.
        summary: What it looks for, in a line.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def blind(self, sight: Sight) -> str:
        """Why it cannot look at this dataset; empty where it can."""
        return ""


class Check(Rule):
    """A fault that is one in any dataset.

    Attributes:
        habit: Where more than this share of a dataset has it, the dataset was simply recorded that
            way; then it is told, and no episode is dropped for it.
        advice: What to do about such a dataset, a sentence.
    """

    habit: ClassVar[float] = 1.0
    advice: ClassVar[str] = ""

    @abstractmethod
    def fault(self, look: Look) -> str:
        """The sentence that says what is wrong; empty where nothing is."""


class Measured(Rule):
    """A number of each column, or of the episode, that is ordinary or not in its dataset.

    Attributes:
        side: Which values can be bad.
        floor: The smallest spread that means anything.
        matters: The smallest value that is worth a word, however unusual it is.
        rare: Where more than this share lies outside, it is another way to do the task, not a
            fault, and the fence is widened around it.
    """

    side: ClassVar[Side] = Side.ABOVE
    floor: ClassVar[float] = 0.1
    rare: ClassVar[float] = 0.4
    matters: ClassVar[float] = -np.inf

    @abstractmethod
    def measured(self, look: Look) -> Mapping[Place, float]:
        """By place; NaN or no entry where an episode says nothing about it."""

    @abstractmethod
    def sentence(self, place: Place, value: float, fence: Fence) -> str:
        """What to tell of a value outside the fence."""


class Together(Rule):
    """A number of each episode that follows from the others."""

    side: ClassVar[Side] = Side.ABOVE
    floor: ClassVar[float] = 0.15
    rare: ClassVar[float] = 0.1

    @abstractmethod
    def values(
        self, prints: Prints, pair: tuple[Prints, Prints] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n,) of the episodes, and the values (m,) that say what is ordinary.

        Args:
            prints: Of the set.
            pair: Of the set and of its reference by the signals that both have; none without one.
        """

    @abstractmethod
    def sentence(self, i: int, value: float, fence: Fence) -> str:
        """What to tell of an episode outside the fence."""

    def spared(self, excess: np.ndarray, bad: np.ndarray) -> np.ndarray:
        """(n,) the same, without those that are kept all the same.

        Args:
            excess: How far out each is.
            bad: (n,) whether other rules speak against it.
        """
        return excess


HUNDREDTH = float(np.log(0.01))
"""Of a span, as `sized` gives it: nobody minds less."""


def sized(value: float, span: float) -> float:
    """The logarithm of a change in shares of a span."""
    return float(np.log(max(value / span, SMALL)))


def times(value: float, fence: Fence) -> str:
    """How a logarithm stands to what is ordinary, in words."""
    return f"{np.exp(np.clip(value - fence.middle, -700.0, 700.0)):,.3g} times"
