"""Some trials against the others: how much more often they fail, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from trueup.evaluate import wilson

if TYPE_CHECKING:
    from trueup.diagnose.failures.labels.columns import Column


ELSE = "else"
"""What a level is set against, where there are several others."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """The trials with one word of a label.

    Attributes:
        name: The word.
        trials: How many.
        failed: How many of them failed.
    """

    name: str
    trials: int
    failed: int

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share of successes, 95 % (Wilson)."""
        return wilson(self.trials - self.failed, self.trials)


@dataclass(frozen=True, kw_only=True)
class Side:
    """What is tested of a column.

    Attributes:
        names: The level and its rest; or three thirds.
        values: (n,) numbers; only their order counts.
        bins: (n,) which part each trial is in, from 0 without gaps.
        ranked: Whether the order means something.
    """

    names: tuple[str, ...]
    values: np.ndarray
    bins: np.ndarray
    ranked: bool

    @staticmethod
    def of_level(level: str, words: np.ndarray) -> Side:
        """One level against all the rest."""
        inside = words == level
        rest = sorted(set(words[~inside]))
        other = rest[0] if len(rest) == 1 else ELSE
        return Side(names=(level, str(other)), values=inside * 1.0, bins=inside * 1, ranked=False)

    @staticmethod
    def of_ranks(names: tuple[str, ...], values: np.ndarray, bins: np.ndarray) -> Side:
        """Numbers, and thirds of them; parts that are empty are passed over."""
        dense = np.unique(bins, return_inverse=True)[1]
        return Side(names=names, values=values, bins=dense.reshape(-1), ranked=True)


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Two groups of trials.

    Attributes:
        label: The label.
        first: Where failures are more frequent.
        second: What it is set against.
        p_value: Corrected for everything that was tested beside it.
        ratio: How many times as often the first fails; infinite where the second never does.
        ratio_interval: Its 95 % interval (log, with half a trial added where a count is 0).
        difference: In points of a hundred.
        difference_interval: Its 95 % interval (Newcombe 1998).
        ranked: Whether they are the ends of a numeric label.
    """

    label: str
    first: Level
    second: Level
    p_value: float
    ratio: float
    ratio_interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]
    ranked: bool

    @staticmethod
    def of(column: Column, side: Side, success: np.ndarray, p_value: float) -> Contrast:
        """The contrast of one side of a column, the worse group first."""
        groups = _groups(np.array(column.words), side, success)
        levels = [
            Level(name=name, trials=int(rows.sum()), failed=int((~success[rows]).sum()))
            for name, rows in groups
        ]
        worse, better = sorted(levels, key=lambda x: -x.failed / max(x.trials, 1))
        return Contrast(
            label=column.name,
            first=worse,
            second=better,
            p_value=p_value,
            ratio=_ratio(worse, better),
            ratio_interval=_ratio_interval(worse, better),
            difference=100.0 * (_share(worse) - _share(better)),
            difference_interval=_newcombe(worse, better),
            ranked=side.ranked,
        )

    def __str__(self) -> str:
        first, second = self.first, self.second
        mine, theirs = (f"({x.failed} of {x.trials})" for x in (first, second))
        if first.name == ELSE:
            return self._seldom(f"where {self.label} is {second.name} {theirs}", mine)
        where = f"where {self.label} is {first.name} {mine}"
        if second.failed == 0:
            other = ELSE if second.name == ELSE else f"where it is {second.name}"
            return f"Fails only {where}, never {other} {theirs}"
        if self.ratio == 1.0:
            return f"Fails as often {where} as {second.name} {theirs}"
        return f"Fails {self._times} as often {where} as {second.name} {theirs}, {self._span}"

    def _seldom(self, where: str, rest: str) -> str:
        """The sentence of a level that fails less than the rest."""
        if self.second.failed == 0:
            return f"Never fails {where}, but else {rest}"
        return f"Fails {self._times} as often elsewhere {rest} as {where}, {self._span}"

    @property
    def _times(self) -> str:
        return f"{_short(self.ratio)} times"

    @property
    def _span(self) -> str:
        low, high = self.ratio_interval
        return f"95 % interval {_short(low)} – {_short(high)}"

    def to_json(self) -> dict[str, Any]:
        """A JSON object; a ratio without end is null."""
        plain = asdict(self)
        plain["ratio"] = self.ratio if math.isfinite(self.ratio) else None
        return {**plain, "ratio_interval": list(self.ratio_interval), "words": str(self)}


def _groups(words: np.ndarray, side: Side, success: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """A level and its rest; the two ends of a numeric label, or its middle if that stands out."""
    first, *_, last = side.names
    if not side.ranked:
        return [(first, words == first), (last, words != first)]
    good = [success[words == name].mean() if (words == name).any() else 0 for name in side.names]
    if not min(good[0], good[-1]) <= good[1] <= max(good[0], good[-1]):
        return [(side.names[1], words == side.names[1]), (ELSE, words != side.names[1])]
    return [(name, words == name) for name in (first, last)]


def _share(level: Level) -> float:
    return level.failed / max(level.trials, 1)


def _ratio(a: Level, b: Level) -> float:
    if a.failed == b.failed == 0:
        return 1.0
    return _share(a) / _share(b) if b.failed else math.inf


def _ratio_interval(a: Level, b: Level) -> tuple[float, float]:
    """On the log scale (Katz 1978); half a trial more on each side where a count is 0."""
    more = 0.5 if 0 in (a.failed, b.failed) else 0.0
    (x, n), (y, m) = ((level.failed + more, level.trials + more) for level in (a, b))
    if not (n and m):
        return 0.0, 1e9
    spread = math.sqrt(max(0.0, 1 / x - 1 / n + 1 / y - 1 / m))
    z, middle = float(special.ndtri(0.975)), math.log((x / n) / (y / m))
    return math.exp(middle - z * spread), math.exp(middle + z * spread)


def _newcombe(a: Level, b: Level) -> tuple[float, float]:
    """Of the difference in points, from the two Wilson intervals."""
    p, q = _share(a), _share(b)
    (la, ha), (lb, hb) = (wilson(x.failed, x.trials) for x in (a, b))
    low = p - q - math.hypot(p - la, hb - q)
    high = p - q + math.hypot(ha - p, q - lb)
    return 100.0 * max(-1.0, low), 100.0 * min(1.0, high)


def _short(x: float) -> str:
    return f"{x:.1f}" if x < 9.95 else f"{x:.0f}"
