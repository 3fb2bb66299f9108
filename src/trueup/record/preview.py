"""A picture of what a robot is about to do: commands over time, with the limits they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.files import whole
from trueup.record.body import Body
from trueup.record.motions.motion import Plan

_WIDTH, _HEIGHT, _TOP, _BELOW = 1180, 118, 64, 40  # pixels of a row, headline and time axis
_LEFT, _RIGHT = 190, 150
_LINE, _LIMIT, _TEXT, _GREY, _BAND = "#1f6feb", "#cf222e", "#1f2328", "#8b949e", "#f3f5f7"
_ROOM = 0.15  # of the range, above and below a line


@dataclass(frozen=True, kw_only=True)
class _Picture:
    """What there is to draw.

    Attributes:
        body: The servos.
        time_s: (k,)
        path: (k, nu) the first robot's commands.
        spans: Name, beginning and end of each motion.
    """

    body: Body
    time_s: np.ndarray
    path: np.ndarray
    spans: tuple[tuple[str, float, float], ...]

    @classmethod
    def of(cls, plans: Sequence[Plan], body: Body) -> _Picture:
        spans, begun_s = [], 0.0
        for plan in plans:
            end_s = begun_s + plan.period_s * len(plan.path)
            spans.append((plan.motion.title, begun_s, end_s))
            begun_s = end_s
        path = np.concatenate([plan.path[:, 0] for plan in plans])
        time_s = plans[0].period_s * np.arange(len(path))
        return cls(body=body, time_s=time_s, path=path, spans=tuple(spans))

    @property
    def headline(self) -> str:
        names = ", ".join(name for name, _, _ in self.spans)
        return f"{names}: {self.spans[-1][2]:.0f} s as planned, nothing has moved"

    def speed(self, joint: int) -> float:
        """The quickest that a joint is told to move, rad/s."""
        return float(np.abs(np.diff(self.path[:, joint])).max() / (self.time_s[1] - self.time_s[0]))

    def words(self, joint: int) -> str:
        return f"{self.speed(joint):.2f} of {self.body.speed[joint]:.2f} rad/s"

    def view(self, joint: int) -> tuple[float, float]:
        """The range to show: the line, and a limit where it is not far."""
        line = self.path[:, joint]
        low, high = float(line.min()), float(line.max())
        room = max(0.05, _ROOM * (high - low))
        return low - room, high + room


def save_preview(plans: Sequence[Plan], body: Body, path: Path | str) -> None:
    """Draw plans, one after the other, into a .png, or into an .html to zoom in.

    Of several robots the first is drawn.
    """
    path, picture = Path(path), _Picture.of(plans, body)
    kinds = {".png": _draw, ".html": _plot}
    if path.suffix.lower() not in kinds:
        raise TrueupError(f"{path} is neither .png nor .html.", fix="Give one of the two.")
    with whole(path) as partial:
        kinds[path.suffix.lower()](picture, partial)


def _draw(picture: _Picture, path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    rows = picture.body.size
    image = Image.new("RGB", (_WIDTH, _TOP + rows * _HEIGHT + _BELOW), "#ffffff")
    draw = ImageDraw.Draw(image)
    draw.text((16, 20), picture.headline, fill=_TEXT, font=ImageFont.load_default(18), anchor="lm")
    for i, (name, begin, end) in enumerate(picture.spans):
        left, right = (_x(picture, t) for t in (begin, end))
        if i % 2 == 0:
            draw.rectangle([left, _TOP, right, _TOP + rows * _HEIGHT], fill=_BAND)
        draw.text((left + 4, _TOP - 14), name, fill=_GREY, font=ImageFont.load_default(13))
    for joint in range(rows):
        _draw_row(draw, picture, joint, ImageFont)
    for second in _ticks(picture.time_s[-1]):
        x, y = _x(picture, second), _TOP + rows * _HEIGHT
        draw.line([(x, y), (x, y + 5)], fill=_GREY)
        text = f"{second:g} s"
        draw.text((x, y + 9), text, fill=_TEXT, font=ImageFont.load_default(13), anchor="ma")
    image.save(path, format="PNG")


def _draw_row(draw: Any, picture: _Picture, joint: int, fonts: Any) -> None:
    top = _TOP + joint * _HEIGHT
    low, high = picture.view(joint)
    font, small = fonts.load_default(15), fonts.load_default(13)

    def y(value: float) -> float:
        return top + _HEIGHT - 8 - (value - low) / (high - low) * (_HEIGHT - 16)

    middle = top + _HEIGHT / 2
    draw.line([(_LEFT, top), (_WIDTH - _RIGHT, top)], fill="#d0d7de")
    draw.text((16, middle - 8), picture.body.joints[joint], fill=_TEXT, font=font, anchor="lm")
    span = f"{picture.path[:, joint].min():.2f} … {picture.path[:, joint].max():.2f} rad"
    draw.text((16, middle + 12), span, fill=_GREY, font=small, anchor="lm")
    for limit in (picture.body.low[joint], picture.body.high[joint]):
        if low < limit < high:
            draw.line([(_LEFT, y(limit)), (_WIDTH - _RIGHT, y(limit))], fill=_LIMIT, width=2)
    line = [
        (_x(picture, t), y(v)) for t, v in zip(picture.time_s, picture.path[:, joint], strict=True)
    ]
    draw.line(line, fill=_LINE, width=2)
    place = (_WIDTH - _RIGHT + 10, middle)
    draw.text(place, picture.words(joint), fill=_GREY, font=small, anchor="lm")


def _x(picture: _Picture, time_s: float) -> float:
    return _LEFT + time_s / picture.spans[-1][2] * (_WIDTH - _LEFT - _RIGHT)


def _ticks(end_s: float) -> list[float]:
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 500, 1e9) if end_s / s <= 12)
    return [k * step for k in range(int(end_s / step) + 1)]


def _plot(picture: _Picture, path: Path) -> None:
    from plotly.subplots import make_subplots

    rows = picture.body.size
    figure = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.02)
    for joint, name in enumerate(picture.body.joints):
        figure.add_scatter(
            x=picture.time_s,
            y=picture.path[:, joint],
            name=name,
            line={"color": _LINE},
            row=joint + 1,
            col=1,
        )
        low, high = picture.view(joint)
        for limit in (picture.body.low[joint], picture.body.high[joint]):
            if low < limit < high:
                place: Any = {"row": joint + 1, "col": 1}
                figure.add_hline(y=limit, line={"color": _LIMIT}, **place)
        title = f"{name}<br>{picture.words(joint)}"
        figure.update_yaxes(title_text=title, range=[low, high], row=joint + 1, col=1)
    for i, (name, begin, end) in enumerate(picture.spans):
        colour = {"fillcolor": _GREY, "opacity": 0.1 if i % 2 == 0 else 0.0, "line_width": 0}
        figure.add_vrect(x0=begin, x1=end, layer="below", **colour)
        figure.add_annotation(
            x=begin,
            y=1.0,
            xref="x",
            yref="paper",
            text=name,
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"color": _GREY},
        )
    figure.update_xaxes(title_text="s", row=rows, col=1)
    figure.update_layout(
        title=picture.headline, template="plotly_white", height=120 + 150 * rows, showlegend=False
    )
    path.write_text(figure.to_html(include_plotlyjs=True, div_id="plan"), encoding="utf-8")
