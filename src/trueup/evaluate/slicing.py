"""Where in the space a policy fails: success along each parameter and each gap, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.evaluate.association import associations
from trueup.evaluate.chance import wilson
from trueup.evaluate.evaluation import Evaluation
from trueup.evaluate.words import number, percent, scaled
from trueup.space import Space

LEVEL = 0.05
_MOST_BINS = 10
_SEED = 20  # the same evaluation is always told in the same words


@dataclass(frozen=True, kw_only=True)
class Bin:
    """The episodes whose value lies between two others.

    Attributes:
        low: Where it begins.
        high: Where it ends.
        n: How many episodes.
        successes: How many of them succeeded.
    """

    low: float
    high: float
    n: int
    successes: int

    @property
    def share(self) -> float:
        """The share of successes."""
        return self.successes / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval (Wilson)."""
        return wilson(self.successes, self.n)


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Success along one parameter, or along the distance from nominal in one gap.

    Attributes:
        name: The parameter, or the gap.
        unit: Of the parameter; "1" for the distance in a gap, which is 0 where all its parameters
            are nominal and 1 where all are at their far ends.
        parameters: How many parameters it is about: 1, or those of the gap.
        bins: From low to high, about as many episodes in each.
        p_trend: Of success rising or falling along it, this one alone.
        p_bins: Of success differing between bins in any way, this one alone.
        p_value: Corrected for both tests and for all parameters and gaps that were looked at.
    """

    name: str
    unit: str
    parameters: int
    bins: tuple[Bin, ...]
    p_trend: float
    p_bins: float
    p_value: float

    @property
    def claimed(self) -> bool:
        """Whether the corrected test supports a claim at 5 %."""
        return self.p_value < LEVEL

    @property
    def is_gap(self) -> bool:
        """Whether it is about a whole gap."""
        return "/" not in self.name

    def __str__(self) -> str:
        if not self.claimed:
            return f"{self.name}: no difference can be claimed"
        return f"{self._title}: {self._contrast()}"

    @property
    def _title(self) -> str:
        return f"{self.name} (all {self.parameters})" if self.is_gap else self.name

    def _contrast(self) -> str:
        first, last = self.bins[0], self.bins[-1]
        if self.p_trend <= self.p_bins:
            near, far = f"below {self._at(first.high)}", f"above {self._at(last.low)}"
            if self.is_gap:
                near, far = "near nominal", "far from it"
            return f"{percent(first.share)} {near}, {percent(last.share)} {far}"
        inner = self.bins[1:-1]
        odd = max(self.bins, key=lambda b: abs(b.share - _share(_others(self.bins, b))))
        if inner and _gain((first, last), inner) >= _gain((odd,), _others(self.bins, odd)):
            ends = f"below {self._at(first.high)} or above {self._at(last.low)}"
            return f"{percent(_share((first, last)))} {ends}, {percent(_share(inner))} between"
        others = percent(_share(_others(self.bins, odd)))
        return f"{percent(odd.share)} {self._place(odd)}, {others} elsewhere"

    def _place(self, b: Bin) -> str:
        if b is self.bins[0]:
            return f"below {self._at(b.high)}"
        if b is self.bins[-1]:
            return f"above {self._at(b.low)}"
        return f"between {self._at(b.low)} and {self._at(b.high)}"

    def _at(self, value: float) -> str:
        if self.is_gap:
            return f"{number(value)} of the way"
        unit, factor = scaled(self.unit, max(abs(self.bins[0].low), abs(self.bins[-1].high)))
        return f"{number(factor * value)} {unit}".strip()


def slices(
    evaluation: Evaluation, space: Space, *, generator: np.random.Generator | None = None
) -> list[Slice]:
    """Success along every free parameter of a space and every gap, the clearest first.

    What a slice claims is that success goes along with the parameter, not that the parameter is
    the cause: where two were drawn together, both go along.

    Args:
        evaluation: Episodes at points of the space.
        space: Which parameters were free, and where they are nominal.
        generator: For the test, which shuffles outcomes; by default always the same.
    """
    columns = _columns(evaluation, space)
    if not columns:
        return []
    values = np.stack([values for _, _, _, values in columns], axis=1)
    count = int(np.clip(round((len(evaluation) / 40) ** 0.5), 2, _MOST_BINS))
    edges = [_edges(column, count) for column in values.T]
    member = np.stack(
        [np.searchsorted(e[1:-1], c) for e, c in zip(edges, values.T, strict=True)], axis=1
    )
    found = associations(
        values, member, evaluation.success, generator or np.random.default_rng(_SEED)
    )
    made = [
        Slice(
            name=name,
            unit=unit,
            parameters=k,
            bins=_bins(edges[j], member[:, j], evaluation.success),
            p_trend=float(found.trend[j]),
            p_bins=float(found.bins[j]),
            p_value=float(found.corrected[j]),
        )
        for j, (name, unit, k, _) in enumerate(columns)
    ]
    return sorted(made, key=lambda s: (s.p_value, min(s.p_trend, s.p_bins)))


def described(found: Sequence[Slice], evaluation: Evaluation) -> list[str]:
    """Where it fails, one sentence a line; or that nothing can be claimed."""
    failed = len(evaluation) - evaluation.successes
    if failed in (0, len(evaluation)):
        return [f"{'Every' if failed else 'No'} episode failed, so no parameter can explain it."]
    claimed = [str(s) for s in found if s.claimed]
    return claimed or ["No parameter explains the failures at 5 %."]


def _columns(evaluation: Evaluation, space: Space) -> list[tuple[str, str, int, np.ndarray]]:
    """Name, unit, number of parameters and values (n,) of all that can be told apart."""
    names = [name for name in space.free if name in evaluation.points.names]
    if space.free and not names:
        raise TrueupError(
            f"This evaluation of {len(evaluation.points.names)} parameters has none of the "
            f"{len(space.free)} free ones of the space.",
            fix="Give the space that its points were drawn from.",
        )
    values = {name: evaluation.points.column(name) for name in names}
    varied = [name for name in names if np.ptp(values[name]) > 0]
    found = [(name, space[name].unit, 1, values[name]) for name in varied]
    for gap, part in space.by_gap().items():
        within = [name for name in varied if name in part]
        if len(within) > 1:
            far = [_departure(values[name], space[name].nominal) for name in within]
            distance = np.sqrt(np.mean(np.square(far), axis=0))
            found.append((gap.value, "1", len(within), distance))
    return [column for column in found if np.ptp(column[-1]) > 0]


def _departure(x: np.ndarray, nominal: float) -> np.ndarray:
    """How far from nominal among the other episodes, (n,) from 0 to 1 at the farther end."""
    ordered = np.sort(x)
    place = np.searchsorted(ordered, x) + np.searchsorted(ordered, x, side="right")
    home = np.searchsorted(ordered, nominal) + np.searchsorted(ordered, nominal, side="right")
    away = np.abs(place - home)
    return away / max(1, away.max())


def _edges(x: np.ndarray, count: int) -> np.ndarray:
    """Ends of bins with about as many episodes each; fewer where values repeat."""
    inner = np.quantile(x, np.arange(1, count) / count)
    inner = np.unique(inner[(inner >= x.min()) & (inner < x.max())])
    if not len(inner):  # nearly all values are one
        inner = np.array([x.min()])
    return np.concatenate([[x.min()], inner, [x.max()]])


def _bins(edges: np.ndarray, member: np.ndarray, success: np.ndarray) -> tuple[Bin, ...]:
    n = np.bincount(member, minlength=len(edges) - 1)
    good = np.bincount(member[success], minlength=len(edges) - 1)
    return tuple(
        Bin(low=float(edges[k]), high=float(edges[k + 1]), n=int(n[k]), successes=int(good[k]))
        for k in range(len(edges) - 1)
    )


def _others(bins: Sequence[Bin], one: Bin) -> tuple[Bin, ...]:
    return tuple(b for b in bins if b is not one)


def _share(bins: Sequence[Bin]) -> float:
    return sum(b.successes for b in bins) / sum(b.n for b in bins)


def _gain(some: Sequence[Bin], rest: Sequence[Bin]) -> float:
    """How well a split into two tells success apart: the spread of shares between its sides."""
    n, m = sum(b.n for b in some), sum(b.n for b in rest)
    return n * m / (n + m) * (_share(some) - _share(rest)) ** 2
