"""Simulated over measured, joint by joint, before and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup.replay import Panel
from trueup.report.blocks import Curve, Prose, Trace, Traces
from trueup.report.material import Material
from trueup.report.section import Block, Section

_HOW = (
    "Drag across a panel to see a stretch of time closely, or use the buttons, or the keys + − ← → "
    "once a panel has focus (the wheel then zooms too); 0 or a double click shows all again."
)


def joints_section(material: Material) -> Section:
    """How well the simulator follows one recording."""
    block: Block
    if material.overlays is None or not material.overlays[1]:
        block = Prose(text="No recording was replayed, so there is nothing to lay over each other.")
    else:
        before, after = material.overlays
        block = _traces(before, after)
    return Section(key="joints", title="Simulated over measured", blocks=(block,))


def _traces(before: Sequence[Panel], after: Sequence[Panel]) -> Traces:
    pairs = list(zip(before, after, strict=True))
    first, last = (
        _size([panel.residual for panel in side], after[0].unit) for side in (before, after)
    )
    return Traces(
        says=f"One recording of the robot, and its commands played in the simulator as it was and "
        f"as it is now: {first} before, {last} after. {_HOW}",
        traces=tuple(_trace(b, a) for b, a in pairs),
    )


def _trace(before: Panel, after: Panel) -> Trace:
    name = after.title.split("   ")[0]
    curves = [
        Curve(name="command", time_s=after.told_s, values=after.told),
        Curve(name="simulated before", time_s=before.time_s, values=before.simulated),
        Curve(name="measured", time_s=after.time_s, values=after.measured),
        Curve(name="simulated after", time_s=after.time_s, values=after.simulated),
    ]
    return Trace(
        name=name,
        unit=after.unit,
        curves=tuple(curve for curve in curves if len(curve.time_s)),
        says=f"{name}: {_size([before.residual], after.unit)} before, "
        f"{_size([after.residual], after.unit)} after (root mean square).",
    )


def _size(residuals: Sequence[np.ndarray], unit: str) -> str:
    """How far simulated and measured lie apart."""
    every = np.concatenate(residuals)
    if not len(every) or not np.isfinite(every).all():
        return "no number, as the physics broke down,"
    return f"{np.sqrt(np.mean(every**2)):.2g} {unit} apart"
