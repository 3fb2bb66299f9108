"""Episodes of another robot among those of one: other columns, another order, other limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.identify.answers import command_at
from trueup.identify.faults.flaw import Flaw, Remedy

_MOVES_RAD = 0.05
_FOLLOWS, _IGNORES = 0.95, 0.5  # correlations with another's commands, and with its own
_LAGS_S = (0.0, 0.06, 0.12, 0.18)
_BEYOND_RAD = 0.3  # outside of a joint's limits: more than a calibration is wrong by
_OFTEN = 0.05  # of all readings
_APART_RAD = 1.5  # between where a joint was here and where it was in all other episodes


def robot_flaws(
    episodes: Sequence[Episode], limits: Mapping[str, tuple[float, float]] | None
) -> list[list[Flaw]]:
    """For each episode, why it cannot be of the robot that most of them are of."""
    usual = {
        "columns": _most([episode[JOINTS].names for episode in episodes]),
        "robot": _most([episode.origin.get("robot") for episode in episodes]),
    }
    found = []
    for number, episode in enumerate(episodes):
        others = [e for k, e in enumerate(episodes) if k != number]
        flaws = [*_named(episode, usual), *_ordered(episode), *_limited(episode, limits or {})]
        found.append(flaws or list(_apart(episode, others)))
    return found


def _most(values: list) -> object:
    """What most episodes say; the first of them where none prevails."""
    told = [value for value in values if value is not None]
    return Counter(told).most_common(1)[0][0] if told else None


def _named(episode: Episode, usual: Mapping[str, object]) -> Iterator[Flaw]:
    columns, robot = episode[JOINTS].names, episode.origin.get("robot")
    if columns != usual["columns"] and isinstance(usual["columns"], tuple):
        yield Flaw(
            kind="robot",
            what=f"its joints are {', '.join(columns)}, and those of most are "
            f"{', '.join(usual['columns'])}: it is of another robot",
            remedy=Remedy.LEAVE_OUT,
        )
    elif robot is not None and robot != usual["robot"]:
        yield Flaw(
            kind="robot",
            what=f"it is of the robot {robot!r}, and most are of {usual['robot']!r}",
            remedy=Remedy.LEAVE_OUT,
        )


def _ordered(episode: Episode) -> Iterator[Flaw]:
    """Joints that follow the commands of another one, and ignore their own."""
    names = episode[JOINTS].names
    if set(names) - set(episode[COMMAND].names):
        return
    related = np.max([_related(episode, lag) for lag in _LAGS_S], axis=0)
    for k in range(len(names)):
        other = int(related[k].argmax())
        if related[k, other] > _FOLLOWS and related[k, k] < _IGNORES:
            yield Flaw(
                kind="robot",
                what=f"its {names[k]} follows the commands of {names[other]} and not "
                "its own: the columns are in another order",
                remedy=Remedy.LEAVE_OUT,
            )
            return


def _related(episode: Episode, lag_s: float) -> np.ndarray:
    """(joints, commands) correlations; 0 where one of the two hardly moves."""
    joints = episode[JOINTS]
    read = np.asarray(joints.values, float)
    told = command_at(episode, joints.time_s - lag_s)
    known = np.isfinite(read).all(axis=1) & np.isfinite(told).all(axis=1)
    if known.sum() < 20:
        return np.zeros((read.shape[1], told.shape[1]))
    read, told = read[known] - read[known].mean(axis=0), told[known] - told[known].mean(axis=0)
    moves = np.outer(np.ptp(read, axis=0) > _MOVES_RAD, np.ptp(told, axis=0) > _MOVES_RAD)
    sizes = np.outer(np.linalg.norm(read, axis=0), np.linalg.norm(told, axis=0))
    return np.where(moves, read.T @ told / np.maximum(sizes, 1e-12), 0.0)


def _limited(episode: Episode, limits: Mapping[str, tuple[float, float]]) -> Iterator[Flaw]:
    joints = episode[JOINTS]
    for name, values in zip(joints.names, np.asarray(joints.values, float).T, strict=True):
        if name not in limits:
            continue
        low, high = limits[name]
        first, last = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        out = (values < low - _BEYOND_RAD) | (values > high + _BEYOND_RAD)
        if out.mean() > _OFTEN:
            yield Flaw(
                kind="robot",
                what=f"its {name} goes from {first:.2f} to {last:.2f} rad and can only go from "
                f"{low:.2f} to {high:.2f}: another robot, or another zero",
                remedy=Remedy.LEAVE_OUT,
            )
            return


def _apart(episode: Episode, others: Sequence[Episode]) -> Iterator[Flaw]:
    """Joints that are where no other episode ever was: told, for it may be a new motion."""
    joints = episode[JOINTS]
    others = [e for e in others if e[JOINTS].names == joints.names]
    if len(others) < 2:
        return
    low = np.fmin.reduce([np.fmin.reduce(e[JOINTS].values, axis=0) for e in others])
    high = np.fmax.reduce([np.fmax.reduce(e[JOINTS].values, axis=0) for e in others])
    first, last = np.fmin.reduce(joints.values), np.fmax.reduce(joints.values)
    for k, name in enumerate(joints.names):
        off = float(np.fmax(first[k] - high[k], low[k] - last[k]))
        if off > _APART_RAD:
            yield Flaw(
                kind="robot",
                what=f"its {name} stays {off:.2f} rad away from where it is in all others: check "
                "that it is of the same robot, with the same zero",
                remedy=Remedy.NOTE,
                columns=(name,),
            )
