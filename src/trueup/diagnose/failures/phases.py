"""Where in an episode it is: approach, contact, transport, release, from signals alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np

from trueup.diagnose.failures.grasp import RISEN_M, Closing, Hold, closings
from trueup.diagnose.failures.trace import Trace
from trueup.diagnose.failures.tracking import runs

NEAR_M = 0.06  # from the fingertips' middle: a hand that is about to touch
_TOUCHED_M = 0.004
_PUSHED_M = 0.01
_ALONG_M = 0.08  # an object further than this from the hand is not being pushed


class Phase(StrEnum):
    """A part of an episode, in the order in which they follow each other."""

    APPROACH = "approach"
    """The hand is on its way, or on its way back after a try."""
    CONTACT = "contact"
    """The hand closes on the object, or touches it."""
    TRANSPORT = "transport"
    """The object moves with the hand."""
    RELEASE = "release"
    """The hand was told to open, and the object is out of it."""


class Handling(StrEnum):
    """What a task does with its object, which decides what its phases look like."""

    GRASP = "grasp"
    PUSH = "push"
    REACH = "reach"
    """There is a goal and no object: the whole episode is approach."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of an episode in one phase, in seconds from its first reading."""

    phase: Phase
    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class Story:
    """An episode, read: what was held when, and which phase each reading is in.

    Attributes:
        trace: The signals.
        handling: What the task does.
        held: What `holds` finds in the trace.
        shut: A jaw below this has nothing in it.
    """

    trace: Trace
    handling: Handling
    held: list[Hold]
    shut: float

    @property
    def holds(self) -> list[Hold]:
        """Every time something was in the hand; none where the task only pushes."""
        return self.held if self.handling is Handling.GRASP else []

    @cached_property
    def closings(self) -> list[Closing]:
        """Every try to grasp."""
        if self.handling is not Handling.GRASP:
            return []
        return closings(self.trace, self.holds, self.shut)

    @cached_property
    def phases(self) -> np.ndarray:
        """(k,) the phase of each reading, as the number of its place in `Phase`."""
        made = np.zeros(len(self.trace), int)
        if self.handling is Handling.GRASP:
            self._grasped(made)
        elif self.handling is Handling.PUSH:
            self._pushed(made)
        return made

    def phase(self, k: int) -> Phase:
        """The phase of one reading."""
        return list(Phase)[self.phases[k]]

    @property
    def spans(self) -> tuple[Span, ...]:
        """The phases in order of time, without gaps."""
        time_s, found = self.trace.time_s, []
        edges = [0, *(1 + np.flatnonzero(np.diff(self.phases))), len(time_s)]
        for start, end in pairwise(edges):
            stop = time_s[end] if end < len(time_s) else time_s[-1] + self.trace.period_s
            span = Span(
                phase=self.phase(int(start)), start_s=float(time_s[start]), end_s=float(stop)
            )
            found.append(span)
        return tuple(found)

    def released(self, hold: Hold) -> bool:
        """Whether a hold ended in a release: opened by command, in the air or with a target.

        A hand that opens around an object that lies where it lay has only begun anew.
        """
        if hold.how != "let go" or hold.carried is None:
            return False
        risen = float(self.trace.moved[hold.end, 2])
        somewhere = self.trace.target is not None or self.trace.thing is None
        return somewhere or risen > RISEN_M + 3.0 * self.trace.noise_m

    def _grasped(self, made: np.ndarray) -> None:
        trace = self.trace
        for closing in self.closings:
            start = closing.start
            while trace.aside is not None and start < closing.end and trace.away[start] > NEAR_M:
                start += 1
            made[start : closing.end + 1] = 1
        touched = self._touched()
        made[touched] = np.maximum(made[touched], 1)
        for i, hold in enumerate(self.holds):
            made[hold.start : hold.end + 1] = 1
            if hold.carried is None:
                continue
            made[hold.carried : hold.end + 1] = 2
            if self.released(hold):
                later = self.holds[i + 1 :]
                made[hold.end + 1 : later[0].start if later else len(made)] = 3

    def _touched(self) -> np.ndarray:
        """(k,) readings in which the object moves while the hand is at it."""
        trace = self.trace
        if trace.thing is None:
            return np.zeros(len(trace), bool)
        before = np.maximum(np.arange(len(trace)) - trace.turns(0.12), 0)
        step = np.linalg.norm(trace.thing - trace.thing[before], axis=1)
        return (step > _TOUCHED_M + 3.0 * trace.noise_m) & (trace.away < NEAR_M)

    def _pushed(self, made: np.ndarray) -> None:
        trace = self.trace
        touched = self._touched()
        made[touched] = 1
        if not touched.any():
            return
        first = int(np.flatnonzero(touched)[0])
        far = np.linalg.norm(trace.moved, axis=1) > _PUSHED_M + 3.0 * trace.noise_m
        with_hand = (trace.away < _ALONG_M) & far
        with_hand[:first] = False
        for start, end in runs(with_hand):
            made[start:end] = 2


def handling_of(
    traces: Sequence[Trace], held: Sequence[list[Hold]], success: Sequence[bool]
) -> Handling:
    """What the task of these episodes does, by what its successes did; else by what was tried."""
    if not any(t.thing is not None for t in traces):
        goal = any(t.target is not None for t in traces)
        return Handling.REACH if goal or traces[0].jaw is None else Handling.GRASP
    if all(t.target is None for t in traces):
        return Handling.GRASP  # an object and nowhere to bring it: it is to be lifted
    told = [k for k, good in enumerate(success) if good] or range(len(traces))
    lifted = [bool(held[k]) or float(traces[k].moved[:, 2].max()) > 0.02 for k in told]
    return Handling.GRASP if np.mean(lifted) > 0.5 else Handling.PUSH
