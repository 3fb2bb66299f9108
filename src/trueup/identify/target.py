"""The posterior as a landscape: how unlikely each point is, and how readings answer around one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueup.identify.descent import weights
from trueup.identify.problem import FINEST, Problem, Residual, is_delay
from trueup.identify.starts import Starts, starts_of
from trueup.space import Space

_FINE = 0.2  # of a physics step: how far a delay is moved for its slope
_SHARE = 0.25  # of a physics step: how finely two delays are shared out
_RARE = 1e-3  # of a prior on either side: what lies beyond does not count
_FURTHEST = 2.5  # of the prior's spread: beyond, shares are looked at in whole steps
_SHARES = 16.0  # of those, at most


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """Readings around a point, each in units of its noise and less what the starts may add.

    Attributes:
        values: (N,) residuals at the point.
        slopes: (N, d) how they change along the unit cube.
    """

    values: np.ndarray
    slopes: np.ndarray


class Target:
    """What a posterior is made of, around a point.

    Noise, outliers and what unknown starts do are judged there and kept, so that points nearby are
    held against one and the same yardstick.

    Args:
        problem: Episodes against a world.
        u: (d,) the point, in the unit cube.

    Attributes:
        centre: (d,) mean of the prior, in the unit cube.
        spread: (d,) its standard deviation.
        support: (d, 2) between what it lies for all that counts.
        here: The residual at the point.
        noise: (columns,) standard deviation of what is left there, in the residual's units.
        delays: Which parameters are delays.
    """

    def __init__(self, problem: Problem, u: np.ndarray) -> None:
        self.problem = problem
        self.centre, self.spread = prior_mean(problem.space), prior_spread(problem.space)
        self.support = prior_support(problem.space)
        self.here = problem.residual(u[None])
        self._weight = weights(self.here)[0]
        self.noise = np.maximum(_noise(self.here, self._weight), FINEST / problem.scale)
        self._starts: Starts = starts_of(problem, u, self.noise)
        self._scale = np.sqrt(self._weight) / self.noise[self.here.column]
        step_s = problem.replayer.compiled.model.opt.timestep
        self.delays = delays_of(problem.space)
        ranges = [p.high - p.low for p in problem.space if is_delay(p)]
        self._steps = [step_s / width for width in ranges]  # a physics step, in the unit cube

    def cost(self, u: np.ndarray) -> np.ndarray:
        """(p,) minus the logarithm of the posterior's density at points (p, d), up to a constant.

        Infinite outside the unit cube.
        """
        inside = ((u >= 0.0) & (u <= 1.0)).all(axis=1)
        readings = self.readings(u)
        prior = (((u - self.centre) / self.spread) ** 2).sum(axis=1)
        return np.where(inside, 0.5 * ((readings**2).sum(axis=1) + prior), np.inf)

    def readings(self, u: np.ndarray) -> np.ndarray:
        """(p, N) residuals at points (p, d), of unit noise and less what the starts may add."""
        return self._free(self.problem.residual(np.clip(u, 0.0, 1.0)))

    def fixed(self, u: np.ndarray) -> np.ndarray:
        """(d,) which parameters do nothing where they are: delays below a physics step."""
        found = np.zeros(len(u), bool)
        found[self.delays] = u[self.delays] < np.array(self._steps)
        return found

    def splits(self, u: np.ndarray, i: int) -> np.ndarray:
        """(k, d) points that share a delay out otherwise between parameter i and the longest.

        Readings tell the sum of two delays; how it is shared out shows only in how delays act
        within a physics step. That comes again with every step, and between nothing and a whole
        step there is none: no way leads downhill from one share to the next.
        """
        widths = dict(zip(self.delays, 1.0 / np.array(self._steps), strict=True))  # in steps
        longest = self.longest(u)
        total = _acting(u[i] * widths[i]) + _acting(u[longest] * widths[longest])
        most = min(total - 1.0, widths[i] * (self.centre[i] + _FURTHEST * self.spread[i]))
        coarse = max(1.0, total / _SHARES)
        beyond = np.arange(np.ceil(max(most, 1.0)), total - 1.0, coarse)
        shares = np.unique([0.0, *np.arange(1.0, max(most, 1.0), _SHARE), *beyond, total])
        found = np.tile(u, (len(shares), 1))
        found[:, i] = shares / widths[i]
        found[:, longest] = (total - shares) / widths[longest]
        inside = (found >= 0.0).all(axis=1) & (found <= 1.0).all(axis=1)
        return found[inside] if inside.any() else u[None]  # at its bound, there is no other share

    def longest(self, u: np.ndarray) -> int:
        """Which parameter is the longest delay."""
        return int(max(self.delays, key=lambda i: u[i] / self.step_of(i)))

    def step_of(self, delay: int) -> float:
        """A physics step of a delay, in the unit cube."""
        return self._steps[list(self.delays).index(delay)]

    def slopes(self, u: np.ndarray, ways: np.ndarray) -> Slopes:
        """Slopes at a point over its own uncertainty: differences along ways (k, d) and delays.

        Dry friction is not smooth. A slope over a step as wide as what is uncertain says how
        readings change across the posterior; a finer one says what happens at a point that nobody
        knows so well. Delays act in proportion, but MuJoCo has none between nothing and a physics
        step: their slopes are taken alone, beyond that.
        """
        moved = np.clip(np.concatenate([u + ways, u - ways]), 0.0, 1.0)
        late, gaps = self._delayed(u)
        found = self.problem.residual(np.concatenate([u[None], moved, late]))
        readings = self._free(found)
        values, changes, later = np.split(readings, [1, 1 + len(moved)])
        slopes = np.zeros((len(u), readings.shape[1]))
        if len(ways):
            steps = (moved - u) @ np.linalg.pinv(ways)  # along the ways: about ±1, less at a bound
            along, *_ = np.linalg.lstsq(steps, changes - values, rcond=1e-9)
            slopes = np.linalg.pinv(ways) @ along
        upper, lower = np.split(later, 2)
        slopes[self.delays] = (upper - lower) / gaps[:, None]
        return Slopes(values=values[0], slopes=slopes.T)

    def _delayed(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points a little later and a little earlier in each delay (2 k, d), and how far apart."""
        upper, lower = np.tile(u, (2, len(self.delays), 1))
        for row, (i, step) in enumerate(zip(self.delays, self._steps, strict=True)):
            middle = np.clip(u[i], step, 1.0)
            upper[row, i] = min(middle + _FINE * step, 1.0)
            lower[row, i] = max(middle - _FINE * step, step)
        rows = np.arange(len(self.delays))
        gaps = upper[rows, self.delays] - lower[rows, self.delays]
        return np.concatenate([upper, lower]), gaps

    def seen(self, here: Residual, slopes: np.ndarray) -> Slopes:
        """A residual and its slopes as `Problem.jacobian` gives them, in this target's units."""
        change = self._starts.freed(slopes.T * self._scale)
        return Slopes(values=self._free(here)[0], slopes=change.T)

    def _free(self, residual: Residual) -> np.ndarray:
        return self._starts.freed(residual.values * self._scale)


def _acting(steps: float) -> float:
    """A delay of some physics steps, as MuJoCo has it: none, or at least one."""
    return 0.0 if steps < 0.5 else max(steps, 1.0)


def delays_of(space: Space) -> np.ndarray:
    """Which parameters are delays."""
    return np.array([i for i, p in enumerate(space) if is_delay(p)], int)


def prior_spread(space: Space) -> np.ndarray:
    """(d,) standard deviation of each parameter's prior, in the unit cube."""
    return np.maximum(_quantiles(space).std(axis=1), 1e-6)


def prior_mean(space: Space) -> np.ndarray:
    """(d,) mean of each parameter's prior, in the unit cube."""
    return _quantiles(space).mean(axis=1)


def prior_support(space: Space) -> np.ndarray:
    """(d, 2) between what each parameter's prior lies for all that counts, in the unit cube."""
    ends = np.array([_RARE, 1.0 - _RARE])
    found = np.array([p.encode(p.quantile(ends)) for p in space])
    return found + 10.0 * _RARE * np.diff(found, axis=1) * np.array([-1.0, 1.0])


def _quantiles(space: Space) -> np.ndarray:
    u = (np.arange(64) + 0.5) / 64
    return np.array([p.encode(p.quantile(u)) for p in space])


def _noise(here: Residual, weight: np.ndarray) -> np.ndarray:
    """(columns,) what is left of a typical reading of each column, outliers counting less."""
    square = weight * here.values[0] ** 2
    count = np.bincount(here.column, weight)
    return np.sqrt(np.bincount(here.column, square) / np.maximum(count, 1e-12))
