"""Packets that were handed out twice: what they hold is older than the clock says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import JOINTS
from trueup.identify.answers import runs
from trueup.identify.faults.flaw import Flaw, Remedy
from trueup.identify.readings.lattice import steps_of
from trueup.identify.readings.stale import repeated_in

_OFTEN = 0.02  # of readings in motion: fewer move no fit
_QUICK = 4.0  # steps a reading: gears that stick and slip stand still for a moment, too
_CHANCE = 0.01  # how likely it may be that a reading is new and the same


def stale_flaws(episodes: Sequence[Episode]) -> list[list[Flaw]]:
    """For each episode, readings of all joints that are the ones before although joints move."""
    if not episodes:
        return []
    joints = [episode[JOINTS] for episode in episodes]
    stale = [_stale(channel, steps_of([channel])) for channel in joints]
    again, due = (sum(int(each[k].sum()) for each in stale) for k in (0, 1))
    if again <= _OFTEN * due:
        return [[] for _ in episodes]
    return [list(_said(channel, each[0])) for channel, each in zip(joints, stale, strict=True)]


def _stale(joints: Channel, quantum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m - 1,) whether a reading is the one before, and whether it could be told."""
    if len(joints) < 2:
        return np.zeros(0, bool), np.zeros(0, bool)
    repeated, alike, fast, _ = repeated_in(joints, quantum, _QUICK)
    return repeated & fast & (alike < _CHANCE), fast


def _said(joints: Channel, stale: np.ndarray) -> Iterator[Flaw]:
    for first, last in runs(stale):
        begin, end = (float(joints.time_s[row + 1]) for row in (first, last))
        yield Flaw(
            kind="stale",
            what=f"all joints read at {begin:.2f} s what they read before, although they move",
            remedy=Remedy.MASK,
            columns=joints.names,
            begin_s=begin - 1e-9,
            end_s=end + 1e-9,
        )
