"""What the jaw and the object say together: when something was held, and how each hold ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueup.diagnose.failures.trace import Trace
from trueup.diagnose.failures.tracking import runs

_PRESSED_RAD = 0.04  # of the command beyond the jaw: it wants to close further than it can
_STILL_RAD = 0.02  # a jaw that moves less over `_FIRM_S` stands on something
_FIRM_S = 0.12
_REACH_M = 0.045  # from the fingertips' middle: nothing that is held is further
_BETWEEN_M = 0.022  # where an object is seen that is between the fingers, though it never moved
_AMONG_M = 0.01  # and one that fingers close around
RISEN_M = 0.008
_CARRIED_M = 0.01
_FELT_CARRIED_M = 0.03  # where no object is tracked: as far as no hand moves while it squeezes
_WIDE_RAD = 0.08
_SLIPPED_M = 0.008  # in the hand; the noise of the tracker comes on top
_MEANT_M = 0.1  # from the object: a jaw that shuts further off was not meant to grasp it
_CLOSED_RAD = 0.15  # how far a jaw must close to have tried
_OPENS_RAD = 0.02

End = Literal["kept", "let go", "lost"]


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A stretch in which the hand held the object; times are indices of readings.

    Attributes:
        start: First reading.
        end: Last reading.
        carried: First reading at which it had moved with the hand; none where it never did.
        slipped: First reading at which it had moved in the hand; none where it did not.
        jaw: Where the jaw stood.
        how: Kept until the end of the episode, let go by command, or lost.
    """

    start: int
    end: int
    carried: int | None
    slipped: int | None
    jaw: float
    how: End


@dataclass(frozen=True, kw_only=True)
class Closing:
    """A try: the jaw closed by a good part; times are indices of readings.

    Attributes:
        start: When it began to close.
        end: When it was shut, or stopped.
        hold: The hold that came of it; none where it closed on nothing.
        squeezed_m: How far the object was pressed out from between the fingers; 0 where it was
            not there, or stayed.
    """

    start: int
    end: int
    hold: Hold | None
    squeezed_m: float = 0.0


def holds(trace: Trace) -> list[Hold]:
    """Every time something was in the hand, from the jaw, the object and the hand alone.

    Where no object is tracked, the jaw alone must tell: it stands on something, wide of shut.
    """
    if trace.jaw is None:
        return []
    if trace.aside is None:
        wide = trace.joint[:, trace.jaw] > trace.shut + _WIDE_RAD
        firm = runs(_bridged(blocked(trace) & wide, trace.turns(0.08)))
        return [_felt(trace, a, b - 1) for a, b in firm if b - a >= trace.turns(_FIRM_S)]
    near = trace.away < _REACH_M + 2.0 * trace.noise_m
    opens = (trace.command - trace.joint)[:, trace.jaw] > _OPENS_RAD
    risen = trace.moved[:, 2] > RISEN_M + 3.0 * trace.noise_m
    firm = near & blocked(trace)
    held = _bridged(firm | (near & risen & ~opens), trace.turns(0.08))
    found = []
    for start, end in runs(held):
        sure = firm[start:end].sum() >= trace.turns(_FIRM_S) or (
            risen[start:end].sum() >= trace.turns(2 * _FIRM_S)
        )
        hold = _hold(trace, int(start), int(end) - 1, risen) if sure else None
        if hold is not None:
            found.append(hold)
    return found


def closings(trace: Trace, found: list[Hold], shut: float) -> list[Closing]:
    """Every try to grasp, in order of time: those that took hold, and those that shut on nothing.

    A jaw that stops halfway and opens again has not tried, nor one that shuts far from the object.

    Args:
        trace: The episode.
        found: Its holds.
        shut: A jaw below this has nothing in it.
    """
    if trace.jaw is None:
        return []
    jaw = trace.joint[:, trace.jaw]
    made = [Closing(start=_began(jaw, h.start), end=h.start, hold=h) for h in found]
    for k in 1 + np.flatnonzero((jaw[1:] < shut) & (jaw[:-1] >= shut)):
        start = _began(jaw, int(k))
        after_a_hold = any(start <= h.end <= k for h in found)
        there = trace.aside is None or trace.away[k] < _MEANT_M
        meant = there and jaw[start] - jaw[k] >= _CLOSED_RAD
        if meant and not after_a_hold:
            out = _squeezed(trace, start, int(k))
            made.append(Closing(start=start, end=int(k), hold=None, squeezed_m=out))
    return sorted(made, key=lambda closing: closing.end)


def _squeezed(trace: Trace, start: int, end: int) -> float:
    """How far an object that was between the fingers left them, along the pads, as they closed."""
    if trace.aside is None:
        return 0.0
    last = min(end + trace.turns(0.2), len(trace) - 1)
    aside, moved = trace.aside[start : last + 1, 0], trace.moved[start : last + 1]
    among = np.flatnonzero(np.linalg.norm(aside[: end + 1 - start], axis=1) < _AMONG_M)
    if not len(among):
        return 0.0
    k = int(among[-1])
    out = np.linalg.norm(aside[k:, 1:] - aside[k, 1:], axis=1).max()
    went = np.linalg.norm(moved[k:] - moved[k], axis=1).max()
    far = float(min(out, went))
    return far if far > _SLIPPED_M + 3.0 * trace.noise_m else 0.0


def blocked(trace: Trace) -> np.ndarray:
    """(k,) whether the jaw wants to close further and stands still all the same."""
    assert trace.jaw is not None
    jaw, command = trace.joint[:, trace.jaw], trace.command[:, trace.jaw]
    turns = min(trace.turns(_FIRM_S), len(jaw))
    windows = np.lib.stride_tricks.sliding_window_view
    quiet = np.ptp(windows(jaw, turns), axis=1) < _STILL_RAD
    quiet &= ~windows(trace.stale, turns).any(axis=1)
    still = np.zeros(len(jaw), bool)
    for k in range(turns):  # every reading of a stretch that is quiet
        still[k : k + len(quiet)] |= quiet
    return still & ~trace.stale & (jaw - command > _PRESSED_RAD) & _closed(jaw)


def _closed(jaw: np.ndarray) -> np.ndarray:
    """(k,) whether it has closed by some way since it was last wide open.

    A command reaches the jaw late, and a stiff one starts late: that alone is no resistance.
    """
    closed, widest = np.zeros(len(jaw), bool), float(jaw[0])
    narrowest = widest
    for k, at in enumerate(jaw):
        narrowest = min(narrowest, at)
        if at > narrowest + _CLOSED_RAD:  # it opened again
            widest = narrowest = float(at)
        widest = max(widest, at)
        closed[k] = at < widest - 0.5 * _CLOSED_RAD
    return closed


def _began(jaw: np.ndarray, end: int) -> int:
    """When a jaw began to close that is closed at a reading: where it was widest before."""
    widest = end
    for k in range(end, -1, -1):
        if jaw[k] < jaw[widest] - _OPENS_RAD:
            break
        widest = k if jaw[k] > jaw[widest] else widest
    return widest


def _hold(trace: Trace, start: int, end: int, risen: np.ndarray) -> Hold | None:
    """A hold between two readings; none where the jaw stood on something else."""
    assert trace.aside is not None and trace.jaw is not None
    carried = _carried(trace, start, end, risen)
    if carried is None and trace.away[start : end + 1].min() > _BETWEEN_M + 2.0 * trace.noise_m:
        return None
    last = min(end + trace.turns(0.2), len(trace) - 1)
    first = trace.aside[start : start + trace.turns(_FIRM_S)]
    reference = np.median(first[:, 0], axis=0)
    shift = np.linalg.norm(trace.aside[start : last + 1] - reference, axis=2).min(axis=1)
    off = np.flatnonzero(shift > _SLIPPED_M + 3.0 * trace.noise_m)
    if carried is None and len(off) and off[0] < trace.turns(_FIRM_S):
        return None  # it was never firm
    return Hold(
        start=start,
        end=end,
        carried=carried,
        slipped=start + int(off[0]) if len(off) else None,
        jaw=float(np.median(trace.joint[start : end + 1, trace.jaw])),
        how=_ended(trace, start, end, start + int(off[0]) if len(off) else end),
    )


def _felt(trace: Trace, start: int, end: int) -> Hold:
    """A hold of something that is not tracked: carried, where the hand moved on with it."""
    path = np.zeros((end + 1 - start, 3)) if trace.hand is None else trace.hand[start : end + 1]
    on = np.flatnonzero(np.linalg.norm(path - path[0], axis=1) > _FELT_CARRIED_M)
    return Hold(
        start=start,
        end=end,
        carried=start + int(on[0]) if len(on) else None,
        slipped=None,
        jaw=float(np.median(trace.joint[start : end + 1, trace.jaw])),
        how=_ended(trace, start, end, end),
    )


def _carried(trace: Trace, start: int, end: int, risen: np.ndarray) -> int | None:
    assert trace.thing is not None and trace.hand is not None
    least = _CARRIED_M + 3.0 * trace.noise_m
    thing = trace.thing[start : end + 1] - trace.thing[start]
    moved = np.linalg.norm(thing, axis=1) > least
    along = np.zeros(len(thing), bool)
    for lag in range(trace.turns(0.2)):
        rows = np.maximum(np.arange(start, end + 1) - lag, 0)
        hand = trace.hand[rows] - trace.hand[start]
        along |= np.linalg.norm(thing - hand, axis=1) < 0.5 * np.linalg.norm(hand, axis=1)
    with_hand = np.flatnonzero((moved & along) | risen[start : end + 1])
    return start + int(with_hand[0]) if len(with_hand) else None


def _ended(trace: Trace, start: int, end: int, slipped: int) -> End:
    """How a hold ended: by which way the jaw first went from where it had stood."""
    if end >= len(trace) - 2:
        return "kept"
    jaw, command = trace.joint[:, trace.jaw], trace.command[:, trace.jaw]
    stood = float(np.median(jaw[start : max(min(slipped, end), start + 1) + 1]))
    for k in range(max(start, min(slipped, end) - 2), min(end + trace.turns(0.12), len(trace))):
        if jaw[k] < stood - 1.5 * _OPENS_RAD:
            return "lost"
        if jaw[k] > stood + _OPENS_RAD:
            return "let go"
    around = slice(max(start, end - 1), end + trace.turns(0.12))
    opens = (command[around] - jaw[around] > 0.0).sum() >= 2
    return "let go" if opens or trace.aside is None else "lost"


def _bridged(mask: np.ndarray, turns: int) -> np.ndarray:
    """The same with gaps of a few readings closed."""
    closed = mask.copy()
    for start, end in runs(~mask):
        if start > 0 and end < len(mask) and end - start <= turns:
            closed[start:end] = True
    return closed
