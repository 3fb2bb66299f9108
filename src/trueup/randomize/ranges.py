"""How far a curriculum may go: the full range of each parameter that it moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.errors import TrueupError
from trueup.space import LogUniform, Parameter, Prior, Samples, Space, Uniform

_CUT = 0.001  # on each side, where a prior has no ends of its own


def central(p: Parameter) -> tuple[float, float]:
    """The two probabilities between which a prior counts as its range."""
    whole = isinstance(p.belief, (Uniform, Samples)) or p.fixed
    return (0.0, 1.0) if whole else (_CUT, 1.0 - _CUT)


def ends(p: Parameter) -> tuple[float, float]:
    """The range of a prior: its ends, or its central 99.8 % where only the bounds cut it."""
    low, high = p.quantile(np.array(central(p)))
    return float(low), float(high)


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """The parameters that a curriculum moves, along their scales: logarithms where that is log.

    Parameters that are held, and those that a joint belief covers, are not among them. A joint
    comes from measurements: it is narrow already, and its ties would be lost in ranges. It is drawn
    from as it is.

    Attributes:
        space: The space.
        columns: (k,) columns of the moving parameters in it.
        centre: (k,) nominal values; the median of the prior where that excludes the nominal.
        low: (k,) lower full ends.
        high: (k,) upper full ends.
        logs: (k,) whether the scale is logarithmic.
    """

    space: Space
    columns: np.ndarray
    centre: np.ndarray
    low: np.ndarray
    high: np.ndarray
    logs: np.ndarray

    @staticmethod
    def of(space: Space, *, widest: float = 1.0) -> Ranges:
        """The ranges of a space's priors, each stretched about its centre, inside the bounds."""
        if not 0.0 < widest < float("inf"):
            raise TrueupError(
                f"The widest range is {widest:g} times that of the priors, which is no width.",
                fix="Give 1 for the priors as they are, or 2 for twice as wide.",
            )
        joined = {name for joint in space.joints for name in joint.names}
        moving = [p for p in space if not p.fixed and p.name not in joined and p.low < p.high]
        logs = np.array([p.scale == "log" for p in moving], bool)
        low, high = _scaled(np.array([ends(p) for p in moving]).reshape(-1, 2).T, logs)
        bounds = _scaled(np.array([(p.low, p.high) for p in moving]).reshape(-1, 2).T, logs)
        nominal = _scaled(np.array([p.nominal for p in moving]), logs)
        median = _scaled(np.array([float(p.quantile(0.5)) for p in moving]), logs)
        centre = np.where((nominal >= low) & (nominal <= high), nominal, median)
        return Ranges(
            space=space,
            columns=np.array([space.index(p.name) for p in moving], int),
            centre=centre,
            low=np.maximum(centre + widest * (low - centre), bounds[0]),
            high=np.minimum(centre + widest * (high - centre), bounds[1]),
            logs=logs,
        )

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def _bounds(self) -> np.ndarray:
        moving = [self.space.parameters[i] for i in self.columns]
        return np.array([(p.low, p.high) for p in moving]).reshape(-1, 2).T

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The moving parameters."""
        return tuple(self.space.names[i] for i in self.columns)

    def background(self, generator: np.random.Generator, n: int) -> np.ndarray:
        """Rows (n, len(space)) drawn from the beliefs, to write moving parameters into."""
        return self.space.sample(generator, n).values.copy()

    def values(self, x: np.ndarray) -> np.ndarray:
        """Values (..., k) at places along the scales, never outside the bounds."""
        low, high = self._bounds
        with np.errstate(over="ignore"):
            return np.clip(np.where(self.logs, np.exp(np.where(self.logs, x, 0.0)), x), low, high)

    def places(self, values: np.ndarray) -> np.ndarray:
        """Places along the scales of values (..., k); undoes `values` to within rounding."""
        return _scaled(values, self.logs)

    def evenly(self, low: np.ndarray, high: np.ndarray) -> Space:
        """The space with each moving parameter even between two places."""
        return self.believing(
            {
                name: (LogUniform if log else Uniform)(float(a), float(b))
                for name, a, b, log in zip(
                    self.names, self.values(low), self.values(high), self.logs, strict=True
                )
            }
        )

    def believing(self, priors: Mapping[str, Prior]) -> Space:
        """The space with other priors for its moving parameters."""
        return self.space.narrowed(priors)


def _scaled(values: np.ndarray, logs: np.ndarray) -> np.ndarray:
    return np.where(logs, np.log(np.where(logs, values, 1.0)), values)
