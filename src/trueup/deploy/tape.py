"""What a loop records while it runs: readings and commands of n bodies, and when each came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.episodes import Channel, Episode, Outcome
from trueup.hardware import Robot

COMMAND, PROPOSED = "command", "proposed"


@dataclass(frozen=True, kw_only=True)
class Turns:
    """When the turns of a loop began, and how long each part took, (k,) in s."""

    period_s: float
    began_s: np.ndarray
    late_s: np.ndarray
    observe_s: np.ndarray
    infer_s: np.ndarray
    act_s: np.ndarray

    def __len__(self) -> int:
        return len(self.began_s)


class Tape:
    """Turns as they come; whatever happens, what came is still there.

    Args:
        robot: Whose readings; names and units come from it.
    """

    def __init__(self, robot: Robot) -> None:
        interface = robot.interface
        self._units = {f.name: f.unit for f in interface.observations}
        self._columns = robot.columns
        self._joints, self._unit = interface.commands, interface.unit[0]
        self.period_s = interface.period_s
        self._read: list[Mapping[str, np.ndarray]] = []
        self._told: list[np.ndarray] = []
        self._proposed: list[np.ndarray] = []
        self._times: list[tuple[float, ...]] = []

    def add(
        self,
        observation: Mapping[str, np.ndarray],
        told: np.ndarray,
        proposed: np.ndarray | None,
        times: tuple[float, ...],
    ) -> None:
        """Keep one turn; its times: began, late, took to observe, to infer, to act; was sent."""
        self._read.append(observation)
        self._told.append(told)
        self._times.append(times)
        if proposed is not None:
            self._proposed.append(proposed)

    def __len__(self) -> int:
        return len(self._times)

    @property
    def turns(self) -> Turns:
        """How the turns went."""
        began, late, observe, infer, act, _ = np.array(self._times, float).reshape(-1, 6).T
        return Turns(
            period_s=self.period_s,
            began_s=began,
            late_s=late,
            observe_s=observe,
            infer_s=infer,
            act_s=act,
        )

    def episode(
        self,
        row: int,
        turns: int,
        *,
        task: str,
        outcome: Outcome | None,
        labels: Mapping[str, str],
        origin: Mapping[str, Any],
    ) -> Episode | None:
        """The first turns of one body; none where there are none."""
        turns = min(turns, len(self))
        if not turns:
            return None
        times = np.array(self._times[:turns])
        signals = {
            name: Channel(
                values=np.stack([read[name][row] for read in self._read[:turns]]),
                time_s=times[:, 0],
                unit=unit,
                names=self._columns[name],
            )
            for name, unit in self._units.items()
        }
        for name, kept in ((COMMAND, self._told), (PROPOSED, self._proposed)):
            if kept:
                signals[name] = Channel(
                    values=np.stack([values[row] for values in kept[:turns]]),
                    time_s=times[:, 5],
                    unit=self._unit,
                    names=self._joints,
                )
        return Episode(
            signals=signals,
            period_s=self.period_s,
            task=task,
            outcome=outcome,
            labels=labels,
            origin=origin,
        )
