"""What became of the object: lost from the hand, let go, missed, or knocked away."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup.diagnose.failures.event import Event, Happened
from trueup.diagnose.failures.grasp import Closing, Hold
from trueup.diagnose.failures.phases import Handling, Phase, Story
from trueup.diagnose.failures.trace import Trace

_KNOCKED_M = 0.012
_AMONG_M = 0.015  # an object seen this close to the fingertips' middle is seen between them


def lost(story: Story) -> Iterator[Happened]:
    """Holds that ended before they should."""
    for hold in story.holds:
        if hold.how == "lost":
            yield _slip(story, hold)
        elif story.released(hold):
            yield _let_go(story, hold)


def _slip(story: Story, hold: Hold) -> Happened:
    trace = story.trace
    at = min(hold.slipped if hold.slipped is not None else hold.end, len(trace) - 1)
    phase = Phase.TRANSPORT if hold.carried is not None else Phase.CONTACT
    if trace.thing is None:
        return Happened(
            event=Event.SLIP,
            phase=phase,
            time_s=float(trace.time_s[at]),
            evidence=f"The jaw stood on something from {trace.time_s[hold.start]:.2f} s on and "
            f"closed further at {trace.time_s[at]:.2f} s: what it held was gone, though nothing "
            "told the jaw to open.",
        )
    pressed = float((trace.joint - trace.command)[hold.start : hold.end + 1, trace.jaw].max())
    risen = 1000 * float(trace.moved[hold.start : hold.end + 1, 2].max())
    where = f"raised {risen:.0f} mm" if risen > 8.0 else "not raised yet"
    gone, k = _gone(trace, at, hold.end)
    return Happened(
        event=Event.SLIP,
        phase=phase,
        time_s=float(trace.time_s[at]),
        evidence=f"Held from {trace.time_s[hold.start]:.2f} s ({where}, the jaw pressing "
        f"{pressed:.2f} rad beyond where it stood), the object began to move in the hand at "
        f"{trace.time_s[at]:.2f} s and was {1000 * gone:.0f} mm from its middle at "
        f"{trace.time_s[k]:.2f} s, though nothing told the jaw to open.",
    )


def _gone(trace: Trace, start: int, end: int) -> tuple[float, int]:
    """How far the object got from the hand shortly after it was lost, m, and when."""
    assert trace.aside is not None
    stop = min(end + trace.turns(0.3), len(trace) - 1) + 1
    away = np.linalg.norm(trace.aside[start:stop, 0], axis=1)
    return float(away.max()), start + int(away.argmax())


def _let_go(story: Story, hold: Hold) -> Happened:
    trace = story.trace
    if trace.thing is None:
        where = "while something was in it"
    elif trace.target is not None:
        off = np.linalg.norm((trace.thing[-1] - trace.target[-1])[:2])
        where = f"and the object ended {1000 * off:.0f} mm from its target"
    else:
        where = f"with the object {1000 * trace.moved[hold.end, 2]:.0f} mm above where it lay"
    return Happened(
        event=Event.MISS,
        phase=Phase.RELEASE,
        time_s=float(trace.time_s[hold.end]),
        evidence=f"The jaw was told to open at {trace.time_s[hold.end]:.2f} s, {where}.",
    )


def missed(story: Story) -> Iterator[Happened]:
    """Tries that closed on nothing."""
    shut = [c for c in story.closings if c.hold is None]
    for closing in shut[:1]:
        tries = f" It was the first of {len(shut)} such tries." if len(shut) > 1 else ""
        yield Happened(
            event=Event.MISS,
            phase=Phase.CONTACT,
            time_s=float(story.trace.time_s[closing.end]),
            evidence=f"The jaw shut on nothing at {story.trace.time_s[closing.end]:.2f} s; "
            f"{_beside(story.trace, closing)}.{tries}",
        )


def _beside(trace: Trace, closing: Closing) -> str:
    """Where the object was seen from the fingertips as they closed."""
    if trace.aside is None:
        return "where the object was is not known"
    x, y, z = (1000 * value for value in trace.aside[closing.end, 0])
    seen = f"{abs(x):.0f} mm across the jaw, {abs(y):.0f} mm beside and {abs(z):.0f} mm " + (
        "beyond" if z > 0 else "behind"
    )
    if closing.squeezed_m:
        out = f"{1000 * closing.squeezed_m:.0f} mm"
        return f"the object had been seen between the fingertips and moved {out} out of them"
    if np.linalg.norm(trace.aside[closing.end, 0]) < _AMONG_M:
        return (
            f"the object was seen between the fingertips ({seen}), so what is seen and where the "
            "joints say the hand is disagree"
        )
    return f"the object was seen {seen} the fingertips' middle"


def knocked(story: Story) -> Iterator[Happened]:
    """An object that moved before any try, and not from between the fingers."""
    trace = story.trace
    if story.handling is not Handling.GRASP or trace.thing is None or trace.aside is None:
        return
    last = min((_half_closed(trace, c) for c in story.closings), default=len(trace))
    outside = np.ones(len(trace), bool)
    if not story.closings:
        outside = np.linalg.norm(trace.aside[:, 0], axis=1) > _AMONG_M
    step = np.linalg.norm(np.diff(trace.thing, axis=0), axis=1)
    own = step > 2.0 * trace.noise_m + 0.001
    path = np.cumsum(np.where(outside[1:] & own & (trace.away[1:] < 0.08), step, 0.0))
    moved = np.linalg.norm(trace.moved[1:], axis=1)
    hit = np.flatnonzero((np.minimum(path, moved) > _KNOCKED_M + 3.0 * trace.noise_m)[:last])
    if len(hit):
        k = int(hit[0]) + 1
        most = 1000 * float(moved[:last].max())
        yield Happened(
            event=Event.COLLISION,
            phase=Phase.CONTACT if story.phases[k] else Phase.APPROACH,
            time_s=float(trace.time_s[k]),
            evidence=f"The object moved {most:.0f} mm before anything held it; at "
            f"{trace.time_s[k]:.2f} s it was {1000 * trace.away[k]:.0f} mm from the fingertips' "
            "middle.",
        )


def _half_closed(trace: Trace, closing: Closing) -> int:
    """When a jaw was well on its way to close: from then on it may push the object by that."""
    jaw = trace.joint[: closing.end + 1, trace.jaw]
    return int(np.flatnonzero(jaw <= jaw[closing.start] - 0.25 * (jaw[closing.start] - jaw[-1]))[0])
