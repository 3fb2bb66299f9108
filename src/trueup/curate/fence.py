"""What is ordinary in a set, and from where on a value is not: learned from the set itself.

The middle is a median, and the tail is read off quantiles of what lies within reach of it, so that
a third of bad episodes moves neither far. The tail is continued as an exponential, which is heavier
than a normal one, so that a fence errs on the side of keeping.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

FEWEST = 8
"""A set smaller than this does not say what is ordinary."""

_FIRST = 10.0  # spreads
_TAILS = (0.25, 0.1)  # where the tail is taken to begin: first from afar, then nearer
_NORMAL = 1.4826  # a normal standard deviation in median deviations


class Side(StrEnum):
    """Which values can be bad."""

    ABOVE = "above"
    BELOW = "below"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class Fence:
    """The ordinary values of one measure.

    Attributes:
        middle: Their median.
        reach: How far from it a value may lie; what is further is out.
        side: In which direction.
    """

    middle: float
    reach: float
    side: Side = Side.ABOVE

    @classmethod
    def around(
        cls,
        values: np.ndarray,
        *,
        side: Side = Side.ABOVE,
        floor: float,
        chance: float,
        rare: float = 0.4,
    ) -> Fence | None:
        """The fence of a set (n,); none where the set is too small. NaN says nothing.

        Args:
            values: One for each episode.
            side: Which deviations count.
            floor: The smallest spread that means anything, in the measure's unit.
            chance: How often an ordinary episode may be outside.
            rare: The largest share that may be outside; where there are more, what is outside is
                another way to do the task, and the fence is widened around it.
        """
        known = values[np.isfinite(values)]
        if len(known) < FEWEST:
            return None
        middle, reach = _first(known, floor)
        for beyond in _TAILS:
            inside = known[_deviation(known, middle, side) <= reach]
            middle = float(np.median(inside))
            reach = min(reach, _reach(inside, middle, side, floor, chance, beyond))
        outside = np.sort(_deviation(known, middle, side))[::-1]
        if np.mean(outside > reach) > rare:  # the furthest few may still be out of that mode
            mode = outside[int(rare * len(known)) :]
            reach = 1.5 * float(mode[mode > reach].max(initial=reach))
        return cls(middle=middle, reach=reach, side=side)

    def excess(self, values: np.ndarray) -> np.ndarray:
        """(n,) how far out: above 1 is outside; 0 where nothing is known or all is well."""
        far = _deviation(values, self.middle, self.side) / self.reach
        return np.where(np.isnan(far), 0.0, np.maximum(far, 0.0))


def _deviation(values: np.ndarray, middle: float, side: Side) -> np.ndarray:
    away = np.asarray(values) - middle
    if side is Side.BOTH:
        return np.abs(away)
    return away if side is Side.ABOVE else -away


def _first(known: np.ndarray, floor: float) -> tuple[float, float]:
    """What is certainly outside, before the tail is known."""
    middle = float(np.median(known))
    spread = _NORMAL * float(np.median(np.abs(known - middle)))
    return middle, _FIRST * max(spread, floor)


def _reach(
    inside: np.ndarray, middle: float, side: Side, floor: float, chance: float, beyond: float
) -> float:
    """From the middle to where an ordinary value comes with that chance."""
    away = _deviation(inside, middle, side)
    begin, half = np.quantile(away, (1.0 - beyond, 1.0 - beyond / 2.0))
    doubt = 1.0 + 1.5 / np.sqrt(beyond * len(inside))  # a tail of a few values may be longer
    tail = doubt * max(float(half - begin) / np.log(2.0), 0.5 * floor)
    return max(float(begin), floor) + tail * float(np.log(beyond / min(chance, beyond)))
