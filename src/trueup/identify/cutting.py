"""Parts of episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import JOINTS, SPEEDS
from trueup.identify.answers import filled

_BEGIN = 3  # readings that say where joints are, and how fast
_APART_S = 1.0  # between parts that are looked at
_SMOOTH = 10  # readings over which a speed is taken
_PLACE_RAD = 0.1
_SLOWEST = 0.05  # rad/s; above it places are told apart by speed, twofold after twofold
_BEGINNING_S = 0.2
_MORE = 1.5  # times as much as the beginning: recordings begin at rest, which is a better start


def between(episode: Episode, begin_s: float, end_s: float) -> Episode:
    """What was recorded from one moment to another, by the episode's clock."""
    return replace(
        episode,
        signals={name: _cut(channel, begin_s, end_s) for name, channel in episode.signals.items()},
        videos={},
    )


def shortened(episode: Episode, longest_s: float) -> Episode:
    """The first part of an episode."""
    first = min(channel.time_s[0] for channel in episode.signals.values())
    return between(episode, -np.inf, first + longest_s)


def settled(episode: Episode, after_s: float, *, driven: bool = False) -> Episode:
    """An episode whose joints are not looked at before so long, but for where they begin.

    Commands that were given before a recording began still act in it where a person answers late,
    and no replay knows them.

    Args:
        episode: What was recorded.
        after_s: What comes later is looked at.
        driven: Whether joints may be on their way at the beginning, led by such a command. The
            first reading alone says where they are then, if how fast they go was read as well: a
            replay goes otherwise from there on.
    """
    joints = episode[JOINTS]
    values = np.array(joints.values, float)
    early = joints.time_s < joints.time_s[0] + after_s
    early[: 1 if driven and SPEEDS in episode.signals else _BEGIN] = False
    values[early] = np.nan
    return replace(episode, signals={**episode.signals, JOINTS: replace(joints, values=values)})


def liveliest(episode: Episode, longest_s: float) -> Episode:
    """The part of an episode that tells most: where joints are in most places at most speeds.

    A sweep begins slowly, and an arm that tries one joint after the other rests all but the first.
    """
    if JOINTS not in episode.signals or episode.duration_s <= longest_s:
        return shortened(episode, longest_s)
    joints = episode[JOINTS]
    values = np.stack([filled(column) for column in joints.values.T], axis=1)
    speed = _speed(values, joints.time_s)
    visited = _visited(values, speed)
    first, last = joints.time_s[0], joints.time_s[-1] - longest_s
    begins = np.arange(first, last + _APART_S, _APART_S).clip(first, last)
    counts = np.array(
        [
            len(np.unique(visited[(joints.time_s >= b) & (joints.time_s < b + longest_s)]))
            for b in begins
        ]
    )
    best = int(counts.argmax())
    if counts[best] <= _MORE * counts[0]:
        return shortened(episode, longest_s)
    near = np.abs(joints.time_s - begins[best]) <= 0.5 * _APART_S
    at = int(np.abs(speed[near]).sum(axis=1).argmin())
    begin = float(joints.time_s[near][at])  # the nearest to rest
    return between(episode, begin, begin + longest_s)


def after(episode: Episode, begin_s: float, longest_s: float) -> Episode:
    """The first part of an episode, of which only what comes after some seconds was read.

    A replay has to begin where the recording does, as at rest; the first readings stay for that.
    """
    part = shortened(episode, longest_s)
    joints = part[JOINTS]
    age_s = joints.time_s - joints.time_s[0]
    unread = (age_s > _BEGINNING_S) & (age_s < begin_s)
    values = np.where(unread[:, None], np.nan, np.asarray(joints.values, float))
    return replace(part, signals={**part.signals, JOINTS: replace(joints, values=values)})


def _speed(values: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """(m, size) over a few readings, as one alone is too coarse."""
    rows = np.arange(len(values))
    ahead, behind = np.minimum(rows + _SMOOTH, len(rows) - 1), np.maximum(rows - _SMOOTH, 0)
    lasted = np.maximum(time_s[ahead] - time_s[behind], 1e-6)
    return (values[ahead] - values[behind]) / lasted[:, None]


def _visited(values: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """(m, size) a number for where each joint is and how fast it goes."""
    twofold = np.ceil(np.log2(np.maximum(np.abs(speed) / _SLOWEST, 1.0)))
    fast = (np.sign(speed) * twofold).astype(int)
    place = np.floor(values / _PLACE_RAD).astype(int)
    joint = np.arange(values.shape[1])
    return (joint * 10_000 + place) * 100 + fast


def _cut(channel: Channel, begin_s: float, end_s: float) -> Channel:
    rows = (channel.time_s >= begin_s) & (channel.time_s < end_s)
    return replace(channel, values=channel.values[rows], time_s=channel.time_s[rows])
