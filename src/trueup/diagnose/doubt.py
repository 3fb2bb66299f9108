"""What recordings show that no number of the simulator makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.diagnose.planted import GAPS

_OPEN = 1.0  # how evenly numbers and something else may share it: below 2, mostly the one or other


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Something that was measured and that the fitted numbers do not make.

    Attributes:
        what: A sentence.
        gaps: Those whose numbers were fitted to it, and may stand for it.
        explained: How much of it those numbers make after all, as a share of 1.
    """

    what: str
    gaps: tuple[str, ...]
    explained: float


class Trust:
    """How much of what gaps seem to cost is theirs, and not that of something unmodelled.

    Numbers that were fitted to a motion and make a third of it are believed a third of what they
    cost. How much that really is nobody knows: a third is the mean of what may be true.

    Args:
        doubts: What the identification could not explain.
    """

    def __init__(self, doubts: Sequence[Doubt] = ()) -> None:
        self.mean = np.ones(len(GAPS))
        for doubt in doubts:
            for gap in doubt.gaps:
                if gap in GAPS:
                    g = GAPS.index(gap)
                    self.mean[g] = min(self.mean[g], doubt.explained)

    def drawn(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """(count, 8) shares that may be true."""
        a, b = _OPEN * self.mean, _OPEN * (1.0 - self.mean)
        open_ = (self.mean > 0.0) & (self.mean < 1.0)
        found = np.broadcast_to(self.mean, (count, len(GAPS))).copy()
        found[:, open_] = generator.beta(a[open_], b[open_], (count, int(open_.sum())))
        return found
