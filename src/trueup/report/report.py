"""A report: sections in order, as one page, as JSON and as Markdown."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError
from trueup.files import whole
from trueup.report.blocks.prose import plain
from trueup.report.page import BANNER, REHEARSED, page
from trueup.report.section import Section

FORMAT, VERSION = "trueup/report", 1
FILES = ("report.html", "report.json", "report.md")


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is told, three times the same.

    Attributes:
        title: Its heading.
        sections: In order; each has a key of its own.
        rehearsal: Whether no real robot took part: then a banner says so.
    """

    title: str
    sections: tuple[Section, ...]
    rehearsal: bool

    def __post_init__(self) -> None:
        twice = [key for key, n in Counter(s.key for s in self.sections).items() if n > 1]
        if twice:
            raise TrueupError(
                f"The report has two sections called {twice[0]!r}.",
                fix="Give each a key of its own.",
            )

    def section(self, key: str) -> Section:
        """The section of a key."""
        return next(section for section in self.sections if section.key == key)

    def html(self) -> str:
        """One page that needs nothing else."""
        return page(self.title, self.sections, rehearsal=self.rehearsal)

    def markdown(self) -> str:
        """The same as text."""
        banner = [f"> **{BANNER}**. {REHEARSED}"] if self.rehearsal else []
        told = (section.markdown() for section in self.sections)
        parts = [f"# {plain(self.title)}", *banner, *told]
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> dict[str, Any]:
        """The same for programs; what is no number is null."""
        return _finite(
            {
                "format": FORMAT,
                "version": VERSION,
                "title": self.title,
                "label": "sim-to-sim" if self.rehearsal else "real",
                "sections": [section.to_json() for section in self.sections],
            }
        )

    def save(self, folder: Path | str) -> Path:
        """Write report.html, report.json, report.md and films into a folder; returns the page."""
        folder = Path(folder)
        text = json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        made = zip(FILES, (self.html(), text + "\n", self.markdown()), strict=True)
        for name, content in made:
            with whole(folder / name) as partial:
                partial.write_text(content, encoding="utf-8")
        for section in self.sections:
            for block in section.blocks:
                for name, data in block.files.items():
                    with whole(folder / name) as partial:
                        partial.write_bytes(data)
        return folder / FILES[0]


def _finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
