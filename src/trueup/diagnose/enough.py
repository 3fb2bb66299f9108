"""Whether what was identified is all there is, or something else costs success beside it.

A fit loses a little less than the robot did, or a little more: by what recordings leave open, and
by chance in the trials. To blame another gap for what is missing, something must be missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_ROOM = 0.05  # of success: the least that something else may cost


@dataclass(frozen=True, kw_only=True)
class Enough:
    """What identified numbers cost, if nothing else does.

    Attributes:
        likely: How likely it is that nothing else does, as a share of 1.
        costs: (g,) the middle of what each costs, before trials are counted.
        spreads: (g,) their standard deviations.
    """

    likely: float
    costs: np.ndarray
    spreads: np.ndarray

    @classmethod
    def of(
        cls,
        costs: Sequence[float] | np.ndarray,
        spreads: Sequence[float] | np.ndarray,
        lost: np.ndarray,
        most: float,
        before: float,
    ) -> Enough:
        """By Bayes.

        Either nothing else costs, and as much is lost as these cost; or something does, and
        anything between that and `most` may be lost.

        Args:
            costs: (g,) of what was identified, as shares of 1.
            spreads: (g,) their standard deviations.
            lost: (n,) losses that may be behind the trials.
            most: As much can be lost at all.
            before: How likely it is that nothing else costs, before trials are counted.
        """
        costs, spreads = np.asarray(costs, float), np.asarray(spreads, float)
        off = float(lost.mean() - costs.sum())
        wide = math.hypot(float(np.linalg.norm(spreads)), float(lost.std())) + 1e-9
        room = max(most - float(costs.sum()), _ROOM)
        alone = math.exp(-0.5 * (off / wide) ** 2) / (wide * math.sqrt(2.0 * math.pi))
        other = (_below(off / wide) - _below((off - room) / wide)) / room
        odds = before * alone / max((1.0 - before) * other, 1e-12)
        return cls(
            likely=odds / (1.0 + odds) if before > 0.0 else 0.0, costs=costs, spreads=spreads
        )

    def given(self, costs: np.ndarray, lost: np.ndarray) -> np.ndarray:
        """(n, g) costs that make up losses (n,): what is surest changes least.

        Args:
            costs: (n, g) that may be true before trials are counted.
            lost: (n,) what was lost.
        """
        weights = self.spreads**2 + 1e-12
        return costs + (lost - costs.sum(axis=1))[:, None] * weights / weights.sum()

    def drawn(self, lost: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """(n, g) costs that may be true, where losses (n,) may be behind the trials."""
        wide = float(np.linalg.norm(self.spreads)) + 1e-9
        likely = np.exp(-0.5 * ((lost - self.costs.sum()) / wide) ** 2) + 1e-12
        lost = generator.choice(lost, len(lost), p=likely / likely.sum())
        z = generator.standard_normal((len(lost), len(self.costs)))
        return self.given(self.costs + self.spreads * z, lost)


def _below(z: float) -> float:
    """How likely a standard normal number is to be smaller."""
    return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))
