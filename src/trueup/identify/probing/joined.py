"""Several problems as one: recordings that share some of their unknowns, and what is held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.identify.estimate import Misfit
from trueup.identify.problem import Problem, Residual
from trueup.space import Space


@dataclass(frozen=True, kw_only=True)
class Part:
    """One problem, and where its numbers come from.

    Attributes:
        problem: What it makes small.
        source: (k,) for each of its parameters the unknown it is; -1 where it is held.
        held: (k,) in the unit cube; what those that are held have.
        label: Goes before its columns, where several parts have the same.
    """

    problem: Problem
    source: np.ndarray
    held: np.ndarray
    label: str = ""

    def lay(self, u: np.ndarray) -> np.ndarray:
        """Unknowns (p, d) as this problem's own points (p, k)."""
        return np.where(self.source < 0, self.held, u[:, np.maximum(self.source, 0)])


def part_of(problem: Problem, free: Space, at: Sequence[float], label: str = "") -> Part:
    """A problem whose parameters are free where a space has them, and elsewhere held at values."""
    names = problem.space.names
    source = np.array([free.index(n) if n in free else -1 for n in names])
    held = [float(p.encode(value)) for p, value in zip(problem.space, at, strict=True)]
    return Part(problem=problem, source=source, held=np.array(held), label=label)


class Joined:
    """Parts as one problem, with the same words as `Problem`.

    Args:
        parts: The problems.
        size: How many unknowns there are.
    """

    def __init__(self, parts: Sequence[Part], size: int) -> None:
        self.parts, self.size = tuple(parts), size

    @property
    def columns(self) -> tuple[str, ...]:
        """What each column of all parts is."""
        return tuple(part.label + name for part in self.parts for name in part.problem.columns)

    @property
    def scale(self) -> np.ndarray:
        """(columns,) what residuals are divided by."""
        return np.concatenate([part.problem.scale for part in self.parts])

    def weigh(self, sizes: np.ndarray) -> None:
        """Divide residuals by so many times (columns,) what they were divided by."""
        first = 0
        for part in self.parts:
            last = first + len(part.problem.columns)
            part.problem.weigh(sizes[first:last])
            first = last

    def residual(self, u: np.ndarray) -> Residual:
        """At unknowns (p, d)."""
        return self._stacked([part.problem.residual(part.lay(u)) for part in self.parts])

    def jacobian(self, u: np.ndarray, *, exact: bool = False) -> tuple[Residual, np.ndarray]:
        """The residual at (d,), and its slope (N, d)."""
        found, slopes = [], []
        for part in self.parts:
            here, own = part.problem.jacobian(part.lay(u[None])[0], exact=exact)
            mine = np.zeros((len(own), self.size))
            for k in np.flatnonzero(part.source >= 0):
                mine[:, part.source[k]] += own[:, k]
            found.append(here)
            slopes.append(mine)
        return self._stacked(found), np.concatenate(slopes)

    def sizes(self, u: np.ndarray) -> dict[str, float]:
        """Root mean square of each column at a point (d,), in the signals' units."""
        found = self.residual(u[None])
        raw = found.values[0] * self.scale[found.column]
        return {
            name: float(np.sqrt((raw[found.column == c] ** 2).mean()))
            for c, name in enumerate(self.columns)
        }

    def misfit(self, before: np.ndarray, after: np.ndarray, episodes: int) -> Misfit:
        """How far simulated and measured lie apart at two points (d,)."""
        return Misfit(episodes=episodes, before=self.sizes(before), after=self.sizes(after))

    def _stacked(self, found: Sequence[Residual]) -> Residual:
        columns = np.cumsum([0, *(len(part.problem.columns) for part in self.parts)])
        episodes = np.cumsum([0, *(int(r.episode.max()) + 1 for r in found)])
        return Residual(
            values=np.concatenate([r.values for r in found], axis=1),
            column=np.concatenate([r.column + c for r, c in zip(found, columns, strict=False)]),
            episode=np.concatenate([r.episode + e for r, e in zip(found, episodes, strict=False)]),
        )
