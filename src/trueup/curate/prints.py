"""Episodes as points, to find which are alike: their course at a few phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from trueup.curate.look import Look

PHASES = 16
_LEAST = 3  # frames
_FAR = 5.0  # spans: where something is beyond this makes no difference
_AXES = 12


@dataclass(frozen=True, kw_only=True)
class Print:
    """One episode, in shares of spans, so that its length does not count.

    Attributes:
        course: (PHASES × columns,) where it is at equal shares of its time.
    """

    course: np.ndarray

    @classmethod
    def of(cls, look: Look) -> Print | None:
        """Of an episode; none where it is too short or lacks a signal."""
        survey = look.survey
        if any(name not in look.gridded for name in survey.signals) or len(look.grid_s) < _LEAST:
            return None
        every = np.concatenate([look.gridded[n] / survey.span[n] for n in survey.signals], axis=1)
        at = np.linspace(0.0, len(every) - 1.0, PHASES)
        before = np.minimum(at.astype(int), len(every) - 2)
        share = (at - before)[:, None]
        course = (1.0 - share) * every[before] + share * every[before + 1]
        return cls(course=course.ravel())


class Prints:
    """The prints of a set; those that are none are far from everything.

    Args:
        prints: One for each episode.
    """

    def __init__(self, prints: Sequence[Print | None]) -> None:
        self.known = np.array([p is not None for p in prints])
        self.some = [p for p in prints if p is not None]

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def course(self) -> np.ndarray:
        """Of those that are known, (k, PHASES × columns)."""
        return np.array([p.course for p in self.some])

    def spread(self, values: np.ndarray, other: float = np.nan) -> np.ndarray:
        """(n,) values of those that are known, at their places."""
        found = np.full(len(self), other)
        found[self.known] = values
        return found


def nearest(
    points: np.ndarray, among: np.ndarray | None = None, *, k: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """(n, k) distances to the nearest of a set, and which they are.

    Without another set, those among `points` themselves, each without itself. Candidates come from
    a tree along the main axes of the set, and are then measured in full.
    """
    others = points if among is None else among
    itself = among is None
    k = min(k, len(others) - itself)
    if k < 1:
        return np.full((len(points), 1), np.inf), np.zeros((len(points), 1), int)
    centre = np.median(others, axis=0)
    a, b = (np.clip(x - centre, -_FAR, _FAR) for x in (points, others))
    axes = np.linalg.svd(b[:: max(1, len(b) // 1000)], full_matrices=False)[2][:_AXES]
    wanted = min(len(others), 4 * k + 4)
    _, found = KDTree(b @ axes.T).query(a @ axes.T, k=wanted)
    found = np.reshape(found, (len(a), wanted))
    full = _full(a, b, found)
    if itself:
        full[found == np.arange(len(a))[:, None]] = np.inf
    order = np.argsort(full, axis=1)[:, :k]
    rows = np.arange(len(a))[:, None]
    return full[rows, order], found[rows, order]


def _full(a: np.ndarray, b: np.ndarray, found: np.ndarray) -> np.ndarray:
    """(n, wanted) root mean square differences, a few columns of candidates at a time."""
    columns = [np.sqrt(((a - b[found[:, j]]) ** 2).mean(axis=1)) for j in range(found.shape[1])]
    return np.stack(columns, axis=1)
