"""Failures as one picture: by event and phase, and along the labels that matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trueup.diagnose.failures.analysis import FailureAnalysis
from trueup.diagnose.failures.labels.labels import Label, LabelAnalysis
from trueup.diagnose.failures.phases import Phase
from trueup.files import whole

_WIDTH, _ROW, _TOP, _GAP = 940, 30, 74, 30
_LEFT, _RIGHT = 270, 40
_TEXT, _FAINT, _LINE, _PAPER = "#1f2328", "#57606a", "#d0d7de", "#ffffff"
_PHASES = {
    Phase.APPROACH: "#1f6feb",
    Phase.CONTACT: "#bf8700",
    Phase.TRANSPORT: "#cf222e",
    Phase.RELEASE: "#8250df",
}
_CLAIMED, _PLAIN = "#1f6feb", "#8b949e"
_MOST_LABELS, _MOST_LEVELS = 6, 12


def save_failures(found: FailureAnalysis | LabelAnalysis, path: Path | str) -> None:
    """Write the picture as a PNG: a bar for each event, a marker for each word of each label."""
    from PIL import Image, ImageDraw

    labels = found.labels if isinstance(found, FailureAnalysis) else found
    shown = list(labels.labels[:_MOST_LABELS]) if labels is not None else []
    events = found.by_both if isinstance(found, FailureAnalysis) else {}
    height = _TOP + (_ROW * len(events) + _GAP + (20 if shown else 6) if events else 0)
    height += sum(_ROW * len(label.levels[:_MOST_LEVELS]) + _GAP for label in shown)
    height += 12 if shown else 0
    image = Image.new("RGB", (_WIDTH, height), _PAPER)
    canvas = _Canvas(ImageDraw.Draw(image))
    title, subtitle = _titles(found)
    canvas.title(title, subtitle)
    if events:
        canvas.events(events)
    if shown:
        canvas.labels(shown)
    with whole(path) as partial:
        image.save(partial, format="PNG")


def _titles(found: FailureAnalysis | LabelAnalysis) -> tuple[str, str]:
    if isinstance(found, LabelAnalysis):
        return f"{found.failed} of {found.trials} trials failed", "failures by label"
    label = "" if found.real else " (sim-to-sim)"
    title = f"{found.world}: {len(found.failures)} of {len(found.episodes)} trials failed{label}"
    return title, "failures by event, coloured by the phase they happened in"


class _Canvas:
    """Draws from top to bottom."""

    def __init__(self, draw: Any) -> None:
        from PIL import ImageFont

        self._draw, self._y = draw, _TOP
        self._fonts = {size: ImageFont.load_default(size) for size in (12, 14, 20)}

    def title(self, title: str, subtitle: str) -> None:
        self._text(16, 26, title, size=20)
        self._text(16, 52, subtitle, size=14, fill=_FAINT)

    def events(self, counts: dict[str, dict[str, int]]) -> None:
        """A bar for each event, its parts by phase, and a key."""
        most = max(sum(parts.values()) for parts in counts.values())
        scale = (_WIDTH - _LEFT - _RIGHT - 40) / most
        for event, parts in counts.items():
            self._text(_LEFT - 12, self._y + 12, event, anchor="rm")
            x = float(_LEFT)
            for phase, colour in _PHASES.items():
                wide = scale * parts[phase]
                if wide:
                    self._draw.rectangle([x, self._y + 3, x + wide, self._y + 21], fill=colour)
                    x += wide
            self._text(x + 8, self._y + 12, str(sum(parts.values())))
            self._y += _ROW
        x = _LEFT
        for phase, colour in _PHASES.items():
            self._draw.rectangle([x, self._y + 8, x + 12, self._y + 20], fill=colour)
            self._text(x + 18, self._y + 14, phase, size=12, fill=_FAINT)
            x += 110
        self._y += _GAP + 20

    def labels(self, labels: list[Label]) -> None:
        """For each word the share of failures with its interval, on one axis from 0 to 100 %."""
        self._axis(sum(_ROW * len(x.levels[:_MOST_LEVELS]) + _GAP for x in labels))
        for label in labels:
            colour = _CLAIMED if label.claimed else _PLAIN
            chance = f"{label.name}, p = {label.p_value:.2g}"
            self._text(16, self._y + 12, chance if label.claimed else f"{chance}: not told")
            self._y += _GAP - 6
            for level in label.levels[:_MOST_LEVELS]:
                self._level(level.name, level.failed, level.trials, level.interval, colour)
            self._y += 6

    def _axis(self, tall: int) -> None:
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            x = self._x(share)
            self._draw.line([(x, self._y), (x, self._y + tall)], fill=_LINE)
            self._text(x, self._y - 10, f"{100 * share:.0f} % fail", size=12, anchor="mm")

    def _level(
        self, name: str, failed: int, trials: int, success: tuple[float, float], colour: str
    ) -> None:
        y, at = self._y + 14, self._x(failed / max(trials, 1))
        low, high = self._x(1.0 - success[1]), self._x(1.0 - success[0])
        self._text(_LEFT - 12, y, f"{name[:24]}  {failed} of {trials}", anchor="rm")
        self._draw.line([(low, y), (high, y)], fill=colour, width=2)
        for end in (low, high):
            self._draw.line([(end, y - 4), (end, y + 4)], fill=colour, width=2)
        self._draw.ellipse([at - 5, y - 5, at + 5, y + 5], fill=colour)
        self._y += _ROW

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 14,
        fill: str = _TEXT,
        anchor: str = "lm",
    ) -> None:
        self._draw.text((x, y), text, fill=fill, font=self._fonts[size], anchor=anchor)

    @staticmethod
    def _x(share: float) -> float:
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)
