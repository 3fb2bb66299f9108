"""What is known of one policy: how it fared in simulated worlds, and how on the robot."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueup.errors import TrueupError


def _nothing() -> np.ndarray:
    return np.zeros(0, bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """One policy in simulation and on the robot.

    Every row of the simulated arrays is one draw of what the robot may be. A column of `paired` is
    one trial of the robot, begun in simulation as it began there.

    Attributes:
        policy: Its name.
        fresh: (draws, starts) success of simulated episodes.
        paired: (draws, k) success of simulated episodes that begin as the k trials of `beside` did.
        beside: (k,) success of these trials.
        alone: (m,) success of trials whose start simulation cannot repeat.
        starts: (k,) the seed of each paired trial; none where no other policy shares a start.
    """

    policy: str
    fresh: np.ndarray
    paired: np.ndarray | None = None
    beside: np.ndarray = field(default_factory=_nothing)
    alone: np.ndarray = field(default_factory=_nothing)
    starts: np.ndarray | None = None

    def __post_init__(self) -> None:
        fresh = np.atleast_2d(np.asarray(self.fresh, bool))
        beside, alone = (np.asarray(a, bool).ravel() for a in (self.beside, self.alone))
        empty = np.zeros((len(fresh), 0), bool)
        paired = empty if self.paired is None else np.atleast_2d(np.asarray(self.paired, bool))
        if paired.shape != (len(fresh), len(beside)) or not fresh.size:
            raise TrueupError(
                f"The outcomes of {self.policy} have simulated arrays of shapes {fresh.shape} and "
                f"{paired.shape} beside {len(beside)} trials.",
                fix="Give one row for each draw, and in `paired` one column for each trial.",
            )
        if self.starts is not None and np.shape(self.starts) != beside.shape:
            raise TrueupError(
                f"The outcomes of {self.policy} have starts of shape {np.shape(self.starts)} for "
                f"{len(beside)} trials.",
                fix="Give one for each paired trial, or none at all.",
            )
        checked = {"fresh": fresh, "paired": paired, "beside": beside, "alone": alone}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def draws(self) -> int:
        """How many possible robots were simulated."""
        return len(self.fresh)

    @property
    def trials(self) -> int:
        """How many real trials there are."""
        return len(self.beside) + len(self.alone)

    @property
    def successes(self) -> int:
        """How many of them succeeded."""
        return int(self.beside.sum() + self.alone.sum())

    def agreement(self) -> np.ndarray:
        """(draws, 2, 2) trials by what simulation said of their start and by what happened.

        [:, 1, 0] are starts that succeed in simulation and failed on the robot.
        """
        assert self.paired is not None
        said, done = self.paired, self.beside[None, :]
        return np.stack(
            [
                np.stack([(s & d).sum(axis=1) for d in (~done, done)], axis=-1)
                for s in (~said, said)
            ],
            axis=1,
        )
