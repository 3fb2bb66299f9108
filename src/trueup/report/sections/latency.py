"""The latency budget: where the time between seeing and moving goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueup.report.blocks import Kind, Mark, Prose, Row, Table, Tone
from trueup.report.blocks.marks import upto
from trueup.report.material import Material
from trueup.report.section import Section

_PARTS = (
    ("observe", "reading the robot"),
    ("infer", "from readings to commands"),
    ("act", "sending them"),
)
_COLUMNS = ("part", "mean", "95 % below", "worst")


def latency_section(material: Material) -> Section:
    """From the moment at which a turn begins until its command moves a joint."""
    budget = material.latency
    if budget is None:
        block = Prose(
            text="The loop was not timed: `trueup deploy` measures a latency budget with trials."
        )
    else:
        block = _table(budget)
    return Section(key="latency", title="Latency budget", blocks=(block,), data={"budget": budget})


def _table(budget: Mapping[str, Any]) -> Table:
    rows, begun = [], 0.0
    for part, words in _PARTS:
        spread = {name: 1e3 * budget[part][name] for name in ("mean", "p95", "worst")}
        cells = (f"{part}: {words}", *(f"{spread[n]:.2f} ms" for n in ("mean", "p95", "worst")))
        rows.append(Row(cells=cells, marks=_marks(begun, spread["mean"], begun + spread["p95"])))
        begun += spread["mean"]
    settle = budget.get("settle")
    if settle is not None:
        delay, doubt = 1e3 * settle["delay_s"], 1.645e3 * settle["std_s"]
        cells = ("settle: until a joint moves", f"{delay:.2f} ms", f"± {doubt:.1f} ms", "")
        rows.append(Row(cells=cells, marks=_marks(begun, delay, begun + delay + doubt)))
    total = 1e3 * budget["total_s"]
    bar = Mark(kind=Kind.BAR, low=0.0, high=total, tone=Tone.REAL)
    rows.append(Row(cells=("together", f"{total:.2f} ms", "", ""), marks=(bar,), strong=True))
    most = max(mark.high for row in rows for mark in row.marks)
    return Table(
        caption="From the beginning of a turn until a joint moves",
        says=_says(budget),
        columns=_COLUMNS,
        rows=tuple(rows),
        scale=upto(most, "ms"),
        drawing="one after the other",
        right=_COLUMNS[1:],
    )


def _marks(begun: float, mean: float, far: float) -> tuple[Mark, ...]:
    bar = Mark(kind=Kind.BAR, low=begun, high=begun + mean, tone=Tone.SIMULATED)
    return bar, Mark(kind=Kind.WHISKER, low=begun + mean, high=far, tone=Tone.SIMULATED)


def _says(budget: Mapping[str, Any]) -> str:
    unseen = "" if budget.get("settle") else " How soon joints move could not be told: none did."
    return (
        f"Each bar is the mean of one part, begun where the last one ended; the thin line reaches "
        f"to where 95 % of turns stay below. {100 * budget['misses']:.1f} % of "
        f"{budget['turns']:,} turns began over 5 ms late; a turn was meant to take "
        f"{1e3 * budget['period_s']:.3g} ms.{unseen}"
    )
