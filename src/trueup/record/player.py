"""A plan as it is played: turn by turn, with pauses, and movements that end early."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.record.motions.motion import Phase, Plan
from trueup.record.motions.rules import Watch
from trueup.record.motions.smooth import eased

_STOP_S = 0.3
"""A pause or an abort brings the commands to rest within this long."""


class Player:
    """The commands of a plan in their time, for n robots.

    Call it once a turn. Along the way the plan's own time may run slower, down to a stop: a pause
    is a stop that is taken back. Where a rule ends a movement early, that robot stays where it is
    until the phase is over. Each joint goes on from there when the plan next moves it.

    Attributes:
        plan: What is played.
        early: (n,) whether a rule ended the movement of the present phase.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._row = 0.0
        self._pace = 1.0
        self._phase: Phase | None = None
        self._watch: Watch | None = None
        n, nu = plan.path.shape[1:]
        self._last = plan.path[0].copy()
        self._behind = np.zeros((n, nu))
        self._moves = np.zeros((n, nu), bool)
        self.early = np.zeros(n, bool)

    @property
    def done(self) -> bool:
        """Whether the last command was given."""
        return self._row >= len(self.plan.path)

    @property
    def phase(self) -> str:
        """The name of what happens now; empty before the first turn."""
        return "" if self._phase is None else self._phase.name

    @property
    def still(self) -> bool:
        """Whether the plan's time stands still."""
        return self._pace == 0.0

    @property
    def time_s(self) -> float:
        """How far the plan has come."""
        return self.plan.period_s * min(self._row, len(self.plan.path) - 1)

    def __call__(
        self, observation: Mapping[str, np.ndarray], *, running: bool = True
    ) -> np.ndarray:
        """Commands (n, nu) to send now; the plan slows down to a stop while it is not running."""
        row = int(self._row)
        phase = self.plan.phase(row)
        if phase is not self._phase:
            self._enter(phase)
        if self._watch is not None and self._pace > 0:
            self._look(observation)
        wanted = self._wanted(phase)
        self._last = np.where(self.early[:, None], self._last, wanted)
        step = self.plan.period_s / _STOP_S
        self._pace = float(np.clip(self._pace + (step if running else -step), 0.0, 1.0))
        self._row += self._pace
        return self._last.copy()

    def _enter(self, phase: Phase) -> None:
        before = self._at(max(phase.first - 1, 0))
        self._behind = self._last - before
        self._moves = np.ptp(self.plan.path[phase.first : phase.end], axis=0) > 1e-9
        self.early[:] = False
        self._phase = phase
        n = len(self.early)
        self._watch = phase.until.begun(n, self.plan.period_s) if phase.until else None

    def _look(self, observation: Mapping[str, np.ndarray]) -> None:
        assert self._watch is not None
        self.early |= self._watch(observation, self._last)

    def _wanted(self, phase: Phase) -> np.ndarray:
        """The plan, and on the way back to it where the last phase ended elsewhere."""
        share = (self._row - phase.first + 1) / max(phase.end - phase.first, 1)
        back = 0.0 if phase.relative else eased(share)
        left = np.where(self._moves, 1.0 - back, 1.0)
        return self._at(self._row) + left * self._behind

    def _at(self, row: float) -> np.ndarray:
        path = self.plan.path
        low = min(int(row), len(path) - 1)
        high = min(low + 1, len(path) - 1)
        return path[low] + (row - low) * (path[high] - path[low])
