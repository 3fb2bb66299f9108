"""Points that come back from one state of knowledge to another, and the best order of actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.diagnose import GapReport
from trueup.plan.action import GAPS, Action, template
from trueup.plan.doubt import Doubt
from trueup.plan.loss import Loss
from trueup.plan.protocol import Recovery

_DRAWS = 4000
_NORMAL_90 = 1.6449
_FREE_MIN = 0.01
"""Minutes that an action without any counts as, so that it comes first."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An action that was chosen, and what it gives.

    Attributes:
        action: Which.
        gap: The gap that gives most of it.
        recovery: What comes back.
    """

    action: Action
    gap: str
    recovery: Recovery


class Gains:
    """What actions give back, from what is known now.

    Training again with what is known is an action too. A recording is worth what it adds to that,
    so it is counted from there.

    Args:
        report: What was lost, and to which gap.
        known: What is unknown now.
        generator: Of the draws behind the intervals.
    """

    def __init__(self, report: GapReport, known: Doubt, generator: np.random.Generator) -> None:
        self._start = known
        self._loss = Loss.of(report)
        self._drawn = Loss.drawn(report, generator, _DRAWS)
        ends = np.array([template(gap).recovers for gap in GAPS])
        self._recovers = ends.mean(axis=1)
        spread = (ends[:, 1] - ends[:, 0]) / (2 * _NORMAL_90)
        draws = self._recovers + spread * generator.standard_normal((_DRAWS, len(GAPS)))
        self._recovers_drawn = np.clip(draws, 0.0, 1.0)

    def trained(self, action: Action) -> Choice:
        """What training again gives, with what is known now."""
        nothing = np.zeros(len(GAPS))
        return self._choice(action, nothing, _known(self._start), nothing)

    def ordered(
        self, actions: Sequence[Action], minutes: Callable[[Action], float], worth: float
    ) -> tuple[list[Choice], list[Action]]:
        """Actions, each the best a minute after those before it; and those that then add nothing.

        What counts is the mean of what an action gives now and what it would give if all other
        gaps were closed: of two gaps that each suffice to fail, neither gives anything alone.
        """
        chosen: list[Choice] = []
        left, doubt, start = list(actions), self._start, _known(self._start)
        while True:
            scores = {a.name: self._score(_known(doubt), _known(doubt.after(a))) for a in left}
            worthy = [a for a in left if scores[a.name] >= worth]
            if not worthy:
                break
            best = max(worthy, key=lambda a: scores[a.name] / max(minutes(a), _FREE_MIN))
            alone = _known(self._start.after(best))
            after = doubt.after(best)
            chosen.append(self._choice(best, start, alone, _known(doubt), _known(after)))
            left, doubt = [a for a in left if a is not best], after
        needless = [a for a in left if self._score(start, _known(self._start.after(a))) >= worth]
        return chosen, needless

    def _choice(
        self,
        action: Action,
        before: np.ndarray,
        after: np.ndarray,
        then: np.ndarray,
        at_last: np.ndarray | None = None,
    ) -> Choice:
        """An action that leads from one state to another, alone and after those chosen so far."""
        drawn = self._drawn(self._recovers_drawn * before)
        drawn = drawn - self._drawn(self._recovers_drawn * after)
        low, high = np.quantile(drawn, [0.05, 0.95])
        recovery = Recovery(
            points=self._between(before, after),
            low=float(low),
            high=float(high),
            in_order=self._between(then, after if at_last is None else at_last),
        )
        return Choice(action=action, gap=self._main_gap(before, after), recovery=recovery)

    def _score(self, before: np.ndarray, after: np.ndarray) -> float:
        moved = after > before
        last = self._between(np.where(moved, before, 1.0), np.where(moved, after, 1.0), full=~moved)
        return 0.5 * (self._between(before, after) + last)

    def _main_gap(self, before: np.ndarray, after: np.ndarray) -> str:
        """The gap whose own step gives most, shares counting where interactions hide it."""
        steps = np.diag(after - before) + before
        return GAPS[int(np.argmax([self._score(before, step) for step in steps]))]

    def _between(
        self, before: np.ndarray, after: np.ndarray, full: np.ndarray | None = None
    ) -> float:
        """Points between two states; gaps in `full` count as closed altogether in both."""
        recovers = self._recovers if full is None else np.where(full, 1.0, self._recovers)
        return float(self._loss(recovers * before) - self._loss(recovers * after))


def _known(state: Doubt) -> np.ndarray:
    """(g,) how much of each gap is known."""
    return np.array([state.known(gap) for gap in GAPS])
