"""What a plan draws, parameter by parameter: numbers, small histograms and a picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from trueup.randomize.ranges import ends
from trueup.space import Gap, Parameter, Points, Space

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS, _WIDTH, _HEIGHT, _MARGIN, _HEAD = 6, 250, 84, 16, 30
_INK, _GREY, _PALE = (31, 35, 40), (110, 119, 129), (232, 236, 240)
_GLYPHS = str.maketrans({"²": "^2", "√": "root "})  # Pillow's own font lacks them
_COLOURS = dict(
    zip(
        Gap,
        [
            (188, 76, 0),
            (130, 80, 223),
            (9, 105, 218),
            (26, 127, 55),
            (154, 103, 0),
            (191, 57, 137),
            (207, 34, 46),
            (27, 124, 131),
        ],
        strict=True,
    )
)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The values that one parameter got.

    Attributes:
        parameter: The parameter.
        lowest: Of the values.
        median: Of the values.
        highest: Of the values.
        axis: From where to where the histogram goes: the widest that the plan may ever draw.
        counts: Values in equal parts of the axis, along the parameter's scale.
    """

    parameter: Parameter
    lowest: float
    median: float
    highest: float
    axis: tuple[float, float]
    counts: tuple[int, ...]

    @property
    def bars(self) -> str:
        """The histogram as text; empty parts are blank."""
        most = max(self.counts)
        return "".join(
            _BARS[int((len(_BARS) - 1) * count / most)] if count else " " for count in self.counts
        )

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.parameter.name,
            "unit": self.parameter.unit,
            "nominal": self.parameter.nominal,
            "lowest": self.lowest,
            "median": self.median,
            "highest": self.highest,
            "axis": list(self.axis),
            "counts": list(self.counts),
        }


def previewed(points: Points, full: Space, *, parts: int = 10) -> tuple[Drawn, ...]:
    """What some points hold, parameter by parameter.

    Args:
        points: The points that were drawn.
        full: The widest space that they may come from, `Plan.full`.
        parts: How many bars a histogram has.
    """
    return tuple(_drawn(p, points.column(p.name), parts) for p in full)


def _drawn(p: Parameter, x: np.ndarray, parts: int) -> Drawn:
    low, high = ends(p)
    axis = float(min(low, p.nominal, x.min())), float(max(high, p.nominal, x.max()))
    counts, _ = np.histogram(_along(p, x, axis), bins=parts, range=(0.0, 1.0))
    return Drawn(
        parameter=p,
        lowest=float(x.min()),
        median=float(np.median(x)),
        highest=float(x.max()),
        axis=axis,
        counts=tuple(int(count) for count in counts),
    )


def _along(p: Parameter, x: np.ndarray | float, axis: tuple[float, float]) -> np.ndarray:
    """Places (0 to 1) of values along an axis; the middle where it has no length."""
    u, low, high = p.encode(x), float(p.encode(axis[0])), float(p.encode(axis[1]))
    return np.clip((u - low) / (high - low), 0.0, 1.0) if high > low else np.full_like(u, 0.5)


def marginals(rows: Sequence[Drawn]) -> np.ndarray:
    """One picture (height, width, 3) of all histograms, gap by gap; a line marks the nominal."""
    by_gap = {gap: [row for row in rows if row.parameter.gap is gap] for gap in Gap}
    by_gap = {gap: some for gap, some in by_gap.items() if some}
    lines = sum(-(-len(some) // _COLUMNS) for some in by_gap.values())
    size = (_MARGIN + _COLUMNS * _WIDTH, _MARGIN + _HEAD * len(by_gap) + _HEIGHT * lines)
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    top = _MARGIN
    for gap, some in by_gap.items():
        title = f"{gap}   {gap.question}"
        pen.text((_MARGIN, top), title, fill=_COLOURS[gap], font=_font(16))
        top += _HEAD
        for i, row in enumerate(some):
            left = _MARGIN + (i % _COLUMNS) * _WIDTH
            _panel(pen, row, left, top + (i // _COLUMNS) * _HEIGHT)
        top += -(-len(some) // _COLUMNS) * _HEIGHT
    return np.asarray(image)


def _panel(pen: ImageDraw.ImageDraw, row: Drawn, left: int, top: int) -> None:
    """One histogram, with its name above and its axis below."""
    p, width, height = row.parameter, _WIDTH - _MARGIN, 34
    pen.text((left, top), p.name.split("/", 1)[1], fill=_INK, font=_font(12))
    base = top + 17 + height
    pen.rectangle((left, top + 17, left + width, base), fill=_PALE)
    step, most = width / len(row.counts), max(row.counts)
    for i, count in enumerate(row.counts):
        if count:
            box = (left + i * step, base - height * count / most, left + (i + 1) * step - 1, base)
            pen.rectangle(box, fill=_COLOURS[p.gap])
    nominal = left + width * float(_along(p, p.nominal, row.axis))
    pen.line((nominal, top + 15, nominal, base + 2), fill=_INK, width=2)
    unit = "" if p.unit == "1" else f" {p.unit}".translate(_GLYPHS)
    pen.text((left, base + 2), f"{row.axis[0]:.3g}", fill=_GREY, font=_font(11))
    end = f"{row.axis[1]:.3g}{unit}"
    pen.text((left + width, base + 2), end, fill=_GREY, font=_font(11), anchor="ra")


def _font(size: int) -> Any:
    return ImageFont.load_default(size=size)
