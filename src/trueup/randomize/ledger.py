"""Which draw an outcome belongs to, when it comes back later and in any order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

_MOST = 200_000  # episodes under way; older ones were lost on the way


class Ledger:
    """Remembers a note for each point that was drawn, until its outcome is told.

    With hundreds of worlds in parallel an episode may have begun several updates of a curriculum
    ago, and what it tells is about the ranges of then. A point is found again by its numbers in
    single precision, so it may have been kept in either; equal points, in the order of drawing.
    """

    def __init__(self) -> None:
        self._notes: dict[str, list[Any]] = {}

    def write(self, rows: np.ndarray, notes: Iterable[Any]) -> None:
        """Note something about each row; notes must be numbers, strings or lists of them."""
        for key, note in zip(_keys(rows), notes, strict=True):
            self._notes.setdefault(key, []).append(note)
        while len(self._notes) > _MOST:
            del self._notes[next(iter(self._notes))]

    def take(self, rows: np.ndarray) -> list[Any]:
        """The notes of rows whose episodes are over, each handed out once; None where unknown."""
        return [self._taken(key) for key in _keys(rows)]

    def state(self) -> dict[str, list[Any]]:
        """All notes, as JSON can hold them."""
        return {key: list(notes) for key, notes in self._notes.items()}

    def restore(self, state: dict[str, list[Any]]) -> None:
        """Take over what `state` gave."""
        self._notes = {key: list(notes) for key, notes in state.items()}

    def _taken(self, key: str) -> Any:
        notes = self._notes.get(key)
        if not notes:
            return None
        first = notes.pop(0)
        if not notes:
            del self._notes[key]
        return first


def _keys(rows: np.ndarray) -> list[str]:
    singles = np.ascontiguousarray(rows, np.float32)
    return [blake2b(row.tobytes(), digest_size=8).hexdigest() for row in singles]
