"""Parameters before and after, on one scale: that of what was believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.diagnose import Departure
from trueup.evaluate.words import scaled
from trueup.identify import Estimate, Finding
from trueup.report.blocks import Kind, Listing, Mark, Prose, Row, Scale, Table, Tone
from trueup.report.material import Material
from trueup.report.section import Block, Section
from trueup.report.words import number

_TICKS = ((-1, ""), (0, "before"), (1, ""))
_REACH = 1.645  # standard deviations to each end of a 90 % interval
_NEAR, _FAR = 1.5, 4.0  # of what was believed: how far a scale reaches at least and at most
_ROUNDING = 1e-9  # of the largest number of a row: what arithmetic leaves of zero
_COLUMNS = ("parameter", "before", "after", "90 % interval", "verdict")
_SAYS = (
    "Each bar is what is believed now, as a 90 % interval; the dot is the best value. All share "
    "one scale: the middle line is what the simulator had, the outer lines are 90 % of what was "
    "believed before, so that a short bar is much learned and a dot off the middle is a world "
    "that differs. Grey bars are not told by the data: there, what was believed stays."
)


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """One parameter, and its low end, best value and high end in units of what was believed."""

    finding: Finding
    low: float
    value: float
    high: float

    @property
    def told(self) -> bool:
        """Whether the data say anything of it."""
        return self.finding.verdict != "not told"


def parameters_section(material: Material) -> Section:
    """What the robot turned out to be."""
    told = {p.finding.name: p for estimate in material.estimates for p in _of_estimate(estimate)}
    known = [*told.values()] or [_of_departure(d) for d in material.before.departures]
    blocks: list[Block] = []
    if known:
        blocks.append(_table(sorted(known, key=_first)))
    else:
        blocks.append(
            Prose(
                text="No parameter was identified: `trueup record` and `trueup identify` say what "
                "the robot really is."
            )
        )
    blocks += _lists(material.estimates)
    return Section(
        key="parameters",
        title="What the robot turned out to be",
        blocks=tuple(blocks),
        data={"estimates": [estimate.to_json() for estimate in material.estimates]},
    )


def _table(known: list[_Placed]) -> Table:
    furthest = max(abs(placed.value) for placed in known)
    reach = min(max(1.1 * furthest, _NEAR), _FAR)
    beyond = " A dot at an edge lies beyond it." if furthest > _FAR else ""
    return Table(
        caption="Parameters before and after",
        says=f"{_SAYS}{beyond}",
        columns=_COLUMNS,
        rows=tuple(map(_row, known)),
        scale=Scale(low=-reach, high=reach, ticks=_TICKS),
        drawing="beside what was believed",
        right=("before", "after", "90 % interval"),
    )


def _row(placed: _Placed) -> Row:
    f = placed.finding
    size = max(abs(f.low), abs(f.high), abs(f.before))
    unit, factor = scaled(f.unit, size)

    def shown(value: float) -> str:
        return number(0.0 if abs(value) < _ROUNDING * size else factor * value)

    tone = Tone.SIMULATED if placed.told else Tone.UNSURE
    marks = (
        Mark(kind=Kind.BAND, low=placed.low, high=placed.high, tone=tone),
        Mark.at(Kind.DOT, placed.value, tone),
    )
    cells = (
        f.name,
        shown(f.before),
        f"{shown(f.value)} {unit}".strip(),
        f"{shown(f.low)} … {shown(f.high)}",
        f.verdict,
    )
    return Row(cells=cells, marks=marks)


def _first(placed: _Placed) -> tuple[bool, float]:
    """What is told comes first, and of that what differs most."""
    return not placed.told, -abs(placed.value)


def _of_estimate(estimate: Estimate) -> Iterator[_Placed]:
    """Findings, placed by the posterior in each parameter's own scale."""
    belief = estimate.belief
    spread = dict(zip(belief.names, np.sqrt(np.diag(belief.covariance)), strict=True))
    means = dict(zip(belief.names, belief.mean, strict=True))
    for f in estimate.findings:
        ends = np.array([f.low, f.value, f.high, f.before])
        # a belief about a parameter on a log scale is one about its logarithm
        log = (ends > 0).all() and abs(np.log(f.value) - means[f.name]) < abs(
            f.value - means[f.name]
        )
        yield _placed(f, np.log(ends) if log else ends, spread[f.name])


def _of_departure(d: Departure) -> _Placed:
    f = Finding(
        name=d.name,
        unit=d.unit,
        value=d.value,
        low=d.low,
        high=d.high,
        before=d.nominal,
        left=d.left,
    )
    return _placed(
        f, np.array([d.low, d.value, d.high, d.nominal]), (d.high - d.low) / (2 * _REACH)
    )


def _placed(f: Finding, ends: np.ndarray, spread: float) -> _Placed:
    believed = _REACH * spread / max(f.left, 1e-6) or 1.0
    low, value, high = ((end - ends[3]) / believed for end in ends[:3])
    return _Placed(finding=f, low=float(low), value=float(value), high=float(high))


def _lists(estimates: Sequence[Estimate]) -> list[Block]:
    """What else was said, each kind under one head, whichever estimate it is of."""
    found = {
        "What these data cannot tell": [e.unseen for e in estimates],
        "Which effects were tried": [tuple(map(str, e.choices)) for e in estimates],
        "Is anything missing?": [e.check.sentences for e in estimates if e.check],
        "About the recordings": [e.notes for e in estimates],
    }
    said = {head: tuple(item for items in each for item in items) for head, each in found.items()}
    return [Listing(head=head, items=items) for head, items in said.items() if items]
