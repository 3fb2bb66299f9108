"""Was a policy trained for this? Inside the trained distribution, at its edge, or outside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from trueup.errors import TrueupError
from trueup.randomize.trained import Marginal, Trained
from trueup.space import Parameter, Point, Points, Space

Verdict = Literal["inside", "edge", "outside"]

_SAMPLES = 2048  # worlds that stand for a posterior
_EDGE = 0.01  # outermost share on either side of a parameter that is its edge
_RARE, _UNKNOWN = 0.01, 0.001  # shares of trained worlds as far out: at the edge, outside
_MOST, _HALF = 0.95, 0.5  # shares of a posterior that must lie inside: inside, at the edge
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Covered:
    """How one parameter lies in the trained distribution.

    Attributes:
        name: The parameter.
        unit: Its unit; empty where nobody knows it.
        verdict: Inside, at the edge or outside.
        value: The value, or the median of many.
        low: Lower end of the central 95 %; the value itself where there is one.
        high: Upper end of the central 95 %.
        trained_low: Lowest trained value; None where it is not known.
        trained_high: Highest trained value.
        quantile: Share of trained worlds below the value; None where training held it.
        inside: Share of the values within the trained range.
        reason: Why it is not inside, or nothing.
    """

    name: str
    unit: str
    verdict: Verdict
    value: float
    low: float
    high: float
    trained_low: float | None
    trained_high: float | None
    quantile: float | None
    inside: float
    reason: str = ""

    def __str__(self) -> str:
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        value = (
            f"{self.value:.3g}" if self.low == self.high else f"{self.low:.3g} – {self.high:.3g}"
        )
        share = "" if self.low == self.high else f", {100 * self.inside:.0f} % of it inside"
        return f"{self.name} {value}{unit} ({self.reason}{share})"


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The answer, in numbers and, by `str`, in words.

    Attributes:
        verdict: Of all parameters together: the worst of any parameter, or of their combination.
        rows: One for each parameter that training varied or that is asked about.
        rarity: Share of trained worlds that lie at least as far out, all parameters together; for
            many points, the median.
        together: Share of the points that lie inside in every parameter and all together.
        count: How many points were asked about; 1 for a point.
    """

    verdict: Verdict
    rows: tuple[Covered, ...]
    rarity: float
    together: float
    count: int

    def having(self, verdict: Verdict) -> tuple[Covered, ...]:
        """The parameters of one verdict."""
        return tuple(row for row in self.rows if row.verdict == verdict)

    def __str__(self) -> str:
        head = {"inside": "Inside", "edge": "At the edge of", "outside": "Outside"}[self.verdict]
        sentences = [
            f"{head} the trained distribution.",
            f"Inside: {len(self.having('inside'))} of {len(self.rows)} parameters.",
            _listed("Outside", self.having("outside")),
            _listed("At the edge", self.having("edge")),
            self._together(),
        ]
        return " ".join(filter(None, sentences))

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows], "words": str(self)}

    def _together(self) -> str:
        if self.count > 1:
            return (
                f"All together: {100 * self.together:.0f} % of its worlds lie inside in every "
                "parameter and as a combination."
            )
        if self.rarity < _UNKNOWN:
            return "All together: fewer than 1 of 1,000 trained worlds is as far out in so many."
        if self.having("outside"):
            return ""
        share = f"{100 * self.rarity:.0f}" if self.rarity > 0.1 else f"{100 * self.rarity:.2g}"
        return f"All together: {share} % of trained worlds are as far out in as many."


def coverage(
    trained: Space,
    of: Point | Points | Space,
    *,
    catalogue: Space | None = None,
    generator: np.random.Generator | None = None,
) -> Coverage:
    """Whether worlds lie inside a trained distribution, parameter by parameter and together.

    A parameter is outside where it lies beyond the trained range, at the edge where it is in the
    outermost 1 % on either side, unless that side ends at the parameter's own bound. What training
    held at one value is inside at that value only, and what the trained space lacks was held at its
    nominal value. Of many worlds at least 95 % must lie within the range for inside, half of them
    for at the edge.

    All parameters together are compared as `Trained` says, so a world that is far out in many
    parameters at once is at the edge or outside though no single one is. A few parameters at the
    edge are nothing special: of 100, two are there by chance.

    Args:
        trained: The distribution of the training, `Plan.distribution` at its end.
        of: A point, several, or a space such as a posterior.
        catalogue: Knows unit and nominal value of parameters that `trained` lacks.
        generator: For the comparison by samples; the same ones each time by default.
    """
    generator = generator or np.random.default_rng(0)
    known = Trained(trained, generator, edge=_EDGE)
    names, values, lacking = _worlds(trained, of, generator)
    varied = values[:, : len(trained)]
    rows = [_varied(marginal, varied[:, i]) for i, marginal in known.marginals.items()]
    within = [m.contains(varied[:, i]) for i, m in known.marginals.items()]
    for i, name in enumerate(names):
        if i not in known.marginals:
            declared = _declared(name, trained, lacking, catalogue)
            rows.append(_held(name, declared, values[:, i]))
            within.append(_same(declared, values[:, i]))
    rarity = known.rarity(varied)
    inside = np.all(within, axis=0) & (rarity >= _UNKNOWN) if within else np.ones(len(values), bool)
    rows.sort(key=lambda row: names.index(row.name))
    together, typical = float(inside.mean()), float(np.median(rarity))
    single = len(values) == 1
    verdict = _of_point(rows, typical, known, varied) if single else _of_share(together)
    return Coverage(
        verdict=verdict, rows=tuple(rows), rarity=typical, together=together, count=len(values)
    )


def _worlds(
    trained: Space, of: Point | Points | Space, generator: np.random.Generator
) -> tuple[list[str], np.ndarray, dict[str, Parameter]]:
    """Names, values with the trained parameters first, and declarations of those that it lacks."""
    lacking: dict[str, Parameter] = {}
    if isinstance(of, Space):
        lacking = {p.name: p for p in of if p.name not in trained}
        of = of.sample(generator, _SAMPLES)
    elif not isinstance(of, Points):
        of = Points(tuple(of), np.array([[*of.values()]], float))
    if not len(of):
        raise TrueupError("There are no points to ask about.", fix="Give one or more.")
    if not np.isfinite(of.values).all():
        bad = of.names[int(np.flatnonzero(~np.isfinite(of.values).all(axis=0))[0])]
        raise TrueupError(
            f"The value of {bad!r} is not a finite number, so it lies nowhere.",
            fix="Give a number in the parameter's own unit.",
        )
    names = [*trained.names, *(name for name in of.names if name not in trained)]
    nominal = np.tile(
        [p.nominal for p in trained] + [0.0] * (len(names) - len(trained)), (len(of), 1)
    )
    for name in of.names:
        nominal[:, names.index(name)] = of.column(name)
    return names, nominal, lacking


def _varied(marginal: Marginal, x: np.ndarray) -> Covered:
    """A parameter that training varied."""
    p = marginal.parameter
    within = marginal.contains(x)
    share = float(within.mean())
    low, value, high = (float(v) for v in np.quantile(x, [0.025, 0.5, 0.975]))
    q = marginal.quantile(np.array(value))
    near = float(marginal.open_tail(q)) <= _EDGE
    verdict = _of_share(share)
    if len(x) == 1 and verdict == "inside" and near:
        verdict = "edge"
    trained = f"trained {marginal.low:.3g} – {marginal.high:.3g}{_unit(p.unit)}"
    return Covered(
        name=p.name,
        unit=p.unit,
        verdict=verdict,
        value=value,
        low=low,
        high=high,
        trained_low=marginal.low,
        trained_high=marginal.high,
        quantile=float(q),
        inside=share,
        reason="" if verdict == "inside" else trained,
    )


def _held(name: str, declared: tuple[float | None, str, str], x: np.ndarray) -> Covered:
    """A parameter that training held at one value, or never heard of."""
    at, unit, reason = declared
    share = float(_same(declared, x).mean())
    low, value, high = (float(v) for v in np.quantile(x, [0.025, 0.5, 0.975]))
    verdict = _of_share(share)
    return Covered(
        name=name,
        unit=unit,
        verdict=verdict,
        value=value,
        low=low,
        high=high,
        trained_low=at,
        trained_high=at,
        quantile=None,
        inside=share,
        reason="" if verdict == "inside" else reason,
    )


def _declared(
    name: str, trained: Space, lacking: dict[str, Parameter], catalogue: Space | None
) -> tuple[float | None, str, str]:
    """Where training held a parameter, its unit, and that in words."""
    if name in trained:
        p = trained[name]
        at = float(p.quantile(np.array(0.5)))
        return at, p.unit, f"training held it at {at:.3g}{_unit(p.unit)}"
    p = catalogue[name] if catalogue is not None and name in catalogue else lacking.get(name)
    if p is None:
        return None, "", "training did not vary it"
    return p.nominal, p.unit, f"training left it at its nominal {p.nominal:.3g}{_unit(p.unit)}"


def _same(declared: tuple[float | None, str, str], x: np.ndarray) -> np.ndarray:
    at = declared[0]
    return np.isclose(x, at, rtol=1e-9, atol=1e-12) if at is not None else np.zeros(len(x), bool)


def _of_share(share: float) -> Verdict:
    return "inside" if share >= _MOST else "edge" if share >= _HALF else "outside"


def _of_point(rows: list[Covered], rarity: float, known: Trained, values: np.ndarray) -> Verdict:
    """The verdict on one world: by its worst parameter, and by all of them together."""
    if rarity < _UNKNOWN or any(row.verdict == "outside" for row in rows):
        return "outside"
    tails = [float(m.open_tail(m.quantile(values[:, i]))[0]) for i, m in known.marginals.items()]
    # the nearest of many parameters is always near: it must be nearer than chance puts it
    nearest = min((len(tails) * tail for tail in tails), default=1.0)
    return "edge" if rarity < _RARE or nearest < 0.5 * _RARE else "inside"


def _listed(title: str, rows: Iterable[Covered]) -> str:
    rows = tuple(rows)
    if not rows:
        return ""
    more = f"; and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"{title}: {'; '.join(str(row) for row in rows[:_SHOWN])}{more}."


def _unit(unit: str) -> str:
    return "" if unit in ("", "1") else f" {unit}"
