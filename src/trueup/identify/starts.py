"""Where each recording began is only read, not known: what that does to a residual, taken out.

A replay begins where the encoders said the joints were. They were up to half a tick and some noise
elsewhere, and a joint that friction holds stays there, off by as much, until it moves. Taken as
exact, this looks like evidence about parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trueup.identify.problem import Problem, Residual

_WIDE = 3.0  # of the noise: how far off a start may be; the first reading then tells how far
_ALIKE = 1e-3  # of the noise: a start that shows less than this in any reading does not matter


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Readings of one column in one episode.

    Attributes:
        rows: (m,) which readings.
        ways: (m, k) orthonormal: what other starts would add to them.
        left: (k,) share of the residual along each that is not put down to the start.
    """

    rows: np.ndarray
    ways: np.ndarray
    left: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Starts:
    """What unknown starts add to residuals, and how to take it out.

    `freed` residuals are again of unit noise, and their sum of squares is that of the best start,
    weighed against how likely it is. Slopes that are freed alike then say what is left to learn.
    """

    groups: tuple[_Group, ...] = ()

    def freed(self, values: np.ndarray) -> np.ndarray:
        """Residuals or slopes (p, N), less what may be due to the starts."""
        found = np.array(values, float)
        for group in self.groups:
            along = found[:, group.rows] @ group.ways
            found[:, group.rows] -= (along * (1.0 - group.left)) @ group.ways.T
        return found


def starts_of(problem: Problem, u: np.ndarray, noise: np.ndarray) -> Starts:
    """How residuals at a point (d,) answer to other starts.

    All joints are moved at once, each in its own column's name: what the start of one joint does to
    another is small beside what it does to that joint itself. Where replays begin anew in windows
    there is no one start, and none is looked for.

    Args:
        problem: Whose episodes.
        u: The point, in the unit cube.
        noise: (columns,) of one reading, in the residual's units.
    """
    replayer = problem.replayer
    if replayer.window_s is not None:
        return Starts()
    # rad of position and rad/s of speed, as far as one reading's noise puts them off
    size = float(np.median(noise * problem.scale))
    speed = np.sqrt(2.0) * size / replayer.world.control_period_s
    nudges = np.array([[size, 0.0], [-size, 0.0], [0.0, speed], [0.0, -speed]])
    with replayer.nudged(nudges):
        found = problem.residual(np.tile(u, (4, 1)))
    answers = 0.5 * (found.values[::2] - found.values[1::2])
    return Starts(groups=tuple(_groups(found, answers, noise)))


def _groups(found: Residual, answers: np.ndarray, noise: np.ndarray) -> Iterator[_Group]:
    for episode in np.unique(found.episode):
        for column in np.unique(found.column):
            rows = np.flatnonzero((found.episode == episode) & (found.column == column))
            if not len(rows):
                continue
            answer = (answers[:, rows] * np.array([[_WIDE], [1.0]]) / noise[column]).T
            ways, sizes, _ = np.linalg.svd(answer, full_matrices=False)
            some = sizes > _ALIKE
            yield _Group(rows=rows, ways=ways[:, some], left=1.0 / np.sqrt(1.0 + sizes[some] ** 2))
