"""What every plan is: a source of points, episode by episode, that may learn from outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from trueup.errors import TrueupError
from trueup.space import Points, Space


class Plan(ABC):
    """Turns a space into points, one for each episode.

    A plan is asked for points as episodes begin and told how they ended, in any order and any
    grouping: episodes overlap when many worlds run at once. All randomness comes from the generator
    that `draw` is given. So the plan's state, together with the generator's, is all that a resumed
    run needs to go on bit for bit.

    Attributes:
        space: The space that the points belong to.
        name: What the command line and stored runs call this plan.
        moves: Whether outcomes change what it draws.
    """

    name: ClassVar[str]
    moves: ClassVar[bool] = False

    def __init__(self, space: Space) -> None:
        self.space = space

    @abstractmethod
    def draw(self, generator: np.random.Generator, n: int) -> Points:
        """Points for the next `n` episodes."""

    def learn(self, points: np.ndarray, success: np.ndarray) -> None:
        """Take in how episodes ended; plans that do not move ignore it.

        Args:
            points: (m, len(space)) the points of episodes that are over, as `draw` gave them;
                single precision will do.
            success: (m,) whether each succeeded.
        """

    def distribution(self) -> Space:
        """The space that this plan draws from now, its beliefs included.

        It is stored with a trained policy, and is what `coverage` is asked about.
        """
        return self.space

    def full(self) -> Space:
        """The widest space that this plan may come to draw from."""
        return self.distribution()

    def summary(self) -> str:
        """Where the plan stands, in one line."""
        return f"{len(self.space.free)} parameters, drawn from their beliefs"

    def state(self) -> dict[str, Any]:
        """All that changes while the plan is used, as JSON can hold it."""
        return {"plan": self.name, "parameters": list(self.space.names), **self._kept()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken, in a plan made with the same arguments."""
        found = state.get("plan") if isinstance(state, dict) else state
        if found != self.name:
            raise TrueupError(
                f"This state belongs to the plan {found!r}, not to {self.name!r}.",
                fix="Go on with the plan that the run began with.",
            )
        if state.get("parameters") != list(self.space.names):
            raise TrueupError(
                f"This state of the plan {self.name!r} is about another space: it has "
                f"{len(state.get('parameters') or ())} parameters, and this one {len(self.space)}, "
                "or they differ in name or order.",
                fix="Go on in the space that the run began with.",
            )
        try:
            self._resume(state)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TrueupError(
                f"A state of the plan {self.name!r} could not be read: {error!r}.",
                fix="Take another checkpoint, or begin anew.",
            ) from error

    def _kept(self) -> dict[str, Any]:
        return {}

    def _resume(self, state: dict[str, Any]) -> None:
        pass


def checked_count(n: int) -> int:
    """How many points to draw, refused below 0."""
    if n < 0:
        raise TrueupError(f"{n} points cannot be drawn.", fix="Ask for 0 or more.")
    return int(n)


def checked_outcomes(
    space: Space, points: np.ndarray, success: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes as arrays (m, len(space)) and (m,), or a sentence about their shapes."""
    rows, good = np.asarray(points, float), np.asarray(success)
    if rows.ndim != 2 or rows.shape[1] != len(space) or good.shape != rows.shape[:1]:
        raise TrueupError(
            f"Outcomes of this space need points of shape (m, {len(space)}) and successes of shape "
            f"(m,), not {rows.shape} and {good.shape}.",
            fix="Give one row and one success for each episode that is over.",
        )
    return rows, good.astype(bool)


def checked_share(name: str, value: float, *, above: float = 0.0, most: float = 1.0) -> float:
    """A setting of a plan that must lie in (above, most]."""
    if not above < value <= most:
        raise TrueupError(
            f"{name} is {value:g}, and must be above {above:g} and at most {most:g}.",
            fix="Leave it out to take the default.",
        )
    return float(value)
