"""Recordings before a fit: what can be used, what is kept out to judge, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.errors import TrueupError

_HELD = 3  # one episode of so many is kept out
_HELD_SHARE = 0.3  # of a single episode: its end
_MOVES_RAD = 0.02
_LARGEST_RAD = 20.0  # a joint angle beyond this is in degrees or ticks
_SHORTEST_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Split:
    """Recordings for a fit and for judging it.

    Attributes:
        fitted: To fit.
        held: To judge.
        notes: What was left out, and why, in sentences.
    """

    fitted: tuple[Episode, ...]
    held: tuple[Episode, ...]
    notes: tuple[str, ...]


def usable(episodes: Sequence[Episode]) -> Split:
    """Leave out what would spoil a fit, and part the rest."""
    notes: list[str] = []
    kept = []
    for number, episode in enumerate(episodes):
        reasons = list(_faults(episode))
        if reasons:
            notes.append(f"Episode {number} was left out: {reasons[0]}.")
        else:
            kept.append(episode)
    if not kept:
        raise TrueupError(
            "None of the recordings can be fitted. " + " ".join(notes[:3]),
            fix="Record motions that move every joint by at least a few degrees: trueup record.",
        )
    if len(kept) == 1:
        fitted, held = _parted(kept[0])
        notes.append(
            f"There is one recording: the last {100 * _HELD_SHARE:.0f} % of it judge the fit."
        )
        return Split(fitted=(fitted,), held=(held,), notes=tuple(notes))
    judges = set(range(_HELD - 1, len(kept), _HELD)) or {len(kept) - 1}
    return Split(
        fitted=tuple(episode for i, episode in enumerate(kept) if i not in judges),
        held=tuple(kept[i] for i in sorted(judges)),
        notes=tuple(notes),
    )


def _faults(episode: Episode) -> Iterator[str]:
    """Why an episode cannot be fitted."""
    for name in ("command", "joint_position"):
        if name not in episode.signals:
            yield f"it has no {name}, only {', '.join(episode.signals)}"
            return
    command, joints = episode["command"], episode["joint_position"]
    for name, channel in (("command", command), ("joint_position", joints)):
        if channel.unit == "rad" and np.nanmax(np.abs(channel.values), initial=0.0) > _LARGEST_RAD:
            yield (
                f"its {name} reaches {np.nanmax(np.abs(channel.values)):.4g} rad, which no joint "
                "does: are these degrees, or ticks"
            )
        if not np.isfinite(channel.values).any():
            yield f"its {name} holds no numbers"
        elif (np.diff(channel.time_s) <= 0).any():
            yield f"its {name} has two readings at one time"
    if episode.duration_s < _SHORTEST_S:
        yield f"it lasts {episode.duration_s:.2g} s, less than {_SHORTEST_S:g} s"
    if np.nanmax(np.ptp(command.values, axis=0), initial=0.0) < _MOVES_RAD:
        yield "its commands do not change"
    elif np.nanmax(np.ptp(joints.values, axis=0), initial=0.0) == 0.0:
        yield "its joints never move: the channel is frozen, or torque was off"


def _parted(episode: Episode) -> tuple[Episode, Episode]:
    """The first part of an episode, and the rest."""
    first = min(channel.time_s[0] for channel in episode.signals.values())
    border = first + (1.0 - _HELD_SHARE) * episode.duration_s
    return _between(episode, -np.inf, border), _between(episode, border, np.inf)


def _between(episode: Episode, begin_s: float, end_s: float) -> Episode:
    return replace(
        episode,
        signals={name: _cut(channel, begin_s, end_s) for name, channel in episode.signals.items()},
        videos={},
    )


def _cut(channel: Channel, begin_s: float, end_s: float) -> Channel:
    rows = (channel.time_s >= begin_s) & (channel.time_s < end_s)
    return replace(channel, values=channel.values[rows], time_s=channel.time_s[rows])
