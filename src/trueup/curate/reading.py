"""Episodes one by one, from a dataset or from memory; one that cannot be read is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError

Episodes = Dataset | Sequence[Episode]

SAMPLED = 256
"""Episodes that are enough to learn what a set looks like."""


def named(episodes: Episodes) -> str:
    """Where they are."""
    return str(episodes.folder) if isinstance(episodes, Dataset) else "the episodes"


def read(episodes: Episodes) -> Iterator[tuple[Episode | None, str]]:
    """Each in order, or the sentence that says why it could not be read."""
    for i in range(len(episodes)):
        yield one(episodes, i)


def one(episodes: Episodes, i: int) -> tuple[Episode | None, str]:
    """One of them, or why not."""
    try:
        return episodes[i], ""
    except TrueupError as error:
        return None, error.what.rstrip(".")


def sampled(episodes: Episodes) -> list[Episode]:
    """Some of them, spread evenly over the set; those that can be read."""
    places = np.unique(np.linspace(0, len(episodes) - 1, min(SAMPLED, len(episodes))).astype(int))
    some = [episode for i in places if (episode := one(episodes, int(i))[0]) is not None]
    if not some:
        why = one(episodes, 0)[1]
        raise TrueupError(
            f"No episode of {named(episodes)} can be read. The first one: {why}.",
            fix="`trueup episodes validate` lists everything that is wrong with a dataset.",
        )
    return some
