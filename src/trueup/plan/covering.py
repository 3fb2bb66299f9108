"""Conditions to try: every pair of levels together at least once, in few rows.

The full product of five factors of three levels has 243 rows; most faults show with two factors at
certain levels, and a covering array of strength 2 meets all such pairs in about a dozen rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from trueup.errors import TrueupError

Row = dict[str, str]

_CANDIDATES = 40
_ROUNDS = 8
_Pair = tuple[int, int, int, int]


def covering_array(factors: Mapping[str, Sequence[str]], *, seed: int = 0) -> tuple[Row, ...]:
    """Rows in which every two levels of every two factors meet at least once.

    Greedy, a row at a time, the best of several tries (after AETG, Cohen et al. 1997); rows that
    later ones made needless are dropped. Same seed, same rows.

    Args:
        factors: Levels by the name of each factor.
        seed: Of the random orders that are tried.
    """
    names, levels = list(factors), [list(found) for found in factors.values()]
    _check(factors)
    if len(names) < 2:
        return tuple({name: level} for name in names for level in factors[name])
    generator = np.random.default_rng(seed)
    sizes = [len(found) for found in levels]
    fewest = math.prod(sorted(sizes)[-2:])  # the two largest factors need as many by themselves
    rows = _rows(sizes, generator)
    for _ in range(_ROUNDS - 1):
        if len(rows) == fewest:
            break
        rows = min(rows, _rows(sizes, generator), key=len)
    return tuple({n: levels[f][row[f]] for f, n in enumerate(names)} for row in rows)


def uncovered(
    rows: Sequence[Mapping[str, str]], factors: Mapping[str, Sequence[str]]
) -> list[tuple[str, str, str, str]]:
    """Pairs that no row has: factor, level, other factor, its level."""
    met = {(a, row[a], b, row[b]) for row in rows for a, b in combinations(factors, 2)}
    wanted = (
        (a, x, b, y) for a, b in combinations(factors, 2) for x in factors[a] for y in factors[b]
    )
    return [pair for pair in wanted if pair not in met]


def _check(factors: Mapping[str, Sequence[str]]) -> None:
    for name, levels in factors.items():
        if not levels or len(set(levels)) != len(levels):
            raise TrueupError(
                f"The factor {name!r} has the levels {', '.join(levels) or 'none'}.",
                fix="Give each factor at least one level, and each level once.",
            )


def _rows(sizes: list[int], generator: np.random.Generator) -> list[list[int]]:
    left = {
        (a, x, b, y)
        for a, b in combinations(range(len(sizes)), 2)
        for x in range(sizes[a])
        for y in range(sizes[b])
    }
    rows: list[list[int]] = []
    while left:
        tries = [_candidate(sizes, left, generator) for _ in range(_CANDIDATES)]
        best = max(tries, key=lambda row: len(_pairs(row) & left))
        left -= _pairs(best)
        rows.append(best)
    return _needed(rows)


def _candidate(sizes: list[int], left: set[_Pair], generator: np.random.Generator) -> list[int]:
    """A row that begins with a pair that is still missing, and goes on with the best levels."""
    missing = sorted(left)
    a, x, b, y = missing[int(generator.integers(len(missing)))]
    row = [-1] * len(sizes)
    row[a], row[b] = x, y
    for factor in generator.permutation([f for f in range(len(sizes)) if row[f] < 0]):
        gains = [
            sum(_pair(int(factor), level, f, v) in left for f, v in enumerate(row) if v >= 0)
            for level in range(sizes[factor])
        ]
        best = np.flatnonzero(np.array(gains) == max(gains))
        row[factor] = int(generator.choice(best))
    return row


def _pair(a: int, x: int, b: int, y: int) -> _Pair:
    return (a, x, b, y) if a < b else (b, y, a, x)


def _pairs(row: list[int]) -> set[_Pair]:
    return {(a, row[a], b, row[b]) for a, b in combinations(range(len(row)), 2)}


def _needed(rows: list[list[int]]) -> list[list[int]]:
    """Without rows whose every pair stands in another one too."""
    kept = list(rows)
    for row in rows:
        others = [other for other in kept if other is not row]
        if _pairs(row) <= set().union(*map(_pairs, others)):
            kept = others
    return kept
