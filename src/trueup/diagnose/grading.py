"""How strong bends are: enough to cost a policy something, and not always all of it.

Robots seldom lose everything. Drawn up to the bounds of a space, bends that cost something mostly
do, and who learns from those alone has never seen a robot that succeeds every other time.
"""

from __future__ import annotations

import numpy as np

from trueup.diagnose.planted import Bends
from trueup.diagnose.playing import Player

SCREENED = 3
"""Trials of each bend that is only looked at."""
_COSTLY = 0.5  # of what nominal succeeds in: bends that cost as much are graded
_ROUNDS = 4
_WEAKEST = 1.0 / 32.0
_AROUND = 1.6  # times as strong as what costs half, or as weak
_GRADED = 0.7  # of costly bends; the others stay as they were drawn


def costly(lost: np.ndarray, nominal: float) -> np.ndarray:
    """(n,) which bends cost so much that weaker ones are worth a look."""
    return lost >= _COSTLY * nominal


def graded(
    player: Player,
    drawn: Bends,
    lost: np.ndarray,
    nominal: float,
    generator: np.random.Generator,
) -> Bends:
    """The same bends, most of the costly ones weakened to about where they cost half.

    Args:
        player: Plays them.
        drawn: As strong as they were drawn.
        lost: (n,) what each was seen to cost, as a share of 1.
        nominal: Success where nothing is bent.
        generator: Where chance comes from.
    """
    rows = np.flatnonzero(costly(lost, nominal) & (generator.random(len(drawn)) < _GRADED))
    weak, strong = np.full(len(rows), np.log(_WEAKEST)), np.zeros(len(rows))
    for _ in range(_ROUNDS if len(rows) else 0):
        middle = 0.5 * (weak + strong)
        points = drawn.some(rows).weakened(np.exp(middle)).u
        won = player.success(points, SCREENED)
        much = costly(nominal - won, nominal)
        weak, strong = np.where(much, weak, middle), np.where(much, middle, strong)
    around = generator.uniform(-np.log(_AROUND), np.log(_AROUND), len(rows))
    strength = np.ones(len(drawn))
    strength[rows] = np.minimum(np.exp(0.5 * (weak + strong) + around), 1.0)
    return drawn.weakened(strength)
