"""A short film that lies in the page itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from trueup.report.blocks.prose import inline, plain
from trueup.report.section import Block


@dataclass(frozen=True, kw_only=True)
class Film(Block):
    """One film.

    Attributes:
        name: A file name without its end; one of its own in a report.
        webm: The file.
        says: A sentence that says what it shows.
        seconds: How long it is.
    """

    name: str
    webm: bytes
    says: str
    seconds: float

    def html(self) -> str:
        source = b64encode(self.webm).decode("ascii")
        return (
            f'<figure class="film"><video controls muted loop playsinline preload="metadata" '
            f'aria-label="{escape(self.says)}" src="data:video/webm;base64,{source}"></video>'
            f"<figcaption>{inline(self.says)}</figcaption></figure>"
        )

    def markdown(self) -> str:
        return f"[film, {self.seconds:.0f} s]({self._file}): {plain(self.says)}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": "film", "file": self._file, "says": self.says, "seconds": self.seconds}

    @property
    def files(self) -> Mapping[str, bytes]:
        return {self._file: self.webm}

    @property
    def _file(self) -> str:
        return f"{self.name}.webm"
