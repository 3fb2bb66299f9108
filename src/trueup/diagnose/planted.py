"""Realities as they might be: nominal, but for a gap or two bent by a few of their parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from trueup.space import Gap, Points, Space

GAPS: tuple[str, ...] = tuple(gap.value for gap in Gap)
_MOST_FAMILIES = 3
_TOGETHER, _ALONE = 0.4, 0.8  # of draws: all members alike; one member; each by itself
_SLOW = (
    "actuation/*/backlash",
    "actuation/*/load_friction",
    "actuation/*/rest_*",
    "contact/*/rolling",
    "environment/clutter/*",
    "environment/obstacle/*",
    "environment/patch/*",
    "object/*/friction_*",
)
"""What makes a world slower to step just by being in its space: worlds without it leave it out."""


@dataclass(frozen=True, kw_only=True)
class Bends:
    """Ways in which single gaps may be off.

    Attributes:
        space: What they are points of.
        u: (n, d) in its unit cube; all but a few numbers of one gap are nominal.
        gap: (n,) which of `GAPS`.
    """

    space: Space
    u: np.ndarray
    gap: np.ndarray

    def __len__(self) -> int:
        return len(self.u)

    def some(self, rows: np.ndarray) -> Bends:
        """A part of them."""
        return Bends(space=self.space, u=self.u[rows], gap=self.gap[rows])

    def weakened(self, strength: np.ndarray) -> Bends:
        """Each (n,) so much of the way from nominal."""
        nominal = self.space.encode(self.space.nominal())[0]
        u = nominal + strength[:, None] * (self.u - nominal)
        return Bends(space=self.space, u=u, gap=self.gap)

    def joined(self, rows: Sequence[int]) -> np.ndarray:
        """(d,) the point where several hold at once; they are of different gaps."""
        nominal = self.space.encode(self.space.nominal())[0]
        return nominal + (self.u[list(rows)] - nominal).sum(axis=0)


def bends(space: Space, each: int, generator: np.random.Generator) -> Bends:
    """Draw so many bends of every gap that a space has.

    Up to three families of a gap's parameters are moved, some a little and many far, up to the
    bounds.
    """
    families = _families(space)
    nominal = space.encode(space.nominal())[0]
    present = [k for k, gap in enumerate(GAPS) if gap in families]
    u = np.tile(nominal, (each * len(present), 1))
    gap = np.repeat(present, each)
    for row, k in zip(u, gap, strict=True):
        _bend(row, families[GAPS[k]], generator)
    return Bends(space=space, u=u, gap=gap)


def family(name: str) -> str:
    """Parameters that are bent together: one kind of number, whatever joint or axis it is of.

    In the surroundings it is one kind of thing instead: a patch has a place and a size or is none.
    """
    gap, *subject, leaf = name.split("/")
    if gap == "environment":
        return f"{gap}/{subject[0]}"
    return f"{gap}/{re.sub(r'_[xyz]$', '', leaf)}"


def structures(space: Space, u: np.ndarray) -> list[tuple[Space, np.ndarray]]:
    """Rows of points (n, d), grouped by the smallest space that holds them, for speed."""
    nominal = space.encode(space.nominal())[0]
    slow = np.array([[fnmatchcase(name, p) for name in space.names] for p in _SLOW])
    used = (np.abs(u - nominal) > 1e-9) @ slow.T
    found = []
    for kind in np.unique(used, axis=0):
        left_out = np.asarray(slow[~kind].any(axis=0))
        names = [name for i, name in enumerate(space.names) if not left_out[i]]
        found.append((space.select(*names), np.flatnonzero((used == kind).all(axis=1))))
    return found


def within(space: Space, u: np.ndarray, part: Space) -> Points:
    """Points (n, d) of a space as points of a part of it."""
    return part.decode(u[:, [space.index(name) for name in part.names]])


def _families(space: Space) -> dict[str, list[np.ndarray]]:
    """Columns by gap and family."""
    found: dict[str, dict[str, list[int]]] = {}
    for i, parameter in enumerate(space):
        if not parameter.fixed:
            of_gap = found.setdefault(parameter.gap.value, {})
            of_gap.setdefault(family(parameter.name), []).append(i)
    return {gap: [np.array(f) for f in of.values()] for gap, of in found.items()}


def _bend(u: np.ndarray, families: list[np.ndarray], generator: np.random.Generator) -> None:
    """Move some families of one gap, in place."""
    most = min(_MOST_FAMILIES, len(families))
    chosen = generator.choice(len(families), generator.integers(1, most + 1), replace=False)
    for columns in (families[k] for k in chosen):
        how, m = generator.random(), len(columns)
        if how < _TOGETHER:
            far, side = np.full(m, generator.random(2).max()), np.full(m, generator.random() < 0.5)
        else:
            far, side = generator.random((2, m)).max(axis=0), generator.random(m) < 0.5
            if how < _ALONE:
                far = np.where(np.arange(m) == generator.integers(m), far, 0.0)
        at = u[columns]
        side = np.where(at < 1e-9, True, np.where(at > 1.0 - 1e-9, False, side))
        u[columns] = np.where(side, at + far * (1.0 - at), at - far * at)
