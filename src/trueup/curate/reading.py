"""Episodes one by one, from a dataset or from memory; one that cannot be read is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.episodes import Dataset, Episode
from trueup.episodes.consent import Covered
from trueup.errors import TrueupError

UNREADABLE, CONSENT = "unreadable", "consent"
"""What stands in the place of a rule where an episode could not be read, or must not be."""


class NotCovered(TrueupError):
    """An episode of somebody who did not agree to training."""


class Lent(Sequence[Episode]):
    """A dataset of which consent covers a part: the rest is never read.

    Args:
        dataset: With people in it.
        covered: What may be used.
    """

    def __init__(self, dataset: Dataset, covered: Covered) -> None:
        self.folder, self._dataset, self._covered = dataset.folder, dataset, covered

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, i: Any) -> Any:
        why = self._covered.why.get(int(i))
        if why is not None:
            raise NotCovered(why, fix="Ask the participant, and enter the new consent.")
        return self._dataset[i]


Episodes = Dataset | Lent | Sequence[Episode]

SAMPLED = 256
"""Episodes that are enough to learn what a set looks like."""


def named(episodes: Episodes) -> str:
    """Where they are."""
    return str(episodes.folder) if isinstance(episodes, Dataset | Lent) else "the episodes"


@dataclass(frozen=True, kw_only=True)
class Unread:
    """Why an episode was not read.

    Attributes:
        rule: In the place of a rule.
        why: As a sentence.
    """

    rule: str
    why: str


def read(episodes: Episodes) -> Iterator[tuple[Episode | None, Unread | None]]:
    """Each in order, or why it was not read."""
    for i in range(len(episodes)):
        yield one(episodes, i)


def one(episodes: Episodes, i: int) -> tuple[Episode | None, Unread | None]:
    """One of them, or why not."""
    try:
        return episodes[i], None
    except TrueupError as error:
        rule = CONSENT if isinstance(error, NotCovered) else UNREADABLE
        return None, Unread(rule=rule, why=error.what.rstrip("."))


def sampled(episodes: Episodes) -> list[Episode]:
    """Some of them, spread evenly over the set; those that can be read."""
    places = np.unique(np.linspace(0, len(episodes) - 1, min(SAMPLED, len(episodes))).astype(int))
    some = [episode for i in places if (episode := one(episodes, int(i))[0]) is not None]
    if not some:
        first = one(episodes, 0)[1]
        why, withheld = (first.why, first.rule == CONSENT) if first else ("", False)
        raise TrueupError(
            f"No episode of {named(episodes)} {'may' if withheld else 'can'} be read. The first "
            f"one: {why}.",
            fix="Name the register that has their consent: --participants FOLDER."
            if withheld
            else "`trueup episodes validate` lists everything that is wrong with a dataset.",
        )
    return some
