"""Two evaluations of the same episodes, compared in pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from trueup.errors import TrueupError
from trueup.evaluate.chance import wilson
from trueup.evaluate.evaluation import Evaluation
from trueup.evaluate.words import about

LEVEL = 0.05  # of significance
POWER = 0.8


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How much more often a succeeds than b, in the same episodes.

    Pairs share their seeds, so what both find hard cancels out: far fewer episodes are needed than
    for two evaluations that know nothing of each other.

    Attributes:
        both: Pairs in which both succeed.
        only_a: Pairs in which a alone does.
        only_b: Pairs in which b alone does.
        neither: Pairs in which none does.
        same_worlds: Whether the two of each pair were at the same point; if not, only their
            episodes began alike.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    same_worlds: bool = True

    @property
    def pairs(self) -> int:
        """How many pairs."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float:
        """The share of successes of a less that of b."""
        return (self.only_a - self.only_b) / self.pairs

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the true difference lies (Newcombe 1998, method 10: square and add).

        Built of the two Wilson intervals that each share is printed with, and of the correlation of
        the pairs. It needs no iteration, stays within -1 and 1, keeps a width where no pair
        differs, and covers about as well as Tango's score interval.
        """
        n, a, b = self.pairs, self.both + self.only_a, self.both + self.only_b
        (low_a, high_a), (low_b, high_b) = (wilson(k, n, confidence) for k in (a, b))
        correlation = self._correlation()

        def distance(x: float, y: float) -> float:
            return math.sqrt(max(0.0, x * x - 2.0 * correlation * x * y + y * y))

        return (
            max(-1.0, self.difference - distance(a / n - low_a, high_b - b / n)),
            min(1.0, self.difference + distance(high_a - a / n, b / n - low_b)),
        )

    def _correlation(self) -> float:
        """Of success within pairs, corrected for continuity where it is positive."""
        a, b, n = self.both + self.only_a, self.both + self.only_b, self.pairs
        scale = math.sqrt(a * (n - a)) * math.sqrt(b * (n - b))
        product = self.both * self.neither - self.only_a * self.only_b
        if scale == 0.0:
            return 0.0
        return (product if product < 0 else max(0.0, product - 0.5 * n)) / scale

    @property
    def p_value(self) -> float:
        """Of McNemar's exact test: the chance of so uneven a split if neither were better."""
        split = self.only_a + self.only_b
        if split == 0:
            return 1.0
        return min(1.0, 2.0 * float(special.bdtr(min(self.only_a, self.only_b), split, 0.5)))

    @property
    def told_apart(self) -> bool:
        """Whether the test can tell a from b at 5 %."""
        return self.p_value < LEVEL

    @property
    def still_needed(self) -> int | None:
        """How many more pairs would tell them apart, with a power of 80 % at 5 %.

        By Connor (1987), if the true shares of pairs that differ are the observed ones. None where
        the two halves are even, so that no number can be given.
        """
        if self.told_apart:
            return 0
        if self.only_a == self.only_b:
            return None
        split, difference = (self.only_a + self.only_b) / self.pairs, abs(self.difference)
        z_level, z_power = (float(special.ndtri(p)) for p in (1.0 - 0.5 * LEVEL, POWER))
        spread = math.sqrt(max(0.0, split - difference**2))
        total = ((z_level * math.sqrt(split) + z_power * spread) / difference) ** 2
        return max(1, math.ceil(total) - self.pairs)

    def words(self, a: str = "the first", b: str = "the second") -> str:
        """The comparison in sentences, with names for the two."""
        low, high = self.interval()
        where = "the same worlds" if self.same_worlds else "different worlds with the same starts"
        points = f"{100 * abs(self.difference):.1f} points"
        more = f"{points} {'more' if self.difference > 0 else 'less'} often than"
        span = f"{100 * low:+.1f} to {100 * high:+.1f} points".replace("-", "−")
        return (
            f"In {self.pairs:,} pairs of episodes in {where}, {a} succeeds "
            f"{more if self.difference else 'as often as'} {b} (95 % interval of the difference "
            f"{span}): in {self.only_a:,} pairs {a} alone did it, in {self.only_b:,} {b} alone. "
            f"{self._verdict()}"
        )

    def _verdict(self) -> str:
        chance = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        needed = self.still_needed
        if needed == 0:
            return f"They differ ({chance}, McNemar's exact test)."
        if needed is None:
            what = "no pair differs" if self.only_a == 0 else "each won as many pairs as the other"
            return f"They cannot be told apart: {what}, so no number of further pairs can be given."
        return (
            f"They cannot be told apart yet ({chance}): if the difference is what it seems, about "
            f"{about(needed)} more pairs would do it (power {100 * POWER:.0f} %)."
        )


def compared(a: Evaluation, b: Evaluation) -> Comparison:
    """Pair two evaluations row by row: two policies in one space, or one policy in two spaces.

    Both must have played the episodes of the same seeds in the same order, as `trials` gives them.
    """
    if a.world != b.world:
        raise TrueupError(
            f"An evaluation of {a.world!r} cannot be paired with one of {b.world!r}.",
            fix="Evaluate both in one world.",
        )
    if not np.array_equal(a.seeds, b.seeds):
        shared = len(np.intersect1d(a.seeds, b.seeds))
        raise TrueupError(
            f"These evaluations cannot be paired: they have {len(a):,} and {len(b):,} episodes, "
            f"of which {shared:,} share a seed{'' if len(a) != len(b) else ', not row by row'}.",
            fix="Evaluate both on `trials` of the same n and seed, or take a `subset` of one.",
        )
    first, second = a.success, b.success
    return Comparison(
        both=int((first & second).sum()),
        only_a=int((first & ~second).sum()),
        only_b=int((~first & second).sum()),
        neither=int((~first & ~second).sum()),
        same_worlds=_same_worlds(a, b),
    )


def _same_worlds(a: Evaluation, b: Evaluation) -> bool:
    if set(a.points.names) != set(b.points.names):
        return False
    return all(np.array_equal(a.points.column(k), b.points.column(k)) for k in a.points.names)
