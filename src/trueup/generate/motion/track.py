"""A recorded episode on the control clock of a world: what the hand did, and where things were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.generate.motion.senses import TARGET, Things
from trueup.worlds import World


@dataclass(frozen=True, kw_only=True)
class Track:
    """A demonstration on the control clock of a world.

    Attributes:
        q: (k, nu) where the servos were, rad.
        told: (k, nu) what they were told, rad.
        place: (k, 3) of the thing, m; none where it is not known.
        quat: (k, 4) its orientation.
        target: (k, 3) where it was to go; none where there is no such place.
    """

    q: np.ndarray
    told: np.ndarray
    place: np.ndarray | None
    quat: np.ndarray | None
    target: np.ndarray | None

    def __len__(self) -> int:
        return len(self.q)


def track(episode: Episode, world: World, things: Things) -> Track:
    """An episode brought to the control clock of a world: each row holds what was known then."""
    period_s = world.control_period_s
    clock = episode[COMMAND].time_s
    grid = clock[0] + period_s * np.arange(int((clock[-1] - clock[0]) / period_s + 1e-9) + 1)

    def at(name: str | None) -> np.ndarray | None:
        channel = episode.signals.get(name) if name else None
        if channel is None:
            return None
        columns = channel.values.astype(float).T
        return np.stack([np.interp(grid, channel.time_s, column) for column in columns], axis=-1)

    q, told = at(JOINTS), at(COMMAND)
    assert q is not None and told is not None
    thing = things.thing
    quat = at(f"{thing}_orientation" if thing else None)
    return Track(
        q=q,
        told=told,
        place=at(f"{thing}_position" if thing else None),
        quat=None if quat is None else _whole_turns(episode, f"{thing}_orientation", grid),
        target=at(TARGET if things.target else None),
    )


def _whole_turns(episode: Episode, name: str, grid: np.ndarray) -> np.ndarray:
    """Orientations at the last reading before each moment: they are not to be mixed."""
    channel = episode[name]
    rows = np.maximum(np.searchsorted(channel.time_s, grid, side="right") - 1, 0)
    return channel.values[rows].astype(float)
