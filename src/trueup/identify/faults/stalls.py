"""Joints that do not do what they are told: at a stop, held, without torque, or misread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.identify.answers import command_at, filled, runs
from trueup.identify.faults.flaw import Flaw, Remedy

_REST_S = 0.4
_REST_RAD = 0.01  # a joint that stays within this is at rest
_LEAST_S = 0.3
_LEAST_RAD = 0.15  # no servo that may move rests so far from where it was told to be
_TIMES_USUAL = 3.0  # what a joint droops by when nothing is in its way
_AFTER_S = 0.2
_TOLD_RAD = 0.05
_FROZEN = 0.05  # of the way that a joint was told to go
_SPIKE_RAD = 0.3  # out and back within one reading


def stall_flaws(episodes: Sequence[Episode]) -> list[list[Flaw]]:
    """For each episode, where its joints stand still although they are told to go elsewhere."""
    usual = _usual_rest(episodes)
    found = []
    for episode in episodes:
        flaws = list(_frozen(episode))
        frozen = {name for flaw in flaws for name in flaw.columns}
        for k, name in enumerate(episode[JOINTS].names):
            if name not in frozen and name in episode[COMMAND].names:
                flaws += _stalled(episode, k, usual.get(name, 0.0))
        found.append(flaws)
    return found


def spike_flaws(episode: Episode) -> Iterator[Flaw]:
    """Single readings far from both their neighbours: no joint is that fast."""
    joints = episode[JOINTS]
    for name, values in zip(joints.names, np.asarray(joints.values, float).T, strict=True):
        out, back = values[1:-1] - values[:-2], values[2:] - values[1:-1]
        with np.errstate(invalid="ignore"):
            apart = (np.abs(out) > _SPIKE_RAD) & (np.abs(back) > _SPIKE_RAD) & (out * back < 0)
            apart &= np.abs(values[2:] - values[:-2]) < _SPIKE_RAD
        for row in np.flatnonzero(apart) + 1:
            at = float(joints.time_s[row])
            yield Flaw(
                kind="spike",
                what=f"{name} reads {values[row]:.3g} rad at {at:.2f} s, between "
                f"{values[row - 1]:.3g} and {values[row + 1]:.3g}",
                remedy=Remedy.MASK,
                columns=(name,),
                begin_s=at - 1e-9,
                end_s=at + 1e-9,
                where=float(values[row]),
            )


def _frozen(episode: Episode) -> Iterator[Flaw]:
    joints = episode[JOINTS]
    told = command_at(episode, joints.time_s)
    for k, name in enumerate(joints.names):
        values = np.asarray(joints.values[:, k], float)
        if not np.isfinite(values).any() or not np.isfinite(told[:, k]).any():
            continue
        asked, done = np.ptp(told[:, k]), np.nanmax(values) - np.nanmin(values)
        if asked > _TOLD_RAD and done < _FROZEN * asked:
            yield Flaw(
                kind="motion",
                what=f"{name} was told to move by {asked:.2f} rad and never did: the channel is "
                "frozen, or torque was off",
                remedy=Remedy.MASK,
                columns=(name,),
            )


def _stalled(episode: Episode, k: int, usual: float) -> Iterator[Flaw]:
    """All stalls of a joint near one angle as one flaw each, and the times to mask."""
    joints, name = episode[JOINTS], episode[JOINTS].names[k]
    time_s, values = joints.time_s, filled(joints.values[:, k])
    told = command_at(episode, time_s)[:, k]
    rest = resting(values, _rows(_REST_S, episode.period_s))
    apart = np.abs(told - values)
    unusual = apart > _TIMES_USUAL * usual
    stuck = rest & (apart > _LEAST_RAD) & (unusual | (_gone_on(told, rest) > _LEAST_RAD))
    for first, last in runs(stuck):
        if time_s[last] - time_s[first] < _LEAST_S:
            continue
        begin, end = _whole_rest(rest, first, last)
        where = float(np.median(values[first : last + 1]))
        furthest = told[first + int(np.abs(told[first : last + 1] - where).argmax())]
        yield Flaw(
            kind="stall",
            what=f"{name} stands still near {where:.2f} rad from {time_s[begin]:.1f} to "
            f"{time_s[end]:.1f} s while it is told to go on to {furthest:.2f} rad: it is at a "
            "stop, or something is in its way",
            remedy=Remedy.MASK,
            columns=(name,),
            begin_s=float(time_s[begin]),
            end_s=float(time_s[end]) + _AFTER_S,
            where=where,
        )


def _gone_on(told: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """(m,) how far a command has gone since the joint came to rest; 0 where it is not."""
    gone = np.zeros(len(told))
    for first, last in runs(rest):
        gone[first : last + 1] = np.abs(told[first : last + 1] - told[first])
    return gone


def _usual_rest(episodes: Sequence[Episode]) -> dict[str, float]:
    """How far each joint rests from a command that rests too, over all episodes: its droop."""
    apart: dict[str, list[np.ndarray]] = {}
    for episode in episodes:
        joints = episode[JOINTS]
        told = command_at(episode, joints.time_s)
        for k, name in enumerate(joints.names):
            values = filled(joints.values[:, k])
            rows = _rows(_REST_S, episode.period_s)
            rest = resting(values, rows) & resting(filled(told[:, k]), rows)
            apart.setdefault(name, []).append(np.abs(told[:, k] - values)[rest])
    medians = {name: np.concatenate(parts) for name, parts in apart.items()}
    return {name: float(np.nanmedian(x)) for name, x in medians.items() if np.isfinite(x).any()}


def resting(values: np.ndarray, rows: int) -> np.ndarray:
    """(m,) whether a reading is part of any so many in a row that stay within a hair."""
    if len(values) < rows:
        return np.zeros(len(values), bool)
    still = maximum_filter1d(values, rows) - minimum_filter1d(values, rows) < _REST_RAD
    return maximum_filter1d(still.astype(np.uint8), rows).astype(bool)


def _whole_rest(rest: np.ndarray, first: int, last: int) -> tuple[int, int]:
    """A stall begins where the joint came to rest, and ends where it leaves."""
    moving = np.flatnonzero(~rest)
    before, after = moving[moving < first], moving[moving > last]
    return (int(before[-1]) + 1 if len(before) else 0), (
        int(after[0]) - 1 if len(after) else len(rest) - 1
    )


def _rows(seconds: float, period_s: float) -> int:
    return max(5, round(seconds / period_s))
