"""The same picture as a PNG, for pages and reports that take no HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup.files import whole
from trueup.replay.pictures.panels import KEY, MEASURED, REST, SIMULATED, TOLD, Panel

_COLUMNS = 2
_WIDTH, _HEIGHT, _TOP = 620, 300, 76  # pixels of a panel, and of the headline
_LEFT, _RIGHT, _ABOVE, _BELOW = 74, 16, 30, 34  # margins within a panel
_STRIP = 64  # pixels for the residual, under the curves
_TEXT, _LINES, _PAPER = "#1f2328", "#d8dee4", "#ffffff"


def save_drawing(panels: Sequence[Panel], path: Path | str, *, title: str) -> None:
    """Write the picture as a PNG: each column over time, and what is left beneath it."""
    from PIL import Image, ImageDraw, ImageFont

    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    image = Image.new("RGB", (max(columns, 2) * _WIDTH, _TOP + rows * _HEIGHT), _PAPER)
    draw, size = ImageDraw.Draw(image), 20
    while size > 10 and draw.textlength(title, ImageFont.load_default(size)) > image.width - 32:
        size -= 1
    draw.text((16, 24), title, fill=_TEXT, font=ImageFont.load_default(size), anchor="lm")
    _draw_key(draw, ImageFont.load_default(14))
    for k, panel in enumerate(panels):
        corner = (k % columns) * _WIDTH, _TOP + (k // columns) * _HEIGHT
        _Frame(draw, panel, corner).draw()
    with whole(path) as partial:
        image.save(partial, format="PNG")


def _draw_key(draw: Any, font: Any) -> None:
    x = 16
    for name, colour in KEY.items():
        draw.line([(x, 54), (x + 22, 54)], fill=colour, width=3)
        draw.text((x + 28, 54), name, fill=_TEXT, font=font, anchor="lm")
        x += 52 + int(draw.textlength(name, font))


class _Frame:
    """One panel: curves above, the residual in a strip below, both over the same time."""

    def __init__(self, draw: Any, panel: Panel, corner: tuple[int, int]) -> None:
        from PIL import ImageFont

        self._draw, self._panel = draw, panel
        self._font, self._bold = ImageFont.load_default(13), ImageFont.load_default(14)
        x, y = corner
        self._left, self._right = x + _LEFT, x + _WIDTH - _RIGHT
        self._top, self._bottom = y + _ABOVE, y + _HEIGHT - _BELOW
        self._middle = self._bottom - _STRIP - 12
        self._last = float(max(panel.time_s[-1], 1e-9))

    def draw(self) -> None:
        p = self._panel
        self._draw.text(
            (self._left, self._top - 10), p.title, fill=_TEXT, font=self._bold, anchor="ls"
        )
        curves = [y[np.isfinite(y)] for y in (p.measured, p.simulated, p.told)]
        upper = self._axis(np.concatenate(curves), self._top, self._middle, p.unit)
        self._curve(p.told_s, p.told, upper, TOLD, held=True)
        self._curve(p.time_s, p.measured, upper, MEASURED)
        self._curve(p.time_s, p.simulated, upper, SIMULATED)
        rest = p.residual[np.isfinite(p.residual)]
        lower = self._axis(np.append(rest, 0.0), self._middle + 12, self._bottom, "")
        self._curve(p.time_s, p.residual, lower, REST)
        for value in _ticks(0.0, self._last, most=6):
            text, place = f"{value:g} s", (self._x(value), self._bottom + 6)
            self._draw.text(place, text, fill=_TEXT, font=self._font, anchor="ma")

    def _axis(self, values: np.ndarray, top: float, bottom: float, unit: str) -> Any:
        """Grid lines with their numbers; gives the function from values to pixels."""
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        margin = max(0.06 * (high - low), 1e-4 if high - low < 1e-9 else 0.0)
        low, high = low - margin, high + margin

        def y(value: Any) -> Any:
            return bottom - (value - low) / (high - low) * (bottom - top)

        for value in _ticks(low, high, most=4):
            self._draw.line([(self._left, y(value)), (self._right, y(value))], fill=_LINES)
            text = f"{value:.6g} {unit}".strip()
            place = (self._left - 6, y(value))
            self._draw.text(place, text, fill=_TEXT, font=self._font, anchor="rm")
        return y

    def _curve(self, x: np.ndarray, y: np.ndarray, scale: Any, colour: str, *, held=False) -> None:
        if held and len(x):
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        inside = np.isfinite(y) & (x >= 0) & (x <= self._last)
        for stretch in np.split(np.arange(len(x)), np.flatnonzero(np.diff(inside)) + 1):
            if len(stretch) > 1 and inside[stretch[0]]:
                points = np.stack([self._x(x[stretch]), scale(y[stretch])], axis=1)
                self._draw.line([tuple(point) for point in points.tolist()], fill=colour, width=2)

    def _x(self, time_s: Any) -> Any:
        return self._left + time_s / self._last * (self._right - self._left)


def _ticks(low: float, high: float, *, most: int) -> list[float]:
    """Round numbers between two others, no more than asked for."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
