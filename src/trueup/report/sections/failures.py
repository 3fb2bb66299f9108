"""Where trials fail: phases, events with their evidence, and films."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueup.report.blocks import Kind, Listing, Mark, Prose, Row, Table, Tone
from trueup.report.blocks.marks import upto
from trueup.report.material import Material
from trueup.report.section import Block, Section

_TOLD = 3


def failures_section(material: Material) -> Section:
    """In which phase it goes wrong, and how that looks."""
    before = material.failures if material.failures is not None else material.before.failures
    after = material.failures_after
    blocks: list[Block] = []
    if before is None:
        blocks.append(Prose(text="The trials were not analysed for how they fail."))
    else:
        blocks.append(Prose(text=" ".join(before["sentences"])))
        if "by_phase" in before and (before["failed"] or (after is not None and after["failed"])):
            blocks.append(_phases(before, after))
            blocks += _events(before)
    blocks += _films(material)
    return Section(
        key="failures",
        title="How it fails",
        blocks=tuple(blocks),
        data={"before": before, "after": after},
    )


def _phases(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> Table:
    sides = [("before", before, Tone.LOST)]
    sides += [] if after is None else [("after", after, Tone.SIMULATED)]
    most = max(max(side["by_phase"].values(), default=0) for _, side, _ in sides)
    rows = []
    for phase, count in before["by_phase"].items():
        marks = [Mark(kind=Kind.BAR, low=0.0, high=count, tone=Tone.LOST)]
        cells = [phase, f"{count}"]
        if after is not None:
            n = after["by_phase"].get(phase, 0)
            marks.append(Mark.at(Kind.TICK, n, Tone.SIMULATED))
            cells.append(f"{n}")
        rows.append(Row(cells=tuple(cells), marks=tuple(marks)))
    names = tuple(f"{name} (of {side['trials']})" for name, side, _ in sides)
    tick = "" if after is None else "; the blue line is what failed there after"
    return Table(
        caption="Failed trials by phase",
        says=f"The bar is how many trials failed in each phase before{tick}.",
        columns=("phase", *names),
        rows=tuple(rows),
        scale=upto(most),
        drawing="failed trials",
        right=names,
    )


def _events(found: Mapping[str, Any]) -> list[Block]:
    """What happened in each phase, and how it was seen in the first few trials."""
    phases = tuple(found["by_phase"])
    rows = tuple(
        Row(cells=(event, *(f"{parts[p] or ''}" for p in phases), f"{sum(parts.values())}"))
        for event, parts in found["by_event_and_phase"].items()
    )
    blocks: list[Block] = []
    if rows:
        blocks.append(
            Table(
                caption="How they failed, before",
                says="Each failed trial by what went wrong, and in which phase.",
                columns=("event", *phases, "all"),
                rows=rows,
                right=(*phases, "all"),
            )
        )
    told = [e for e in found["episodes"] if e["evidence"]][:_TOLD]
    lines = tuple(f"Trial {e['episode']}, {e['event']}: {e['evidence']}" for e in told)
    return [*blocks, Listing(head="On what evidence", items=lines)] if lines else blocks


def _films(material: Material) -> list[Block]:
    if material.films:
        return list(material.films)
    return [Prose(text=material.unfilmed or "No trial was filmed.")]
