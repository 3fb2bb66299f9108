"""An effect that a fit lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """An effect that is not in a fit, and what it would bring.

    Attributes:
        what: In words.
        parameters: What it adds to the fit.
        gain: Share of the squared residual that it would remove, between 0 and 1.
        by_column: The same, of each column.
        start: Values of its own to begin a fit from.
    """

    what: str
    parameters: tuple[str, ...]
    gain: float
    by_column: Mapping[str, float]
    start: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        worst = max(self.by_column, key=lambda name: self.by_column[name])
        return (
            f"{self.what} would explain {100 * self.gain:.0f} % of what is left (most in "
            f"{worst.split('/')[-1]}: {100 * self.by_column[worst]:.0f} %)."
        )

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "parameters": list(self.parameters)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Suspect:
        """What `to_json` described."""
        return Suspect(**{**data, "parameters": tuple(data["parameters"])})
