"""Marks on a strip: what a row of a table draws, in numbers of its own scale.

Places are percentages of the strip's width, so that a drawing fits a phone and a wide page alike
and its text never shrinks; colours are the page's, by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from html import escape
from typing import Any

HEIGHT = 30  # of a strip, in pixels
_MIDDLE, _THICK = HEIGHT / 2, 14


class Kind(StrEnum):
    """How a mark looks."""

    BAR = "bar"
    BAND = "band"
    """Thin: an interval that is the thing itself."""
    WHISKER = "whisker"
    """An interval of something else that is drawn."""
    DOT = "dot"
    TICK = "tick"


class Tone(StrEnum):
    """What a mark is about; one colour each."""

    SIMULATED = "simulated"
    REAL = "real"
    LOST = "lost"
    WON = "won"
    UNSURE = "unsure"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One mark, from `low` to `high` on the strip's scale; for a dot or a tick the two are one."""

    kind: Kind
    low: float
    high: float
    tone: Tone

    @staticmethod
    def at(kind: Kind, place: float, tone: Tone) -> Mark:
        """A mark at one place."""
        return Mark(kind=kind, low=place, high=place, tone=tone)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {name: str(v) if isinstance(v, StrEnum) else v for name, v in asdict(self).items()}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What the ends of strips stand for.

    Attributes:
        low: The left end.
        high: The right end.
        ticks: Where lines are drawn, and the words under them.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()

    def share(self, value: float) -> float:
        """Where a value stands, from 0 to 100; what lies beyond an end stands at it."""
        span = (self.high - self.low) or 1.0
        return 100.0 * min(max((value - self.low) / span, 0.0), 1.0)


PERCENT = Scale(low=0.0, high=100.0, ticks=tuple((v, f"{v} %") for v in (0, 25, 50, 75, 100)))
"""Success, whatever it is of."""


def upto(largest: float, unit: str = "") -> Scale:
    """A scale from 0 that holds a number, with a few round ticks."""
    if not largest > 0:
        return Scale(low=0.0, high=1.0, ticks=((0.0, "0"),))
    power = 10.0 ** math.floor(math.log10(largest / 3))
    step = next(k * power for k in (1, 2, 5, 10) if largest / (k * power) <= 4)
    step = max(step, 1.0) if not unit else step
    count = math.ceil(largest / step - 1e-9)
    end = f" {unit}" if unit else ""
    ticks = tuple((k * step, f"{k * step:.6g}{end}") for k in range(count + 1))
    return Scale(low=0.0, high=count * step, ticks=ticks)


def strip(marks: Sequence[Mark], scale: Scale, said: str) -> str:
    """A row's drawing, with what it shows in words."""
    lines = "".join(_grid(scale.share(value)) for value, _ in scale.ticks)
    drawn = "".join(_DRAWN[mark.kind](mark, scale) for mark in marks)
    return (
        f'<svg class="strip" width="100%" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(said)}">{lines}{drawn}</svg>'
    )


def axis(scale: Scale) -> str:
    """The words under the ticks."""
    words = "".join(_word(scale.share(value), text) for value, text in scale.ticks)
    return f'<svg class="axis" width="100%" height="18" aria-hidden="true">{words}</svg>'


def _grid(x: float) -> str:
    return f'<line class="grid" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="100%"/>'


def _word(x: float, text: str) -> str:
    anchor = "start" if x < 4 else "end" if x > 96 else "middle"
    return f'<text x="{x:.2f}%" y="13" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(mark: Mark, scale: Scale, thick: float = _THICK) -> str:
    a, b = sorted((scale.share(mark.low), scale.share(mark.high)))
    if mark.low == mark.high:
        return ""
    return (
        f'<rect class="{mark.tone}" x="{a:.2f}%" width="{max(b - a, 0.15):.2f}%" '
        f'y="{_MIDDLE - thick / 2:g}" height="{thick:g}" rx="1.5"/>'
    )


def _band(mark: Mark, scale: Scale) -> str:
    return _bar(mark, scale, 5)


def _whisker(mark: Mark, scale: Scale) -> str:
    """A line with ends, and light around it, so that it shows on a bar of any colour."""
    if mark.low == mark.high:
        return ""
    a, b = scale.share(mark.low), scale.share(mark.high)
    level = f'x1="{a:.2f}%" x2="{b:.2f}%" y1="{_MIDDLE:g}" y2="{_MIDDLE:g}"'
    ends = "".join(_upright(x, 4, "whisker") for x in (a, b))
    return f'<line class="halo" {level}/><line class="whisker" {level}/>{ends}'


def _dot(mark: Mark, scale: Scale) -> str:
    x = scale.share(mark.low)
    return f'<circle class="{mark.tone}" cx="{x:.2f}%" cy="{_MIDDLE:g}" r="5"/>'


def _tick(mark: Mark, scale: Scale) -> str:
    return _upright(scale.share(mark.low), 11, f"tick {mark.tone}")


def _upright(x: float, half: float, kind: str) -> str:
    return (
        f'<line class="{kind}" x1="{x:.2f}%" x2="{x:.2f}%" '
        f'y1="{_MIDDLE - half:g}" y2="{_MIDDLE + half:g}"/>'
    )


_DRAWN = {
    Kind.BAR: _bar,
    Kind.BAND: _band,
    Kind.WHISKER: _whisker,
    Kind.DOT: _dot,
    Kind.TICK: _tick,
}
