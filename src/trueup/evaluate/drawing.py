"""The same picture as a PNG, for pages and reports that take no HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueup.evaluate.chart import ALL, CLAIMED, COLUMNS, KEY, PLAIN, axis, headline, shown
from trueup.evaluate.evaluation import Evaluation
from trueup.evaluate.slicing import Slice
from trueup.files import whole

_WIDTH, _HEIGHT, _TOP = 460, 320, 70  # pixels of a panel, and of the headline
_LEFT, _RIGHT, _ABOVE, _BELOW = 62, 18, 14, 62  # margins within a panel
_TEXT, _LINES, _PAPER = "#1f2328", "#d0d7de", "#ffffff"


def save_drawing(found: Sequence[Slice], evaluation: Evaluation, path: Path | str) -> None:
    """Write the picture as a PNG: a panel for each slice worth seeing."""
    from PIL import Image, ImageDraw, ImageFont

    panels = shown(found)
    columns = min(COLUMNS, max(2, len(panels)))
    rows = -(-len(panels) // columns)
    image = Image.new("RGB", (columns * _WIDTH, _TOP + rows * _HEIGHT), _PAPER)
    draw = ImageDraw.Draw(image)
    title, size = headline(found, evaluation), 20
    while size > 10 and draw.textlength(title, ImageFont.load_default(size)) > image.width - 32:
        size -= 1
    draw.text((16, 24), title, fill=_TEXT, font=ImageFont.load_default(size), anchor="lm")
    draw.text((16, 48), KEY, fill=ALL, font=ImageFont.load_default(13), anchor="lm")
    for k, s in enumerate(panels):
        corner = (k % columns) * _WIDTH, _TOP + (k // columns) * _HEIGHT
        _Panel(draw, s, evaluation, corner).draw()
    with whole(path) as partial:
        image.save(partial, format="PNG")


class _Panel:
    """One slice: a marker with its interval for each bin, over the line of all episodes."""

    def __init__(
        self, draw: Any, s: Slice, evaluation: Evaluation, corner: tuple[int, int]
    ) -> None:
        from PIL import ImageFont

        self._draw, self._slice, self._evaluation = draw, s, evaluation
        self._font = ImageFont.load_default(14)
        x, y = corner
        self._left, self._right = x + _LEFT, x + _WIDTH - _RIGHT
        self._top, self._bottom = y + _ABOVE, y + _HEIGHT - _BELOW
        self._low, self._high = s.bins[0].low, s.bins[-1].high

    def draw(self) -> None:
        self._draw_overall()
        self._draw_axes()
        colour = CLAIMED if self._slice.claimed else PLAIN
        for b in self._slice.bins:
            x, y = self._x(0.5 * (b.low + b.high)), self._y(b.share)
            low, high = (self._y(share) for share in b.interval)
            self._draw.line([(self._x(b.low), y), (self._x(b.high), y)], fill=colour, width=2)
            self._draw.line([(x, low), (x, high)], fill=colour, width=2)
            for end in (low, high):
                self._draw.line([(x - 4, end), (x + 4, end)], fill=colour, width=2)
            self._draw.ellipse([x - 5, y - 5, x + 5, y + 5], fill=colour)

    def _draw_overall(self) -> None:
        low, high = (self._y(share) for share in self._evaluation.interval())
        self._draw.rectangle([self._left, high, self._right, low], fill="#eaeef2")
        y = self._y(self._evaluation.success_share)
        for x in range(self._left, self._right, 8):
            self._draw.line([(x, y), (min(x + 4, self._right), y)], fill=ALL)

    def _draw_axes(self) -> None:
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            y = self._y(share)
            self._draw.line([(self._left, y), (self._right, y)], fill=_LINES)
            text = f"{100 * share:.0f} %"
            self._draw.text((self._left - 8, y), text, fill=_TEXT, font=self._font, anchor="rm")
        title, factor = axis(self._slice)
        for value in _ticks(factor * self._low, factor * self._high):
            x = self._x(value / factor)
            self._draw.line([(x, self._bottom), (x, self._bottom + 5)], fill=ALL)
            text, place = f"{value:.6g}", (x, self._bottom + 10)
            self._draw.text(place, text, fill=_TEXT, font=self._font, anchor="ma")
        centre = (0.5 * (self._left + self._right), self._bottom + 32)
        self._draw.text(centre, title, fill=_TEXT, font=self._font, anchor="ma")

    def _x(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return self._left + share * (self._right - self._left)

    def _y(self, share: float) -> float:
        return self._bottom - share * (self._bottom - self._top)


def _ticks(low: float, high: float) -> list[float]:
    """Three to seven round numbers between two others."""
    rough = (high - low) / 4.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(math.log(k * power / rough)))
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
