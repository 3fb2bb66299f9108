"""Curves over time that can be zoomed: all of one block share their stretch of time.

A curve is a path in whole numbers (milliseconds, and thousandths of a panel's range), drawn in a
view box that the page's script moves: nothing is computed for a zoom, and without the script, or
on paper, the whole curves are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from trueup.evaluate.words import number
from trueup.report.blocks.prose import inline, plain
from trueup.report.section import Block

_POINTS = 3000  # of a curve: a minute at 50 Hz
_STEPS = 10_000  # of a panel's height
_PAD = 0.06
_BEYOND = 4  # panel heights: further out nothing is drawn
MEASURED, SIMULATED, COMMAND = "measured", "simulated", "command"
"""How names of curves begin; it gives them their colours."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line.

    Attributes:
        name: What it is: `measured`, `simulated before`, `simulated after`, `command`.
        time_s: (m,)
        values: (m,) in the trace's unit; NaN where there is none.
    """

    name: str
    time_s: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One panel.

    Attributes:
        name: What moves.
        unit: Of its values.
        curves: From the back to the front.
        says: How far they lie apart, as a sentence.
    """

    name: str
    unit: str
    curves: tuple[Curve, ...]
    says: str


@dataclass(frozen=True, kw_only=True)
class Traces(Block):
    """Panels below each other.

    Attributes:
        says: A sentence that says what they show.
        traces: One for each thing that moves.
    """

    says: str
    traces: tuple[Trace, ...]

    def html(self) -> str:
        names = list(dict.fromkeys(c.name for trace in self.traces for c in trace.curves))
        key = "".join(f'<li><i class="{_mark(n)}"></i>{escape(n)}</li>' for n in reversed(names))
        panels = "".join(_panel(trace) for trace in self.traces)
        return (
            f'<p>{inline(self.says)}</p><div class="traces"><ul class="key">{key}</ul>'
            f"{_BUTTONS}{panels}</div>"
        )

    def markdown(self) -> str:
        lines = [f"- {plain(trace.says)}" for trace in self.traces]
        return "\n".join([plain(self.says), "", *lines])

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "traces",
            "says": self.says,
            "traces": [
                {
                    "name": trace.name,
                    "unit": trace.unit,
                    "says": trace.says,
                    "curves": [_listed(curve) for curve in trace.curves],
                }
                for trace in self.traces
            ],
        }


_BUTTONS = (
    '<div class="zoom" role="group" aria-label="Zoom all joints in time">'
    '<button type="button" data-zoom="in">zoom in</button>'
    '<button type="button" data-zoom="out">zoom out</button>'
    '<button type="button" data-zoom="back">earlier</button>'
    '<button type="button" data-zoom="on">later</button>'
    '<button type="button" data-zoom="all">all</button>'
    '<output aria-live="polite"></output></div>'
)


def _panel(trace: Trace) -> str:
    low, high = _range(trace)
    begin, end = _span(trace)
    paths = "".join(_path(curve, low, high, begin) for curve in trace.curves)
    width = max(1, round(1e3 * (end - begin)))
    return (
        f'<figure class="trace" data-low="{low:.6g}" data-high="{high:.6g}" '
        f'data-begin="{begin:.6g}" data-unit="{escape(trace.unit)}">'
        f"<h3>{escape(trace.name)}</h3>"
        f'<div class="plot" tabindex="0" role="group" '
        f'aria-label="{escape(trace.name)}: plus and minus zoom, arrows move, 0 shows all">'
        f'<span class="top">{number(high)} {escape(trace.unit)}</span>'
        f'<svg viewBox="0 0 {width} {_STEPS}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(trace.says)}">{paths}</svg>'
        f'<span class="bottom">{number(low)}</span><span class="begin">{begin:.3g} s</span>'
        f'<span class="end">{end:.3g} s</span></div>'
        f"<figcaption>{inline(trace.says)}</figcaption></figure>"
    )


def _range(trace: Trace) -> tuple[float, float]:
    """What a panel shows: measured and commanded wholly, a simulation as far as it stays near."""
    near = [c for c in trace.curves if not c.name.startswith(SIMULATED)] or trace.curves
    values = np.concatenate([c.values[np.isfinite(c.values)] for c in near])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = (high - low) * np.array([-1.0, 1.0]) + (low, high)
    every = np.concatenate([c.values[np.isfinite(c.values)] for c in trace.curves])
    if len(every):
        low, high = (float(x) for x in np.clip((every.min(), every.max()), *room))
    pad = max(_PAD * (high - low), 1e-3 * max(abs(low), abs(high)), 1e-6)
    return low - pad, high + pad


def _span(trace: Trace) -> tuple[float, float]:
    times = [c.time_s for c in trace.curves if len(c.time_s)]
    return min((float(t[0]) for t in times), default=0.0), max(
        (float(t[-1]) for t in times), default=1.0
    )


def _path(curve: Curve, low: float, high: float, begin: float) -> str:
    """The curve as steps from each point to the next; a reading that is missing leaves a gap."""
    time_s, values = _thinned(curve)
    x = np.round(1e3 * (time_s - begin)).astype(int)
    finite = np.isfinite(values)
    down = np.clip((high - np.where(finite, values, low)) / (high - low), -_BEYOND, 1 + _BEYOND)
    y = np.round(_STEPS * down).astype(int)
    x, y = x[finite], y[finite]
    broken = np.diff(np.flatnonzero(finite), prepend=-1) > 1
    steps, last = [], (0, 0)
    for place, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        word = "m" if place == 0 or broken[place] else "l"
        steps.append(f"{word}{a - last[0]} {b - last[1]}")
        last = a, b
    return f'<path class="{_mark(curve.name)}" d="{"".join(steps)}"/>'


def _thinned(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    keep = np.unique(np.linspace(0, len(curve.time_s) - 1, _POINTS).astype(int))
    keep = keep[keep >= 0]
    return curve.time_s[keep], curve.values[keep]


def _listed(curve: Curve) -> dict[str, Any]:
    time_s, values = _thinned(curve)
    return {
        "name": curve.name,
        "time_s": [round(float(t), 4) for t in time_s],
        "values": [round(float(v), 6) if np.isfinite(v) else None for v in values],
    }


def _mark(name: str) -> str:
    """A curve's name as the page's style knows it."""
    return name.replace(" ", "-")
