"""Common random numbers: the same episodes for every policy and every space."""

from __future__ import annotations

import numpy as np

from trueup.errors import TrueupError
from trueup.space import Points, Space
from trueup.streams import seeds_from

_POINTS, _EPISODES = range(2)  # streams of one seed


def trials(space: Space, n: int, seed: int = 0) -> tuple[Points, np.ndarray]:
    """`n` points of a space, and a seed for the episode at each, (n,) uint64.

    Points and seeds come from two streams, row by row: trial i is the same whatever `n` is, and
    its episode begins the same in every space. So whatever is evaluated on the trials of one seed
    can be compared in pairs.
    """
    if n < 1:
        raise TrueupError(f"{n} trials cannot be drawn.", fix="Ask for at least 1.")
    if seed < 0:
        raise TrueupError(f"The seed {seed} is negative.", fix="Give 0 or more.")
    points, episodes = (np.random.default_rng([seed, part]) for part in (_POINTS, _EPISODES))
    return space.sample(points, n), seeds_from(episodes, n)
