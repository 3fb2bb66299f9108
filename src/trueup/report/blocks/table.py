"""A table; where its rows are drawn it is a chart that a screen reader can read."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from trueup.report.blocks.marks import Mark, Scale, axis, strip
from trueup.report.blocks.prose import inline, plain
from trueup.report.section import Block


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row.

    Attributes:
        cells: A text for each column.
        marks: What is drawn, on the table's scale.
        strong: Whether it is a total.
    """

    cells: tuple[str, ...]
    marks: tuple[Mark, ...] = ()
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Table(Block):
    """Rows of words and numbers.

    Attributes:
        caption: What it is a table of, in a few words.
        says: A sentence that says what it shows.
        columns: Headings; the first column names the row.
        rows: In order.
        scale: Of the drawing that stands behind the first column; none where nothing is drawn.
        drawing: The heading of that drawing.
        right: Headings of columns of numbers.
    """

    caption: str
    says: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    scale: Scale | None = None
    drawing: str = ""
    right: tuple[str, ...] = ()

    def html(self) -> str:
        kind = "rows" + (" drawn" if self.scale else "") + (" many" if self._crowded else "")
        return (
            f"<p>{inline(self.says)}</p>"
            f'<table class="{kind}" role="table"><caption>{inline(self.caption)}</caption>'
            f'<thead role="rowgroup"><tr role="row">{self._heads()}</tr></thead>'
            f'<tbody role="rowgroup">{"".join(self._row(row) for row in self.rows)}</tbody>'
            f"{self._foot()}</table>"
        )

    def markdown(self) -> str:
        heads = [plain(column) or " " for column in self.columns]
        rule = ["---:" if column in self.right else "---" for column in self.columns]
        lines = [heads, rule, *([plain(cell) for cell in row.cells] for row in self.rows)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{plain(self.says)}\n\n{table}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "table",
            "caption": self.caption,
            "says": self.says,
            "columns": list(self.columns),
            "scale": None if self.scale is None else [self.scale.low, self.scale.high],
            "rows": [
                {"cells": list(row.cells), "marks": [mark.to_json() for mark in row.marks]}
                for row in self.rows
            ],
        }

    def _heads(self) -> str:
        heads = [
            f'<th scope="col" role="columnheader"{self._side(name)}>{inline(name)}</th>'
            for name in self.columns
        ]
        if self.scale is not None:
            drawn = f'<th scope="col" role="columnheader" class="chart">{inline(self.drawing)}</th>'
            heads.insert(1, drawn)
        return "".join(heads)

    def _row(self, row: Row) -> str:
        first, *rest = row.cells
        cells = [
            f'<td role="cell" data-label="{escape(name)}"{self._side(name)}>{inline(cell)}</td>'
            for name, cell in zip(self.columns[1:], rest, strict=True)
        ]
        if self.scale is not None:
            named = (f"{n} {c}" for n, c in zip(self.columns[1:], rest, strict=True) if c)
            said = f"{first}: {', '.join(named)}"
            cells.insert(
                0, f'<td role="cell" class="chart">{strip(row.marks, self.scale, said)}</td>'
            )
        mark = ' class="strong"' if row.strong else ""
        name = inline(first).replace("/", "/<wbr>") if "</" not in inline(first) else inline(first)
        head = f'<th scope="row" role="rowheader">{name}</th>'
        return f'<tr role="row"{mark}>{head}{"".join(cells)}</tr>'

    def _foot(self) -> str:
        if self.scale is None or not self.scale.ticks:
            return ""
        rest = "<td></td>" * (len(self.columns) - 1)
        return (
            f'<tfoot aria-hidden="true"><tr><td></td><td class="chart">{axis(self.scale)}</td>'
            f"{rest}</tr></tfoot>"
        )

    @property
    def _crowded(self) -> bool:
        """Whether a drawing has to leave room for many columns."""
        return len(self.columns) > 3

    def _side(self, name: str) -> str:
        return ' class="number"' if name in self.right else ""
