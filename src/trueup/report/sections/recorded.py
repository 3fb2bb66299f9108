"""What was recorded, and how little of it."""

from __future__ import annotations

from trueup.report.blocks import Prose, Row, Table
from trueup.report.material import Material
from trueup.report.section import Block, Section
from trueup.report.words import counted, seconds


def recorded_section(material: Material) -> Section:
    """How long the robot was needed."""
    blocks: list[Block] = [Prose(text=_said(material))]
    found = material.recorded
    if found is not None and found.motions:
        rows = tuple(Row(cells=(name, f"{n}")) for name, n in sorted(found.motions.items()))
        blocks.append(
            Table(
                caption="Recordings by motion",
                says="What the robot did while it was recorded, and how often.",
                columns=("motion", "recordings"),
                rows=rows,
                right=("recordings",),
            )
        )
    if material.identified:
        blocks.append(Prose(text=f"What came of it: {material.identified.rstrip('.')}."))
    after = material.after
    return Section(
        key="recorded",
        title="What was recorded",
        blocks=tuple(blocks),
        data={
            "recordings": None if found is None else found.to_json(),
            "trials_before": material.before.measured.trials,
            "trials_after": None if after is None else after.measured.trials,
        },
    )


def _said(material: Material) -> str:
    first, after, found = material.before.measured.trials, material.after, material.recorded
    tried = f"{counted(first, 'trial')} before"
    tried += "" if after is None else f" and {after.measured.trials:,} after"
    if found is None:
        return f"The robot was needed for {tried}; nothing was recorded besides."
    return (
        f"All that was asked of {material.robot}: {counted(found.episodes, 'recording')}, "
        f"{seconds(found.seconds)} together, and {tried}."
    )
