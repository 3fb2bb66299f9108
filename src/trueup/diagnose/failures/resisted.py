"""Joints that did not go where they were told: against something, or of themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.diagnose.failures.trace import Trace
from trueup.diagnose.failures.tracking import runs

_SHORTEST_S = 0.6  # fingers press on a table for half a second in many a good grasp
_OFF_RAD = 0.12
_STILL_RAD = 0.02  # over a tenth of a second
_HARD = 0.6  # of a servo's force: something resists
_IDLE = 0.15  # of a servo's force: it does not even try
_LOW_M, _AT_M = 0.03, 0.05  # above where the object lay; from the object


@dataclass(frozen=True, kw_only=True)
class Resisted:
    """A joint that stood still away from its command.

    Attributes:
        joint: Which, by column.
        start: First reading, by index.
        lasted_s: How long.
        error_rad: How far from its command, in the median.
        load: Share of its force, in the median; none where no load is recorded.
        against: Whether something was there to push against: hard, and at the object or low down.
        ignored: Whether its command moved on and it did not, or it did not even try.
        stopped: Whether a guard stopped the robot for it.
    """

    joint: int
    start: int
    lasted_s: float
    error_rad: float
    load: float | None
    against: bool
    ignored: bool
    stopped: bool


def resisted(trace: Trace) -> list[Resisted]:
    """Stretches in which a joint other than the gripper stood still away from its command."""
    off = np.abs(trace.command - trace.joint)
    turns = min(trace.turns(0.1), len(trace) - 1)
    still = np.zeros(off.shape, bool)
    still[turns:] = np.abs(trace.joint[turns:] - trace.joint[:-turns]) < _STILL_RAD
    still[trace.stale] = False
    found = []
    for joint in range(off.shape[1]):
        for start, end in runs(still[:, joint] & (off[:, joint] > _OFF_RAD)):
            one = _resisted(trace, joint, max(start - turns, 0), end, off[:, joint])
            least = 0.5 * _SHORTEST_S if one.stopped else _SHORTEST_S
            if joint != trace.jaw and one.lasted_s >= least and (one.against or one.ignored):
                found.append(one)
    return found


def _resisted(trace: Trace, joint: int, start: int, end: int, off: np.ndarray) -> Resisted:
    load = None if trace.load is None else float(np.median(trace.load[start:end, joint]))
    pushed = "pushing" in trace.stopped and repr(trace.names[joint]) in trace.stopped
    last = min(end, len(trace) - 1)
    told, went = (np.ptp(v[start:end, joint]) for v in (trace.command, trace.joint))
    idle = load is not None and load < _IDLE
    return Resisted(
        joint=joint,
        start=start,
        lasted_s=float(trace.time_s[last] - trace.time_s[start]),
        error_rad=float(np.median(off[start:end])),
        load=load,
        against=(load is not None and load > _HARD) and _at_something(trace, start, end),
        ignored=bool(told > _OFF_RAD and went < 0.25 * told) or idle,
        stopped=pushed and end >= len(trace) - trace.turns(0.2),
    )


def _at_something(trace: Trace, start: int, end: int) -> bool:
    """Whether the hand was at the object, or as low as what the object lay on."""
    if trace.hand is None:
        return True
    low = np.median(trace.hand[start:end, 2])
    ground = 0.0 if trace.thing is None else float(np.median(trace.thing[:3, 2]))
    near = np.median(trace.away[start:end])
    return bool(low < ground + _LOW_M or near < _AT_M)
