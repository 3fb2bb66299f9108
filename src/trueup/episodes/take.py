"""An episode while it is being recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.episodes.episode import Channel, Episode, Outcome
from trueup.errors import TrueupError


class Take:
    """Collects readings as they come, and gives the episode at any moment.

    Args:
        period_s: The time between frames that is meant.
        task: What is to be done, in words.
        origin: Where the episode comes from, as JSON.
        labels: Words to slice by later.
    """

    def __init__(
        self,
        period_s: float,
        *,
        task: str = "",
        origin: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.period_s, self.task = period_s, task
        self.origin, self.labels = dict(origin or {}), dict(labels or {})
        self._units: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._times: dict[str, list[float]] = {}
        self._rows: dict[str, list[np.ndarray]] = {}

    def declare(self, name: str, unit: str, names: tuple[str, ...]) -> None:
        """Say which signal will come, in which unit, with which columns."""
        self._units[name] = (unit, names)
        self._times[name], self._rows[name] = [], []

    def add(self, name: str, time_s: float, values: np.ndarray) -> None:
        """Take in one reading (size,) of a declared signal."""
        row = np.array(values, float).reshape(-1)
        if row.shape != (len(self._units[name][1]),):
            raise TrueupError(
                f"The signal {name!r} came with {row.size} numbers, but it has the columns "
                f"{', '.join(self._units[name][1])}.",
                fix="Check what the robot observes against what was declared.",
            )
        self._times[name].append(float(time_s))
        self._rows[name].append(row)

    def __len__(self) -> int:
        """Readings of the signal that has most."""
        return max((len(rows) for rows in self._rows.values()), default=0)

    def episode(self, outcome: Outcome | None = None, **labels: str) -> Episode:
        """What was recorded so far; signals that never came are left out."""
        signals = {
            name: Channel(
                values=np.stack(rows), time_s=np.array(self._times[name]), unit=unit, names=names
            )
            for name, (unit, names) in self._units.items()
            if (rows := self._rows[name])
        }
        return Episode(
            signals=signals,
            period_s=self.period_s,
            task=self.task,
            outcome=outcome,
            labels={**self.labels, **labels},
            origin=self.origin,
        )
