"""Parts of episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueup.episodes import Channel, Episode


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


def _cut(channel: Channel, begin_s: float, end_s: float) -> Channel:
    rows = (channel.time_s >= begin_s) & (channel.time_s < end_s)
    return replace(channel, values=channel.values[rows], time_s=channel.time_s[rows])
