"""Plans from sources: straight ones, and ones with a mistake and the way back from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from trueup.generate.motion.legs import Leg, Library, Source, slackened
from trueup.generate.motion.performer import TRIES, Plans
from trueup.streams import Streams

_SLOWEST, _FASTEST = 0.95, 1.1
_MISS = (0.032, 0.045)  # m beside the object
_TRUST = 8.0  # how much likelier a source is that works more often
_RAISED = 0.03  # m: from this high an object slips


class Mistake(IntEnum):
    """What goes wrong on purpose, so that the way back is shown."""

    NONE = 0
    OBJECT_NUDGED = 1
    HAND_NUDGED = 2
    MISSED = 3
    SLIPPED = 4
    STRAYED = 5

    @property
    def words(self) -> str:
        """For labels and tables."""
        return _WORDS[self]


_PLANNED = (Mistake.OBJECT_NUDGED, Mistake.HAND_NUDGED, Mistake.MISSED, Mistake.SLIPPED)
_WORDS = {
    Mistake.NONE: "none",
    Mistake.OBJECT_NUDGED: "object nudged",
    Mistake.HAND_NUDGED: "hand nudged",
    Mistake.MISSED: "missed grasp",
    Mistake.SLIPPED: "slip",
    Mistake.STRAYED: "strayed",
}


@dataclass(frozen=True, kw_only=True)
class _Part:
    """Where the legs of one source stand in the library."""

    main: list[int]
    again: list[int]
    slack: int
    slip_at: float


class Repertoire:
    """All legs of some sources, and the plans they make.

    Attributes:
        library: The legs.
        most: Legs of the longest plan.
        mistakes: Which mistakes the sources allow.

    Args:
        sources: At least one.
        period_s: Time between commands.
    """

    def __init__(self, sources: Sequence[Source], period_s: float) -> None:
        self.sources, legs = tuple(sources), []
        self._parts = [_part(source, legs, period_s) for source in sources]
        self.library = Library(legs)
        grasping = all(source.grasp.name == "grasp" for source in sources)
        self.mistakes = _PLANNED if grasping else (Mistake.HAND_NUDGED,)
        longest = max(max(len(p.main), len(p.again)) for p in self._parts)
        self.most = 5 + (2 + TRIES) * longest
        self._reach = np.array([source.reach for source in sources])
        self._turn = np.array([source.turn for source in sources])
        self._works = np.array([source.works for source in sources])

    def ranked(self, streams: Streams, reach: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """(n, sources) an order of the sources for objects that stand so far, turned so.

        Those that had to do with a like object are likelier to come first, and those that work
        more often. What the first one drops, the second one is tried on.
        """
        quarter = 0.5 * np.pi
        apart = (turn[:, None] - self._turn + 0.5 * quarter) % quarter - 0.5 * quarter
        unlike = np.abs(reach[:, None] - self._reach) / 0.03 + np.abs(apart) / 0.5
        unlike = unlike - _TRUST * np.log(np.maximum(self._works, 1e-3))
        luck = streams.uniform(len(self.sources))
        return np.argsort(unlike - np.log(-np.log(np.clip(1.0 - luck, 1e-12, 1 - 1e-12))), axis=1)

    def plans(self, ranked: np.ndarray, mistake: np.ndarray, streams: Streams) -> Plans:
        """What to do, by the order of sources (n, sources) and by mistake (n,)."""
        n = len(ranked)
        plans, ends = Plans.none(n, self.most), np.zeros(n, int)
        for which, part in enumerate(self._parts):
            for kind in Mistake:
                rows = np.flatnonzero((ranked[:, 0] == which) & (mistake == kind))
                if len(rows):
                    ends[rows] = _write(plans, rows, part, kind)
        for again in range(TRIES):
            self._retry(plans, ends, again, ranked[:, (again + 1) % ranked.shape[1]])
        u = streams.uniform(4)
        plans.speed[:] = _SLOWEST + (_FASTEST - _SLOWEST) * u[:, 0]
        missed = mistake == Mistake.MISSED
        plans.shift[missed, :2] = _beside(u[missed])[:, None]
        return plans

    def _retry(self, plans: Plans, ends: np.ndarray, again: int, source: np.ndarray) -> None:
        """Add to each plan how what is not in the hand is gone back for, by another source."""
        for which, part in enumerate(self._parts):
            rows = np.flatnonzero((source == which) & (len(part.main) > 1))
            plans.retry[rows, again] = ends[rows]
            plans.legs[rows[:, None], ends[rows, None] + np.arange(len(part.again))] = part.again
            ends[rows] += len(part.again)


def _part(source: Source, legs: list[Leg], period_s: float) -> _Part:
    main, again = list(source.legs), list(source.again(period_s))
    reach, grasp = source.legs[0], source.grasp
    first = len(legs)
    legs += [*main, *again, slackened(float(reach.grip[-1]), float(grasp.grip[-1]), period_s)]
    return _Part(
        main=list(range(first, first + len(main))),
        again=list(range(first + len(main), first + len(main) + len(again))),
        slack=len(legs) - 1,
        slip_at=_slip_at(main),
    )


def _write(plans: Plans, rows: np.ndarray, part: _Part, kind: Mistake) -> int:
    """One plan into some rows, without what is jumped to; how many legs it has."""
    order, wrong = list(part.main), list[int]()
    if kind is Mistake.MISSED:
        order, wrong = [*part.main[:2], *part.again], [0, 1]
    elif kind is Mistake.SLIPPED:
        order, wrong = [*part.main[:3], part.slack, *part.again], [3]
        plans.stop[rows, 2] = part.slip_at
    plans.wrong[rows[:, None], wrong] = True
    plans.legs[rows, : len(order)] = order
    return len(order)


def _beside(u: np.ndarray) -> np.ndarray:
    """(n, 3) a place over an object or short of it, where closing a hand catches nothing."""
    far = _MISS[0] + (_MISS[1] - _MISS[0]) * u[:, 1]
    over = u[:, 2] < 0.5
    side = 0.01 * (2.0 * u[:, 3] - 1.0)
    return np.stack([np.where(over, 0.0, -far), side, np.where(over, far, 0.004)], axis=-1)


def _slip_at(legs: Sequence[Leg]) -> float:
    """The share of the carry after which an object is high enough to slip."""
    carry = next((leg for leg in legs if leg.name == "carry"), None)
    if carry is None:
        return 1.0
    high = np.flatnonzero(carry.place[:, 2] > carry.place[0, 2] + _RAISED)
    return max(0.1, float(high[0]) / len(carry)) if len(high) else 0.3
