"""Simulated over measured as one HTML file that opens anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup.files import whole
from trueup.replay.pictures.panels import MEASURED, REST, SIMULATED, TOLD, Panel

_COLUMNS = 2


def save_chart(panels: Sequence[Panel], path: Path | str, *, title: str) -> None:
    """Write the chart as one self-contained HTML file: hover, zoom, no network."""
    with whole(path) as partial:
        partial.write_text(_html(panels, title), encoding="utf-8")


def _html(panels: Sequence[Panel], title: str) -> str:
    from plotly.subplots import make_subplots

    rows = -(-len(panels) // _COLUMNS)
    figure = make_subplots(
        rows=2 * rows,
        cols=_COLUMNS,
        row_heights=[0.7, 0.3] * rows,
        shared_xaxes=True,
        horizontal_spacing=0.07,
        vertical_spacing=0.24 / (2 * rows),
        subplot_titles=_titles(panels),
    )
    for k, panel in enumerate(panels):
        _add(figure, panel, row=2 * (k // _COLUMNS) + 1, column=k % _COLUMNS + 1, first=k == 0)
    figure.update_xaxes(matches="x")
    figure.update_xaxes(title_text="s", row=2 * rows)
    figure.update_layout(
        title={"text": title, "font": {"size": 17}},
        template="plotly_white",
        height=120 + 340 * rows,
        margin={"l": 70, "r": 30, "t": 100, "b": 50},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "yref": "container"},
        hovermode="x unified",
    )
    return figure.to_html(full_html=True, include_plotlyjs=True, div_id="replay")


def _titles(panels: Sequence[Panel]) -> list[str]:
    """Titles of the upper of each two rows; the lower ones have none."""
    titles = []
    for k in range(0, len(panels), _COLUMNS):
        row = [panel.title for panel in panels[k : k + _COLUMNS]]
        titles += [*row, *[""] * (2 * _COLUMNS - len(row))]
    return titles


def _add(figure: Any, panel: Panel, *, row: int, column: int, first: bool) -> None:
    curves = (
        ("command", panel.told_s, panel.told, TOLD, row, "hv"),
        ("measured", panel.time_s, panel.measured, MEASURED, row, "linear"),
        ("simulated", panel.time_s, panel.simulated, SIMULATED, row, "linear"),
        ("simulated − measured", panel.time_s, panel.residual, REST, row + 1, "linear"),
    )
    for name, x, y, colour, at, shape in curves:
        if len(x):
            figure.add_scattergl(
                x=np.round(x, 4),
                y=np.round(y, 5),
                name=name,
                legendgroup=name,
                showlegend=first,
                line={"color": colour, "width": 1.4, "shape": shape},
                mode="lines",
                row=at,
                col=column,
            )
    figure.update_yaxes(title_text=panel.unit, row=row, col=column)
