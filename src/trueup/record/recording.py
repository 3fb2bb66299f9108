"""What a recording gives, and how it is told while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from trueup.episodes import Episode
from trueup.hardware import Timing
from trueup.record.motions.motion import Plan


class Store(Protocol):
    """Where episodes go, one by one: `trueup.episodes.Writer` is one."""

    def add(self, episode: Episode) -> object:
        """Keep an episode for good."""
        ...


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a recording has come.

    Attributes:
        motion: What is being recorded.
        number: Which one of them, from 1.
        of: How many there are.
        time_s: How far it has come.
        duration_s: How long it takes.
        paused: Whether it stands still.
    """

    motion: str
    number: int
    of: int
    time_s: float
    duration_s: float
    paused: bool


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What a session gave.

    Attributes:
        episodes: All of them, those that were cut short included.
        plans: What was meant, one for each motion that was begun.
        timings: How the rate was kept in each.
        ended: Why it ended before its time; empty where it did not.
    """

    episodes: tuple[Episode, ...]
    plans: tuple[Plan, ...]
    timings: tuple[Timing, ...]
    ended: str = ""
