"""What somebody who starts a rehearsal robot asks for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from trueup.errors import TrueupError


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a server is to be.

    Attributes:
        reality: A name, or a file.
        world: A name, or FILE.py:CLASS; the reality's own by default.
        cells: How many bodies.
        realtime: Whether time passes by itself.
        period_s: Time between commands; the world's own by default.
        threads: CPU threads; 0 takes all.
    """

    reality: str
    world: str | None = None
    cells: int = 1
    realtime: bool = False
    period_s: float | None = None
    threads: int = 0

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise TrueupError(
                f"A rehearsal robot of {self.cells} cells cannot be made.", fix="Give at least 1."
            )
        if self.threads < 0:
            raise TrueupError(
                f"A rehearsal robot cannot have {self.threads} threads.", fix="0 takes all."
            )

    def to_json(self) -> str:
        """One line of text."""
        return json.dumps(asdict(self))
