"""Clocks that stand, leap, count in other units or change their pace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.identify.faults.flaw import Flaw, Remedy

_MOST_REPEATED = 0.5  # of all readings: more, and no clock is left
_OTHER_UNIT = 3.0  # times the period that was meant
_GAP_PERIODS = 5.5
_GAP_S = 0.2
_RECOVERY_S = 1.0  # after which a servo no longer shows what it was told before
_PACE = 0.1  # relative: a control loop that changes by more has changed
_PACE_ROWS = 25


def clock_flaws(episode: Episode) -> Iterator[Flaw]:
    """What is wrong with the times of commands and joint positions."""
    for name in (COMMAND, JOINTS):
        channel = episode[name]
        flaw = _other_unit(name, channel, episode.period_s) or _repeated(name, channel)
        if flaw is not None:
            yield flaw
        if flaw is None or flaw.remedy is not Remedy.LEAVE_OUT:
            yield from _gaps(name, channel, episode.period_s)
            yield from _paces(name, channel)


def _other_unit(name: str, channel: Channel, period_s: float) -> Flaw | None:
    steps = np.diff(channel.time_s)
    steps = steps[steps > 0]
    if not len(steps):
        return None
    ratio = float(np.median(steps)) / period_s
    if 1 / _OTHER_UNIT < ratio < _OTHER_UNIT:
        return None
    guess = next(
        (
            f": are these {unit}"
            for factor, unit in ((1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds"))
            if 0.5 < ratio / factor < 2.0
        ),
        "",
    )
    what = (
        f"its {name} comes every {ratio * period_s:.4g} s by its own clock, and every "
        f"{period_s:.4g} s was meant{guess}"
    )
    return Flaw(kind="clock", what=what, remedy=Remedy.LEAVE_OUT)


def _repeated(name: str, channel: Channel) -> Flaw | None:
    count = int((np.diff(channel.time_s) <= 0).sum())
    if not count:
        return None
    few = count < _MOST_REPEATED * len(channel)
    return Flaw(
        kind="clock",
        what=f"its {name} has two readings at one time, {count} of {len(channel)}",
        remedy=Remedy.MERGE if few else Remedy.LEAVE_OUT,
    )


def _gaps(name: str, channel: Channel, period_s: float) -> Iterator[Flaw]:
    """Times without any record. What a servo was told in one is unknown, and shows for a while."""
    steps = np.diff(channel.time_s)
    for row in np.flatnonzero(steps > max(_GAP_PERIODS * period_s, _GAP_S)):
        begin, end = float(channel.time_s[row]), float(channel.time_s[row + 1])
        if name == COMMAND:
            yield Flaw(
                kind="gap",
                what=f"no command is known from {begin:.2f} to {end:.2f} s, and the motion until "
                f"{_RECOVERY_S:g} s later depends on it",
                remedy=Remedy.MASK,
                begin_s=begin + 1e-9,
                end_s=end + _RECOVERY_S,
            )
        else:
            yield Flaw(
                kind="gap",
                what=f"no {name} was read from {begin:.2f} to {end:.2f} s",
                remedy=Remedy.NOTE,
                begin_s=begin,
                end_s=end,
            )


def _paces(name: str, channel: Channel) -> Iterator[Flaw]:
    """Where the time between readings changes for good."""
    steps = np.diff(channel.time_s)
    steps = steps[steps > 0]
    if len(steps) < 4 * _PACE_ROWS:
        return
    blocks = np.array_split(steps, len(steps) // _PACE_ROWS)
    paces = np.array([np.median(block) for block in blocks])
    k = _border(np.log(paces))
    before, after = float(np.median(paces[:k])), float(np.median(paces[k:]))
    if abs(after / before - 1.0) > _PACE:
        at = float(channel.time_s[min(sum(map(len, blocks[:k])), len(channel) - 1)])
        yield Flaw(
            kind="clock",
            what=f"its {name} comes every {1e3 * before:.4g} ms until {at:.2f} s, and every "
            f"{1e3 * after:.4g} ms from then on",
            remedy=Remedy.NOTE,
            begin_s=at,
        )


def _border(values: np.ndarray) -> int:
    """Where two constants fit best, by least squares: the first index of the second."""
    n = np.arange(1, len(values))
    sums = np.cumsum(values)
    means = sums[:-1] / n, (sums[-1] - sums[:-1]) / (len(values) - n)
    gain = n * (len(values) - n) * (means[1] - means[0]) ** 2
    inner = slice(1, -1) if len(gain) > 2 else slice(None)  # one block alone is no pace
    return int(gain[inner].argmax()) + 1 + (inner.start or 0)
