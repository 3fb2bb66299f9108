"""What a report is made of: sections, and the blocks in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Block(ABC):
    """One thing that a section shows, in three forms that say the same."""

    @abstractmethod
    def html(self) -> str:
        """A piece of the page: no script, no style attribute, nothing from elsewhere."""

    @abstractmethod
    def markdown(self) -> str:
        """The same as text."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The same for programs; `kind` says which block it is."""

    @property
    def files(self) -> Mapping[str, bytes]:
        """What lies beside the report, by name, for those who read it as text."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Section:
    """One question of a report, answered.

    Attributes:
        key: One word for it: its place in the page, and its name in JSON.
        title: Its heading.
        blocks: What it shows, in order.
        data: What it rests on, for programs.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    def html(self) -> str:
        """The section of the page."""
        inner = "\n".join(block.html() for block in self.blocks)
        return (
            f'<section id="{self.key}" aria-labelledby="{self.key}-title">\n'
            f'<h2 id="{self.key}-title">{self.title}</h2>\n{inner}\n</section>'
        )

    def markdown(self) -> str:
        """The section as text."""
        return "\n\n".join([f"## {self.title}", *(block.markdown() for block in self.blocks)])

    def to_json(self) -> dict[str, Any]:
        """The section for programs."""
        return {
            "key": self.key,
            "title": self.title,
            "blocks": [block.to_json() for block in self.blocks],
            "data": dict(self.data),
        }
