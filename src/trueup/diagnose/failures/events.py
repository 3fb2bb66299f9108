"""What went wrong in an episode: events, each with its evidence as a sentence with numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup.diagnose.failures.event import Event, Happened
from trueup.diagnose.failures.goals import arrived, escaped, time_up
from trueup.diagnose.failures.objects import knocked, lost, missed
from trueup.diagnose.failures.phases import Phase, Story
from trueup.diagnose.failures.resisted import Resisted, resisted
from trueup.diagnose.failures.trace import Trace

_EXPLAINS_S = 0.8  # a knock this shortly before a miss is why it missed
_LASTING = 0.25  # of the time before: what went on this long comes first


def happened(story: Story) -> list[Happened]:
    """Everything that went wrong, in order of time; the end of the time is the last of them."""
    found = [
        *lost(story),
        *missed(story),
        *knocked(story),
        *_pushing(story),
        *_unseen(story),
        *arrived(story),
        *escaped(story),
    ]
    return [*sorted(found, key=lambda h: h.time_s), time_up(story)]


def main_event(story: Story, found: list[Happened]) -> Happened:
    """The one that a failed episode is told by.

    Of the furthest phase in which the object was lost, missed or knocked, the first such event;
    none where the object was in the hand at the end, for then time was all that lacked. What
    explains it comes in its place: a loss of sight or a stall that went on for a quarter of the
    time before, a knock just before a miss, a hand that pushed until the time was up.
    """
    *events, end = found
    sudden = [h for h in events if h.lasted_s == 0.0]
    depth = {phase: k for k, phase in enumerate(Phase)}
    if story.trace.target is None:
        depth[Phase.RELEASE] = depth[Phase.TRANSPORT]  # nowhere to let go: it was to be kept
    deepest = max((depth[h.phase] for h in sudden), default=0)
    kept = [h for h in story.holds[-1:] if h.how == "kept"]
    shallow = deepest < depth[Phase.TRANSPORT]
    if not sudden or any(hold.carried is not None or shallow for hold in kept):
        return _explained(end, events, last=True)
    return _explained(next(h for h in sudden if depth[h.phase] == deepest), events)


def _explained(main: Happened, events: list[Happened], *, last: bool = False) -> Happened:
    before = [h for h in events if h.time_s <= main.time_s and h is not main]
    lasting = (Event.TRACKING_LOSS, Event.STALL)
    lasting += (Event.COLLISION,) if last else ()
    for event in lasting:
        long = [h for h in before if h.event is event and h.lasted_s]
        if sum(h.lasted_s for h in long) >= _LASTING * max(main.time_s, 1.0):
            return max(long, key=lambda h: h.lasted_s)
    if main.event is Event.MISS and main.phase is Phase.CONTACT:
        knocks = [h for h in before if h.event is Event.COLLISION and h.lasted_s == 0.0]
        just = [h for h in knocks if main.time_s - h.time_s <= _EXPLAINS_S]
        return just[-1] if just else main
    return main


# ------------------------------------------------------------------------------------------------


def _pushing(story: Story) -> Iterator[Happened]:
    """Joints that did not follow: against something, or of themselves."""
    for found in resisted(story.trace):
        yield Happened(
            event=Event.COLLISION if found.against else Event.STALL,
            phase=story.phase(found.start),
            time_s=float(story.trace.time_s[found.start]),
            evidence=_resistance(story.trace, found),
            lasted_s=found.lasted_s,
        )


def _resistance(trace: Trace, found: Resisted) -> str:
    name, off = trace.names[found.joint], f"{found.error_rad:.2f} rad"
    what = (
        f"{name!r} stood still for {found.lasted_s:.2f} s, {off} from its command, from "
        f"{trace.time_s[found.start]:.2f} s on"
    )
    load = "" if found.load is None else f" with {100 * found.load:.0f} % of its force"
    where = ", while the hand was at the object or the table" if found.against else ""
    guard = f" The guard stopped it: {trace.stopped}" if found.stopped else ""
    return f"{what}{load}{where}.{guard}"


def _unseen(story: Story) -> Iterator[Happened]:
    """Stretches in which the object was not really seen."""
    trace = story.trace
    for loss in trace.losses:
        k = min(int(np.searchsorted(trace.time_s, loss.start_s)), len(trace) - 1)
        yield Happened(
            event=Event.TRACKING_LOSS,
            phase=story.phase(k),
            time_s=loss.start_s,
            evidence=f"From {loss.start_s:.2f} s on {loss}.",
            lasted_s=loss.end_s - loss.start_s,
        )
