"""Numbers as the sections of a report write them."""

from __future__ import annotations

from trueup.diagnose import Rate
from trueup.evaluate.words import number as number
from trueup.evaluate.words import percent


def rate(r: Rate) -> str:
    """A success rate with its counts."""
    return f"{percent(r.share)} ({r.successes} of {r.trials})"


def interval(r: Rate) -> str:
    """Where its truth lies, at 90 %."""
    low, high = r.interval()
    return f"{100 * low:.0f} … {100 * high:.0f} %"


def lost(value: float) -> str:
    """So many points, in words."""
    return f"{points(value)} {'point' if points(value) == '1' else 'points'}"


def points(value: float, digits: int = 0) -> str:
    """Points of success; zero has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def span(low: float, high: float, digits: int = 0) -> str:
    """Two ends."""
    return f"{points(low, digits)} … {points(high, digits)}"


def seconds(value: float) -> str:
    """A stretch of time as people say it."""
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.1f} min" if value < 90 * 60 else f"{value / 3600:.1f} h"


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number of things."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
