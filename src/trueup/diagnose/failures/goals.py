"""How far an episode got: arrived and yet failed, got away on the way, or ran out of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup.diagnose.failures.event import Event, Happened
from trueup.diagnose.failures.phases import Handling, Phase, Story
from trueup.diagnose.failures.trace import Trace

_THERE_M, _THERE_S = 0.02, 0.3  # a hand that believes it has arrived
_ESCAPED_M = 0.08
_BACK_M = 0.012  # further from its target than it was


def arrived(story: Story) -> Iterator[Happened]:
    """A hand, or a pushed object, that was seen to be where it should be."""
    trace = story.trace
    place = trace.hand if story.handling is Handling.REACH else trace.thing
    if story.handling is Handling.GRASP or place is None or trace.target is None:
        return
    off = place - trace.target
    flat = off[:, :2] if story.handling is Handling.PUSH else off
    there = np.linalg.norm(flat, axis=1) < _THERE_M
    turns = trace.turns(_THERE_S)
    if there.sum() < turns:
        return
    k = int(np.flatnonzero(there)[0])
    what = "hand" if story.handling is Handling.REACH else "object"
    yield Happened(
        event=Event.MISS,
        phase=story.phase(k),
        time_s=float(trace.time_s[k]),
        evidence=f"By what was read, the {what} was within {1000 * _THERE_M:.0f} mm of its target "
        f"for {there.sum() * trace.period_s:.2f} s from {trace.time_s[k]:.2f} s on, and yet it "
        "failed: what is seen and where things are disagree.",
    )


def escaped(story: Story) -> Iterator[Happened]:
    """A pushed object that left the hand behind."""
    trace = story.trace
    if story.handling is not Handling.PUSH or trace.target is None or trace.thing is None:
        return
    pushed = np.flatnonzero(story.phases == 2)
    if not len(pushed) or trace.away[-1] < _ESCAPED_M:
        return
    off = np.linalg.norm((trace.thing - trace.target)[:, :2], axis=1)
    k = int(pushed[-1])
    if off[-1] > off[: k + 1].min() + _BACK_M:
        yield Happened(
            event=Event.SLIP,
            phase=Phase.TRANSPORT,
            time_s=float(trace.time_s[k]),
            evidence=f"The object left the hand at {trace.time_s[k]:.2f} s, and ended "
            f"{1000 * off[-1]:.0f} mm from its target, after {1000 * off.min():.0f} mm at best.",
        )


def time_up(story: Story) -> Happened:
    """The end: the time was up, or a guard ended it; and how far it got until then."""
    trace = story.trace
    after = f"{trace.time_s[-1] + trace.period_s:.2f} s"
    said = f"Time was up after {after}: {_left(story)}."
    if trace.stopped:
        said = f"A guard stopped it after {after}, when {_left(story)}: {trace.stopped}"
    return Happened(
        event=_ending(trace.stopped),
        phase=story.phase(len(trace) - 1),
        time_s=float(trace.time_s[-1]),
        evidence=said,
    )


def _ending(stopped: str) -> Event:
    """What a guard's reason means; nothing was wrong but the time where there is none."""
    if not stopped:
        return Event.TIMEOUT
    pushed = "pushing" in stopped or "The hand is at" in stopped
    return Event.COLLISION if pushed else Event.STALL


def _left(story: Story) -> str:
    """How far it got."""
    trace = story.trace
    if story.holds and story.holds[-1].how == "kept":
        risen = 1000 * float(trace.moved[-1, 2])
        where = f", {risen:.0f} mm above where it lay" if risen > 8.0 else ", not raised"
        return f"the object was in the hand{where if trace.thing is not None else ''}"
    if story.handling is Handling.PUSH and trace.target is not None and trace.thing is not None:
        off = np.linalg.norm((trace.thing - trace.target)[:, :2], axis=1)
        return f"the object was {1000 * off[-1]:.0f} mm from its target, {_best(trace, off)}"
    if trace.aside is not None:
        return f"the hand was {1000 * trace.away[-1]:.0f} mm from the object, " + _best(
            trace, trace.away
        )
    if trace.hand is not None and trace.target is not None:
        off = np.linalg.norm(trace.hand - trace.target, axis=1)
        return f"the hand was {1000 * off[-1]:.0f} mm from its target, {_best(trace, off)}"
    return "no sensor says how far it got"


def _best(trace: Trace, off: np.ndarray) -> str:
    k = int(np.argmin(off))
    return f"{1000 * off[k]:.0f} mm at best (at {trace.time_s[k]:.2f} s)"
