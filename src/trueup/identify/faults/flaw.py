"""One thing that is wrong with a recording, and what is done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND


class Remedy(StrEnum):
    """What is done about a flaw."""

    LEAVE_OUT = "leave out"
    """The whole episode."""
    MASK = "mask"
    """Readings of some columns, for some time: they become NaN, which no fit looks at."""
    MERGE = "merge"
    """Readings that repeat a time: the first of each stays."""
    NOTE = "note"
    """Nothing: it is only said."""


@dataclass(frozen=True, kw_only=True)
class Flaw:
    """What is wrong, where, and what is done about it.

    Attributes:
        kind: In a word: `signals`, `clock`, `gap`, `units`, `robot`, `motion`, `stale`, `stall`,
            `spike`.
        what: The sentence without its subject: "its command does not change".
        remedy: What is done.
        columns: The joints it is about; none where it is about all.
        begin_s: From when, by the episode's clock.
        end_s: Until when.
        where: The value at which it happens, e.g. the angle of a stop.
    """

    kind: str
    what: str
    remedy: Remedy
    columns: tuple[str, ...] = ()
    begin_s: float = -np.inf
    end_s: float = np.inf
    where: float | None = None


def said(flaw: Flaw, number: int, episode: Episode) -> str:
    """The flaw as a sentence about an episode."""
    name = f"Episode {number}" + (f" ({episode.task})" if episode.task else "")
    match flaw.remedy:
        case Remedy.LEAVE_OUT:
            return f"{name} was left out: {flaw.what}."
        case Remedy.MASK:
            return f"{name}: {flaw.what}; these readings were left out."
        case Remedy.MERGE:
            return f"{name}: {flaw.what}; the first of each was kept."
        case _:
            return f"{name}: {flaw.what}."


def mended(episode: Episode, flaws: Sequence[Flaw]) -> Episode:
    """The episode as far as it can be trusted: readings that cannot are NaN, and never commands."""
    signals = dict(episode.signals)
    if any(flaw.remedy is Remedy.MERGE for flaw in flaws):
        signals = {name: _merged(channel) for name, channel in signals.items()}
    masks = [flaw for flaw in flaws if flaw.remedy is Remedy.MASK]
    if masks:
        signals = {
            name: channel if name == COMMAND else _masked(channel, masks)
            for name, channel in signals.items()
        }
    return replace(episode, signals=signals)


def _merged(channel: Channel) -> Channel:
    rows = np.diff(channel.time_s, prepend=-np.inf) > 0
    return replace(channel, values=channel.values[rows], time_s=channel.time_s[rows])


def _masked(channel: Channel, masks: Sequence[Flaw]) -> Channel:
    hidden = np.zeros(channel.values.shape, bool)
    for flaw in masks:
        rows = (channel.time_s >= flaw.begin_s) & (channel.time_s <= flaw.end_s)
        columns = [not flaw.columns or name in flaw.columns for name in channel.names]
        hidden |= rows[:, None] & np.array(columns, bool)
    if not hidden.any():
        return channel
    return replace(channel, values=np.where(hidden, np.nan, np.asarray(channel.values, float)))
