"""Where in an episode something is: a signal, and a column of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Place:
    """One column of one signal, or a signal as a whole, or neither where it is about all of it."""

    signal: str = ""
    column: str = ""

    def __str__(self) -> str:
        if self.column in ("", self.signal):
            return self.signal or "the episode"
        return f"{self.column} of {self.signal}"
