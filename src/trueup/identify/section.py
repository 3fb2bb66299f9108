"""An estimate as a section of a report: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from trueup.files import whole
from trueup.identify.estimate import Estimate, Finding, Misfit
from trueup.replay import Panel
from trueup.replay.pictures.panels import SIMULATED

_WIDTH, _HEIGHT, _EDGE = 640, 150, 34  # of a chart, in units of its view box
_POINTS = 900  # of a curve: more cannot be told apart
_BAR = 160
_LEAST_PAD = 0.01  # in the signal's unit: a joint at rest is drawn at rest

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #667; --line: #ccd; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaee; --soft: #9aa3b2; --line: #3a4150; --page: #14171c; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { white-space: nowrap; padding: .25rem .6rem; border-bottom: 1px solid var(--line);
  text-align: right; }
th:first-child, td:first-child, td:last-child, th:last-child { text-align: left; }
figure { margin: 1.2rem 0; } figcaption { color: var(--soft); font-size: .9rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.banner { border: 1px solid var(--line); border-left: .4rem solid #c80; padding: .5rem 1rem; }
.wide { overflow-x: auto; }
"""


def save_section(
    estimate: Estimate,
    panels: Mapping[str, Sequence[Panel]],
    path: Path | str,
    *,
    real: bool,
) -> None:
    """Write what was found: the answer first, then what it rests on.

    Args:
        estimate: What was found.
        panels: Simulated over measured, `before` and `after`.
        path: Where to.
        real: Whether a real robot was recorded.
    """
    with whole(path) as partial:
        partial.write_text(_page(estimate, panels, real), encoding="utf-8")


def _page(estimate: Estimate, panels: Mapping[str, Sequence[Panel]], real: bool) -> str:
    title = f"Identification of {escape(estimate.world)}"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{title}</h1>",
            "" if real else '<p class="banner">rehearsal: sim-to-sim, no real robot took part</p>',
            *section(estimate, panels),
            "</main></body></html>",
        ]
    )


def section(estimate: Estimate, panels: Mapping[str, Sequence[Panel]]) -> Iterator[str]:
    """The section's parts, for a report that has others too."""
    yield f"<p>{escape(_answer(estimate))}</p>"
    for head, lines in (
        ("What was chosen", map(str, estimate.choices)),
        ("Is anything missing?", estimate.check.sentences if estimate.check else ()),
        ("What these data cannot tell", estimate.unseen),
        ("About the recordings", estimate.notes),
    ):
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        if items:
            yield f"<h2>{head}</h2><ul>{items}</ul>"
    yield "<h2>Parameters, before and after</h2>"
    yield "<p>Each bar is a 90 % interval on a scale of its own; the tick is what was before.</p>"
    yield '<div class="wide">' + _table(estimate.findings) + "</div>"
    yield "<h2>Simulated over measured</h2>"
    yield "<p>The last recording, joint by joint.</p>"
    before, after = panels.get("before", ()), panels.get("after", ())
    for first, last in zip(before, after, strict=True):
        yield _figure(first, last)


def _answer(estimate: Estimate) -> str:
    told = [f for f in estimate.findings if f.verdict == "pinned"]
    before, after = _size(estimate.held.before), _size(estimate.held.after)
    return (
        f"On {estimate.held.episodes} recordings that were kept out of the fit, simulated and "
        f"measured lay {before:.4f} apart before and {after:.4f} after. "
        f"{len(told)} of {len(estimate.findings)} parameters are pinned by the data."
    )


def _size(sizes: Misfit | Mapping[str, float]) -> float:
    values = list(sizes.values()) if isinstance(sizes, Mapping) else []
    return float(np.sqrt(np.mean(np.square(values)))) if values else float("nan")


def _table(findings: Sequence[Finding]) -> str:
    head = "".join(f"<th>{h}</th>" for h in ("parameter", "before", "after", "90 %", "", "verdict"))
    rows = "".join(_row(finding) for finding in findings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(f: Finding) -> str:
    return (
        f"<tr><td>{escape(f.name)}</td><td>{f.before:.4g}</td><td>{f.value:.4g} {_unit(f)}"
        f"</td><td>{f.low:.4g} … {f.high:.4g}</td><td>{_bar(f)}</td><td>{f.verdict}</td></tr>"
    )


def _unit(f: Finding) -> str:
    return "" if f.unit == "1" else escape(f.unit)


def _bar(f: Finding) -> str:
    """The interval against what was believed before, drawn to the scale of its own change."""
    low, high = min(f.low, f.before), max(f.high, f.before)
    span = (high - low) or 1.0
    at = [4 + (_BAR - 8) * (x - low) / span for x in (f.low, f.value, f.high, f.before)]
    return (
        f'<svg viewBox="0 0 {_BAR} 16" style="width:{_BAR}px" role="img" '
        f'aria-label="from {f.low:.4g} to {f.high:.4g}, before {f.before:.4g}">'
        f'<line x1="{at[0]:.1f}" x2="{at[2]:.1f}" y1="8" y2="8" stroke="{SIMULATED}" '
        f'stroke-width="4"/><circle cx="{at[1]:.1f}" cy="8" r="3.5" fill="{SIMULATED}"/>'
        f'<line x1="{at[3]:.1f}" x2="{at[3]:.1f}" y1="2" y2="14" stroke="currentColor"/></svg>'
    )


def _figure(before: Panel, after: Panel) -> str:
    low = float(np.nanmin(after.measured))
    high = float(np.nanmax(after.measured))
    pad = max(0.08 * (high - low), _LEAST_PAD)
    frame = (float(after.time_s[0]), float(after.time_s[-1]), low - pad, high + pad)
    curves = (
        _curve(before.time_s, before.simulated, frame, "var(--soft)", ' stroke-dasharray="3 3"'),
        _curve(after.time_s, after.measured, frame, "currentColor"),
        _curve(after.time_s, after.simulated, frame, SIMULATED),
    )
    sizes = [float(np.sqrt(np.nanmean(panel.residual**2))) for panel in (before, after)]
    said = (
        f"{escape(after.title.split(' ')[0])}: measured (plain) and simulated, off by "
        f"{sizes[0]:.4f} {escape(after.unit)} before (dashed), {sizes[1]:.4f} after (blue)."
    )
    labels = (
        f'<text x="2" y="12">{frame[3]:.2f}</text><text x="2" y="{_HEIGHT - 4}">{frame[2]:.2f}'
        f'</text><text x="{_WIDTH - 40}" y="{_HEIGHT - 4}">{frame[1]:.0f} s</text>'
    )
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{said}">'
        f"{''.join(curves)}{labels}</svg><figcaption>{said}</figcaption></figure>"
    )


def _curve(
    x: np.ndarray,
    y: np.ndarray,
    frame: tuple[float, float, float, float],
    colour: str,
    more: str = "",
) -> str:
    keep = np.unique(np.linspace(0, len(x) - 1, _POINTS).astype(int))
    keep = keep[np.isfinite(y[keep])]
    left, right, low, high = frame
    px = _EDGE + (_WIDTH - 2 * _EDGE) * (x[keep] - left) / max(right - left, 1e-9)
    py = _HEIGHT - 8 - (_HEIGHT - 16) * np.clip((y[keep] - low) / (high - low), -0.2, 1.2)
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True))
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.3"{more}/>'
