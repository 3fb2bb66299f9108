"""Robots whose success is planted, for tests of what is predicted of them: no physics, all luck."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.diagnose.prediction import Outcomes


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A simulator and what it gets wrong.

    Attributes:
        simulated: Share of starts that succeed in simulation.
        lost: Chance that such a start fails on the robot.
        won: Chance that one that fails in simulation succeeds there.
        spread: How much the simulated share differs between possible robots.
    """

    simulated: float
    lost: float = 0.0
    won: float = 0.0
    spread: float = 0.0

    def played(
        self,
        generator: np.random.Generator,
        trials: int,
        *,
        paired: bool = True,
        name: str = "policy",
        draws: int = 12,
        starts: int = 48,
    ) -> tuple[Outcomes, float]:
        """One policy, and its true share on the robot, which is one more draw."""
        centre = self.simulated + self.spread * generator.normal(size=draws + 1)
        share = np.clip(centre, 0.0, 1.0)
        begun = generator.random(trials)
        simulated, right = begun < share[:draws, None], begun < share[-1]
        luck = generator.random(trials)
        done = np.where(right, luck >= self.lost, luck < self.won)
        fresh = generator.random((draws, starts)) < share[:draws, None]
        known = {"paired": simulated, "beside": done} if paired else {"alone": done}
        actual = share[-1] * (1.0 - self.lost) + (1.0 - share[-1]) * self.won
        return Outcomes(policy=name, fresh=fresh, **known), float(actual)
