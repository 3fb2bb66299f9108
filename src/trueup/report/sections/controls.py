"""Controls: what the same effort would have given without the method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueup.diagnose import Rate
from trueup.report.blocks import Kind, Mark, Prose, Row, Table, Tone
from trueup.report.blocks.marks import PERCENT
from trueup.report.material import Control, Difference, Material
from trueup.report.section import Block, Section
from trueup.report.words import interval, points, rate, span

_COLUMNS = ("trained in", "success", "90 % interval", "behind by (95 %)")
OURS = "the simulator that was trued up"


def controls_section(material: Material) -> Section:
    """Whether the method beats what needs no method."""
    block: Block
    if not material.controls or material.after is None:
        block = Prose(
            text="No controls were trained, so nothing here says that the same steps of training "
            "would not have helped as much without recordings."
        )
    else:
        block = _table(material.controls, material.after.measured, material.steps)
    data = {"controls": [_listed(control) for control in material.controls]}
    return Section(key="controls", title="Against controls", blocks=(block,), data=data)


def _table(controls: Sequence[Control], ours: Rate, steps: int | None) -> Table:
    rows = [_row(OURS, ours, None, tone=Tone.SIMULATED)]
    rows += [_row(f"{c.name}: {c.what}", c.rate, c.behind, tone=Tone.REAL) for c in controls]
    return Table(
        caption="Success on the robot, by what the policy was trained in",
        says=f"{_verdict(controls, ours)} {_effort(controls, steps)} Dots are success on the "
        "robot, thin lines their 90 % intervals.",
        columns=_COLUMNS,
        rows=tuple(rows),
        scale=PERCENT,
        drawing="success",
        right=_COLUMNS[1:],
    )


def _verdict(controls: Sequence[Control], ours: Rate) -> str:
    best = max(controls, key=lambda control: control.rate.share)
    ahead = 100.0 * (ours.share - best.rate.share)
    if ahead <= 0:
        return (
            f"The best control, {best.name}, does as well or better ({rate(best.rate)}): here the "
            "method earns nothing."
        )
    said = f"The best control, {best.name}, reaches {rate(best.rate)}, {points(ahead)} points less"
    if best.behind is None:
        return f"{said}."
    sure = "which is sure" if best.behind.low > 0 else "which may be chance"
    return f"{said} (paired, 95 % interval {span(best.behind.low, best.behind.high)}), {sure}."


def _effort(controls: Sequence[Control], steps: int | None) -> str:
    counts = {steps, *(control.steps for control in controls)}
    if None in counts:
        return "How long each was trained is not known."
    if len(counts) == 1:
        return f"All were trained for {steps:,} steps."
    each = ", ".join(f"{control.name} {control.steps:,}" for control in controls)
    return f"Steps of training differ, so this is no fair comparison: {steps:,} here; {each}."


def _row(name: str, r: Rate, behind: Difference | None, *, tone: Tone) -> Row:
    low, high = r.interval()
    marks = (
        Mark(kind=Kind.WHISKER, low=100 * low, high=100 * high, tone=tone),
        Mark.at(Kind.DOT, 100 * r.share, tone),
    )
    apart = "" if behind is None else f"{points(behind.points)} ({span(behind.low, behind.high)})"
    cells = (name, rate(r), interval(r), apart)
    return Row(cells=cells, marks=marks, strong=name == OURS)


def _listed(control: Control) -> dict[str, Any]:
    behind = None if control.behind is None else vars(control.behind)
    return {**vars(control), "rate": vars(control.rate), "behind": behind}
