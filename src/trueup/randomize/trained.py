"""How far out a value lies in the distribution that a policy was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from trueup.randomize.ranges import central
from trueup.space import JointSamples, Parameter, Space

_SAMPLES = 4096  # worlds of the training, to compare with
_KNOTS = 2049
_OUTSIDE = 1e-3  # share on either side, over all parameters, that counts as not trained
_SMALLEST = 1e-12  # tail that counts
_NEAR = 1e-9  # relative: rounding


@dataclass(frozen=True, kw_only=True)
class Marginal:
    """What training knew of one parameter.

    Attributes:
        parameter: The parameter, as it was trained.
        sorted: Values in order, equally likely.
        low: Lowest value that counts as trained.
        high: Highest such value.
        open_below: Whether there could be anything below `low`: it is not the parameter's bound.
        open_above: The same above `high`.
    """

    parameter: Parameter
    sorted: np.ndarray
    low: float
    high: float
    open_below: bool
    open_above: bool

    @property
    def sides(self) -> float:
        """How many sides count: one where the other ends at the parameter's bound."""
        return 2.0 if self.open_below == self.open_above else 1.0

    def quantile(self, x: np.ndarray) -> np.ndarray:
        """The share of trained worlds below each value."""
        shares = np.linspace(0.0, 1.0, len(self.sorted))
        upto = np.interp(x, self.sorted, shares)
        below = 1.0 - np.interp(-x, -self.sorted[::-1], shares)
        return np.asarray(0.5 * (below + upto))  # they differ where many worlds share one value

    def contains(self, x: np.ndarray) -> np.ndarray:
        """Whether values lie within what counts as trained."""
        slack = _NEAR * max(self.high - self.low, abs(self.low), abs(self.high))
        return (x >= self.low - slack) & (x <= self.high + slack)

    def tail(self, q: np.ndarray) -> np.ndarray:
        """Share of trained worlds at least as near to an open end, for quantiles `q`.

        The bound of a parameter is no edge: nothing lies beyond it. No delay at all, say, is the
        most harmless delay and not the strangest, though no world has less.
        """
        if self.sides == 2.0:
            return 2.0 * np.minimum(q, 1.0 - q)
        return 1.0 - q if self.open_above else q

    def drawn_tails(self, generator: np.random.Generator, n: int) -> np.ndarray:
        """(n,) tails of worlds of the training: even from 0 to 1, unless many share a value."""
        u = generator.random(n)
        stepped = (np.diff(self.sorted) == 0.0).any()
        return self.tail(self.quantile(self.parameter.quantile(u))) if stepped else u

    def open_tail(self, q: np.ndarray) -> np.ndarray:
        """The same for the nearer end alone, and 1 where that is a bound."""
        below = np.where(self.open_below, q, 1.0)
        return np.minimum(below, np.where(self.open_above, 1.0 - q, 1.0))


class Trained:
    """A trained distribution, ready to be asked how far out points lie in it.

    How far out a point is as a whole must not be asked of the density: that is flat for uniform
    priors, so that a corner of thirty ranges would count as ordinary. Nor of a sum over parameters:
    in most points that anyone asks about nearly all parameters are nominal, and being ordinary in
    those would make up for the rest. So it is asked how many parameters lie far out, against how
    many would by chance, at whichever tail that is the strangest (Berk and Jones 1979). A value in
    the outermost share `edge` counts as in that share and no further, since what lies outside is
    told of each parameter by itself. Parameters that a joint belief ties together count by what is
    left of each when those before it are known. The result is compared with that of worlds drawn
    from the distribution.

    Args:
        space: The trained distribution.
        generator: Draws the worlds to compare with.
        edge: Share of a parameter's worlds on either side that is its edge.
    """

    def __init__(self, space: Space, generator: np.random.Generator, *, edge: float) -> None:
        self.space, self._edge = space, edge
        drawn = space.sample(generator, _SAMPLES if space.joints else 1).values
        samples = {n for j in space.joints if isinstance(j, JointSamples) for n in j.names}
        self._joined = [[space.index(name) for name in joint.names] for joint in space.joints]
        joined = {i for columns in self._joined for i in columns}
        free = set(space.free)
        self.columns = [i for i, p in enumerate(space) if p.name in free]
        self.marginals = {
            i: _from_draws(p, drawn[:, i], p.name in samples)
            if i in joined
            else _from_prior(p, len(self.columns))
            for i, p in enumerate(space)
            if p.name in free
        }
        self._alone = [i for i in self.columns if i not in joined]
        self._unties = [self._untie(drawn, columns) for columns in self._joined]
        tails = [self.marginals[i].drawn_tails(generator, _SAMPLES) for i in self._alone]
        self._distances = np.sort(self._distance([*tails, *self._tied(drawn)]))

    def distance(self, values: np.ndarray) -> np.ndarray:
        """(n,) how much further out than by chance worlds (n, len(space)) are; 0 if not at all."""
        alone = [(self.marginals[i], values[:, i]) for i in self._alone]
        tails = [marginal.tail(marginal.quantile(x)) for marginal, x in alone]
        tails += self._tied(values)
        return self._distance(tails) if tails else np.zeros(len(values))

    def _distance(self, tails: list[np.ndarray]) -> np.ndarray:
        """The same of tails, one array (n,) for each free parameter, those alone first."""
        if not tails:
            return np.zeros(_SAMPLES)
        floor = np.full(len(tails), _SMALLEST)
        floor[: len(self._alone)] = [self._edge * self.marginals[i].sides for i in self._alone]
        return _strangeness(np.sort(np.maximum(np.stack(tails, axis=1), floor), axis=1))

    def _tied(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Tails of the parameters in joint beliefs, each given those before it."""
        for columns, untie in zip(self._joined, self._unties, strict=True):
            yield from 2.0 * ndtr(-np.abs(self._scores(values, columns) @ untie.T)).T

    def rarity(self, values: np.ndarray) -> np.ndarray:
        """(n,) share of trained worlds that lie at least as far out as worlds (n, len(space))."""
        nearer = np.searchsorted(self._distances, self.distance(values))
        return (len(self._distances) - nearer) / len(self._distances)

    def _scores(self, values: np.ndarray, columns: list[int]) -> np.ndarray:
        quantiles = [self.marginals[i].quantile(values[:, i]) for i in columns]
        return ndtri(_cut(np.stack(quantiles, axis=-1)))

    def _untie(self, drawn: np.ndarray, columns: list[int]) -> np.ndarray:
        """Turns tied scores into independent ones, each given those before it."""
        z = self._scores(drawn, columns)
        # samples may have fewer rows than parameters: a little independence keeps it solvable
        correlation = 0.98 * (z.T @ z) / len(z) + 0.02 * np.eye(len(columns))
        return np.linalg.inv(np.linalg.cholesky(correlation))


def _strangeness(tails: np.ndarray) -> np.ndarray:
    """(n,) the strangest count of small tails (n, k), sorted: Berk and Jones's statistic."""
    k = tails.shape[1]
    share = np.arange(1, k + 1) / k
    expected = np.clip(tails, _SMALLEST, 1.0 - 1e-12)
    rest = np.where(share < 1.0, 1.0 - share, 1.0)
    surprise = share * np.log(share / expected) + (1.0 - share) * np.log(rest / (1.0 - expected))
    return k * np.where(share > expected, surprise, 0.0).max(axis=1)


def _from_prior(p: Parameter, count: int) -> Marginal:
    """The marginal of a prior; without ends of its own it ends where none of `count` would be."""
    sorted_values = p.quantile(np.linspace(0.0, 1.0, _KNOTS))
    cut = 0.0 if central(p) == (0.0, 1.0) else _OUTSIDE / count
    low, high = p.quantile(np.array([cut, 1.0 - cut]))
    return _marginal(p, sorted_values, float(low), float(high))


def _from_draws(p: Parameter, column: np.ndarray, exact: bool) -> Marginal:
    """The marginal of a joint belief."""
    column = np.sort(column)
    low, high = float(column[0]), float(column[-1])
    if not exact:  # the very ends of a sample are a little too far in
        slack = 0.05 * (high - low)
        low, high = max(low - slack, p.low), min(high + slack, p.high)
    return _marginal(p, column, low, high)


def _marginal(p: Parameter, values: np.ndarray, low: float, high: float) -> Marginal:
    slack = _NEAR * (p.high - p.low)
    return Marginal(
        parameter=p,
        sorted=values,
        low=low,
        high=high,
        open_below=low > p.low + slack,
        open_above=high < p.high - slack,
    )


def _cut(q: np.ndarray) -> np.ndarray:
    """Probabilities that have finite scores."""
    return np.clip(q, 0.5 / _SAMPLES, 1.0 - 0.5 / _SAMPLES)
