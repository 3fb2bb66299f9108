"""Words: paragraphs, lists, and commands to type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from trueup.report.section import Block


@dataclass(frozen=True, kw_only=True)
class Prose(Block):
    """Sentences.

    Attributes:
        text: One paragraph; `words in ticks` are set as code.
        lead: Whether it is what a reader in a hurry should read.
    """

    text: str
    lead: bool = False

    def html(self) -> str:
        mark = ' class="lead"' if self.lead else ""
        return f"<p{mark}>{inline(self.text)}</p>"

    def markdown(self) -> str:
        return plain(self.text)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "prose", "text": self.text}


@dataclass(frozen=True, kw_only=True)
class Listing(Block):
    """Sentences below each other.

    Attributes:
        items: One each.
        head: What they have in common; a heading where given.
        numbered: Whether their order counts.
    """

    items: tuple[str, ...]
    head: str = ""
    numbered: bool = False

    def html(self) -> str:
        kind = "ol" if self.numbered else "ul"
        head = f"<h3>{inline(self.head)}</h3>" if self.head else ""
        items = "".join(f"<li>{inline(item)}</li>" for item in self.items)
        return f"{head}<{kind}>{items}</{kind}>"

    def markdown(self) -> str:
        mark = "1." if self.numbered else "-"
        lines = [f"{mark} {plain(item)}" for item in self.items]
        return "\n".join([*([f"### {plain(self.head)}", ""] if self.head else []), *lines])

    def to_json(self) -> dict[str, Any]:
        return {"kind": "list", "head": self.head, "items": list(self.items)}


@dataclass(frozen=True, kw_only=True)
class Commands(Block):
    """What to type to have it again.

    Attributes:
        lines: One command each.
    """

    lines: tuple[str, ...]

    def html(self) -> str:
        text = escape("\n".join(self.lines))
        return f'<pre tabindex="0" role="region" aria-label="Commands"><code>{text}</code></pre>'

    def markdown(self) -> str:
        fence = "`" * max(
            3, 1 + max((len(t) for t in re.findall("`+", "\n".join(self.lines))), default=0)
        )
        return "\n".join([f"{fence}console", *self.lines, fence])

    def to_json(self) -> dict[str, Any]:
        return {"kind": "commands", "lines": list(self.lines)}


def inline(text: str) -> str:
    """Text for a page; what stands in ticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def plain(text: str) -> str:
    """Text for Markdown: one line, and nothing in it that starts markup by chance."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(p if p.startswith("`") else re.sub(r"([\\*_<\[|#])", r"\\\1", p) for p in parts)
