"""The ways in which an episode goes wrong, and one of them happening."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trueup.diagnose.failures.phases import Phase


class Event(StrEnum):
    """A way in which an episode goes wrong."""

    SLIP = "slip"
    """Held, and lost; or moved in the hand."""
    MISS = "miss"
    """Closed on nothing, or let go in the wrong place; or arrived where the goal is not."""
    COLLISION = "collision"
    """The object moved before it was grasped, or a joint pushed against something."""
    TIMEOUT = "timeout"
    """Nothing else went wrong, but the time was up."""
    STALL = "stall"
    """A joint did not go where it was told, with nothing in its way."""
    TRACKING_LOSS = "tracking loss"
    """The object was not really seen."""


@dataclass(frozen=True, kw_only=True)
class Happened:
    """One event.

    Attributes:
        event: What.
        phase: In which phase.
        time_s: When, from the first reading.
        evidence: Why we think so: a sentence with numbers.
        lasted_s: For how long, where it went on.
    """

    event: Event
    phase: Phase
    time_s: float
    evidence: str
    lasted_s: float = 0.0
