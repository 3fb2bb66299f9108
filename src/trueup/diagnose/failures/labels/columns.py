"""A column of words as something that can be tested: levels, or numbers by rank."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from trueup.diagnose.failures.labels.contrast import Level, Side

EMPTY = "(empty)"
_FEW = 6  # different numbers: fewer are words, as in session 1, 2, 3
_MOST_LEVELS = 12
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?", re.IGNORECASE)


@dataclass(frozen=True)
class Skipped:
    """A column that cannot be tested, and why, as a sentence."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Column:
    """One label of every trial.

    Attributes:
        name: Its name.
        numeric: Whether it is looked at by rank.
        words: (n,) as written; of a numeric one the thirds.
        sides: What is tested: each level against the rest, or the ranks.
    """

    name: str
    numeric: bool
    words: tuple[str, ...]
    sides: tuple[Side, ...]

    def levels(self, success: np.ndarray) -> tuple[Level, ...]:
        """Trials and failures of each word, in the order of the words."""
        words = np.array(self.words)
        order = dict.fromkeys(self.words) if self.numeric else sorted(set(self.words))
        if self.numeric:
            order = [s for s in self.sides[0].names if s in order]
            order += [EMPTY] if EMPTY in words else []
        return tuple(
            Level(
                name=str(word),
                trials=int((words == word).sum()),
                failed=int((~success[words == word]).sum()),
            )
            for word in order
        )


def column_of(name: str, words: tuple[str, ...]) -> Column | Skipped:
    """A column that can be tested, or why it cannot."""
    written = [word for word in words if word]
    if not written:
        return Skipped(f"{name!r} is empty in every row and is left out.")
    spoken = Counter(word.casefold() for word in written)
    if len(spoken) == 1 and len(written) == len(words):
        return Skipped(f"{name!r} is {written[0]!r} in every row, so it tells nothing.")
    numbers = np.array([_number(word) for word in words])
    known = np.array([bool(word) for word in words])
    if np.isfinite(numbers[known]).all() and len(np.unique(numbers[known])) >= _FEW:
        return _by_rank(name, words, numbers)
    if len(spoken) == len(written) and len(spoken) > 2:
        return Skipped(f"{name!r} is different in every row, as a name or number of a trial is.")
    return _by_level(name, words)


def _by_level(name: str, words: tuple[str, ...]) -> Column | Skipped:
    first: dict[str, str] = {}
    kept = [first.setdefault(word.casefold(), word) if word else EMPTY for word in words]
    counts = Counter(kept)
    rare = {word for word, count in counts.items() if count < 2 and word != EMPTY}
    if len(counts) > _MOST_LEVELS:
        rare |= {word for word, _ in counts.most_common()[_MOST_LEVELS - 1 :] if word != EMPTY}
    if len(rare) > 1:  # levels of one trial each can show nothing alone
        kept = ["(other)" if word in rare else word for word in kept]
    levels = sorted(set(kept))
    if len(levels) < 2:
        return Skipped(f"{name!r} has hardly two rows with the same word, so it tells nothing.")
    shown = levels[:1] if len(levels) == 2 else levels
    return Column(
        name=name,
        numeric=False,
        words=tuple(kept),
        sides=tuple(Side.of_level(level, np.array(kept)) for level in shown),
    )


def _by_rank(name: str, words: tuple[str, ...], numbers: np.ndarray) -> Column:
    known = np.isfinite(numbers)
    low, high = np.quantile(numbers[known], (1 / 3, 2 / 3), method="lower")
    third = np.select([numbers <= low, numbers <= high], [0, 1], 2)
    a, b = (words[int(np.flatnonzero(numbers == edge)[0])] for edge in (low, high))
    names = (f"up to {a}", f"{a} to {b}", f"above {b}")
    parts = [names[k] if good else EMPTY for k, good in zip(third, known, strict=True)]
    values = np.where(known, numbers, np.median(numbers[known]))
    side = Side.of_ranks(names, values, np.where(known, third, 3))
    return Column(name=name, numeric=True, words=tuple(parts), sides=(side,))


def _number(word: str) -> float:
    """A number, a time of day in hours, or a date in days; NaN where it is none of them."""
    clock = _CLOCK.fullmatch(word)
    if clock:
        hour = int(clock[1]) % 12 if clock[4] else int(clock[1])
        hour += 12 * (str(clock[4]).lower() == "pm")
        return hour + int(clock[2]) / 60 + int(clock[3] or 0) / 3600
    for read in (float, lambda w: float(w.replace(",", ".", 1)), _days):
        try:
            value = read(word)
        except (ValueError, OverflowError, OSError):
            continue
        return value if np.isfinite(value) else float("nan")
    return float("nan")


def _days(word: str) -> float:
    return datetime.fromisoformat(word).timestamp() / 86400
