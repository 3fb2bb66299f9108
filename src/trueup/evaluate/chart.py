"""Success along the parameters that matter, as one HTML file that opens anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueup.evaluate.evaluation import Evaluation
from trueup.evaluate.slicing import Slice
from trueup.evaluate.words import percent, percents, scaled
from trueup.files import whole

COLUMNS = 3
_MOST = 9
_UNCLAIMED = 3  # shown, in grey, where nothing can be claimed
KEY = "a bar: the 95 % interval of a bin; grey: all episodes"
CLAIMED, PLAIN, ALL = "#1f6feb", "#8b949e", "#57606a"


def shown(found: Sequence[Slice]) -> list[Slice]:
    """What a picture shows: the slices that claim something, or else the likeliest few."""
    claimed = [s for s in found if s.claimed]
    return claimed[:_MOST] or list(found[:_UNCLAIMED])


def headline(found: Sequence[Slice], evaluation: Evaluation) -> str:
    """What a picture says above itself."""
    share = percent(evaluation.success_share)
    what = f"{evaluation.world}: {share} of {len(evaluation):,} episodes succeed (sim-to-sim)"
    if len(evaluation) == evaluation.successes or any(s.claimed for s in found):
        return what
    return f"{what}; no parameter explains the failures at 5 %"


def axis(s: Slice) -> tuple[str, float]:
    """The title of a slice's horizontal axis, and what to multiply its values by."""
    if s.is_gap:
        return f"{s.name}: distance from nominal", 1.0
    unit, factor = scaled(s.unit, max(abs(s.bins[0].low), abs(s.bins[-1].high)))
    return f"{s.name}, {unit}" if unit else s.name, factor


def save_chart(found: Sequence[Slice], evaluation: Evaluation, path: Path | str) -> None:
    """Write the chart as one self-contained HTML file: hover, zoom, no network."""
    with whole(path) as partial:
        partial.write_text(_html(found, evaluation), encoding="utf-8")


def _html(found: Sequence[Slice], evaluation: Evaluation) -> str:
    from plotly.subplots import make_subplots

    panels = shown(found)
    columns = min(COLUMNS, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    figure = make_subplots(
        rows=rows, cols=columns, horizontal_spacing=0.07, vertical_spacing=0.26 / rows
    )
    for k, s in enumerate(panels):
        _add_panel(figure, s, evaluation, row=k // columns + 1, column=k % columns + 1)
    figure.update_yaxes(range=[-0.03, 1.03], tickformat=".0%", zeroline=False, dtick=0.25)
    figure.update_yaxes(title_text="success", col=1)
    figure.update_layout(
        title={
            "text": headline(found, evaluation),
            "font": {"size": 17},
            "subtitle": {"text": KEY, "font": {"size": 12, "color": ALL}},
        },
        template="plotly_white",
        height=130 + 300 * rows,
        margin={"l": 70, "r": 30, "t": 90, "b": 60},
        showlegend=False,
    )
    return figure.to_html(full_html=True, include_plotlyjs=True, div_id="slices")


def _add_panel(figure, s: Slice, evaluation: Evaluation, *, row: int, column: int) -> None:
    title, factor = axis(s)
    place = {"row": row, "col": column}
    figure.add_scatter(
        x=[0.5 * factor * (b.low + b.high) for b in s.bins],
        y=[b.share for b in s.bins],
        error_y={
            "array": [b.interval[1] - b.share for b in s.bins],
            "arrayminus": [b.share - b.interval[0] for b in s.bins],
            "thickness": 1.5,
            "width": 4,
        },
        error_x={"array": [0.5 * factor * (b.high - b.low) for b in s.bins], "width": 0},
        mode="markers",
        marker={"size": 9, "color": CLAIMED if s.claimed else PLAIN},
        text=[f"{b.successes} of {b.n} ({percents(b.interval)})" for b in s.bins],
        hovertemplate="%{x:.3g}: %{y:.1%}<br>%{text}<extra></extra>",
        **place,
    )
    low, high = evaluation.interval()  # after the markers: plotly leaves out empty panels
    below = {"layer": "below", **place}
    figure.add_hrect(y0=low, y1=high, fillcolor=ALL, opacity=0.12, line_width=0, **below)
    figure.add_hline(y=evaluation.success_share, line={"color": ALL, "dash": "dot"}, **below)
    chance = "p < 0.002" if s.p_value < 0.002 else f"p = {s.p_value:.2g}"
    figure.update_xaxes(title_text=f"{title}   ({chance})", **place)
