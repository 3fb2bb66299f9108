"""What we believe of several numbers together, correlations included.

This is how a posterior comes back into a space: as samples (lossless) or as a normal in the
parameters' own scales (what a Laplace approximation returns).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trueup.errors import TrueupError, UnknownName
from trueup.space import normal
from trueup.space.parameter import Parameter


class Joint(ABC):
    """A distribution over the named parameters; replaces their own priors."""

    names: tuple[str, ...]
    kinds: ClassVar[dict[str, type[Joint]]] = {}

    def __init_subclass__(cls) -> None:
        Joint.kinds[cls.__name__] = cls

    @abstractmethod
    def quantile(self, u: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
        """Values (n, k) for uniform numbers (n, k), inside the parameters' bounds."""

    @abstractmethod
    def log_density(self, x: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
        """Natural log density (n,) of values (n, k)."""

    @abstractmethod
    def marginal(self, names: Sequence[str]) -> Joint:
        """The same belief about fewer parameters."""

    @abstractmethod
    def check(self, parameters: Sequence[Parameter]) -> None:
        """Raise when the numbers do not fit the parameters."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal joint."""

    @classmethod
    @abstractmethod
    def _read(cls, data: dict[str, Any]) -> Joint: ...

    @staticmethod
    def from_json(data: dict[str, Any]) -> Joint:
        """The joint that `to_json` described."""
        found = data.get("kind") if isinstance(data, dict) else data
        kind = Joint.kinds.get(str(found)) if isinstance(data, dict) else None
        if kind is None:
            raise UnknownName("kind of joint prior", str(found), Joint.kinds)
        try:
            return kind._read(data)
        except (KeyError, TypeError, ValueError, TrueupError) as error:
            raise TrueupError(
                f"A {kind.__name__} could not be read: {error!r}.",
                fix="Write it again with Space.save.",
            ) from error

    def _columns(self, names: Sequence[str]) -> list[int]:
        return [self.names.index(name) for name in names]


@dataclass(frozen=True, eq=False)
class JointSamples(Joint):
    """Equally likely rows of values: any posterior, without loss.

    Attributes:
        names: The parameters, in column order.
        rows: (m, k) values.
    """

    names: tuple[str, ...]
    rows: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "rows", _shaped(self.rows, (-1, len(self.names)), "rows", self))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, JointSamples)
            and self.names == other.names
            and np.array_equal(self.rows, other.rows)
        )

    def quantile(self, u: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
        # one uniform number chooses the row; the other columns are spent so that adding or
        # removing a joint does not shift anyone else's draws
        m = len(self.rows)
        return self.rows[np.minimum((u[:, 0] * m).astype(int), m - 1)]

    def log_density(self, x: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
        hits = (x[:, None, :] == self.rows).all(axis=-1).sum(axis=-1)
        with np.errstate(divide="ignore"):
            return np.log(hits / len(self.rows))

    def marginal(self, names: Sequence[str]) -> JointSamples:
        return JointSamples(tuple(names), self.rows[:, self._columns(names)])

    def check(self, parameters: Sequence[Parameter]) -> None:
        if not len(self.rows):
            raise TrueupError(
                f"The joint samples of {list(self.names)} have no rows.", fix="Give at least one."
            )
        for column, parameter in zip(self.rows.T, parameters, strict=True):
            parameter.check_values(column)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "JointSamples", "names": list(self.names), "rows": self.rows.tolist()}

    @classmethod
    def _read(cls, data: dict[str, Any]) -> JointSamples:
        return cls(tuple(data["names"]), np.array(data["rows"], float))


@dataclass(frozen=True, eq=False)
class JointNormal(Joint):
    """A correlated normal in the parameters' scales (logarithms where the scale is log).

    Attributes:
        names: The parameters, in order.
        mean: (k,) means, in scale coordinates: log(value) for log-scaled parameters.
        covariance: (k, k) covariance in the same coordinates.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    covariance: np.ndarray

    def __post_init__(self) -> None:
        k = len(self.names)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "mean", _shaped(self.mean, (k,), "mean", self))
        object.__setattr__(self, "covariance", _shaped(self.covariance, (k, k), "covariance", self))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, JointNormal)
            and self.names == other.names
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.covariance, other.covariance)
        )

    def quantile(self, u: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
        # one coordinate after the other, each truncated given those before it: stays inside the
        # bounds without piling up on them
        low, high = _scaled_bounds(parameters)
        factor = np.linalg.cholesky(self.covariance)
        z = np.zeros_like(u)
        for i, (row, centre) in enumerate(zip(factor, self.mean, strict=True)):
            given = centre + z[:, :i] @ row[:i]
            x = normal.quantile(u[:, i], given, row[i], low[i], high[i])
            z[:, i] = (x - given) / row[i]
        return _from_scale(self.mean + z @ factor.T, parameters)

    def log_density(self, x: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
        # not divided by the mass inside the bounds, which has no closed form and is constant
        low, high = np.array([[p.low, p.high] for p in parameters]).T
        inside = ((x >= low) & (x <= high)).all(axis=1)
        x = np.clip(x, low, high)
        difference = _to_scale(x, parameters) - self.mean
        factor = np.linalg.cholesky(self.covariance)
        z = np.linalg.solve(factor, difference.T)
        constant = np.log(np.diag(factor)).sum() + 0.5 * len(self.names) * np.log(2 * np.pi)
        jacobian = sum(
            np.log(x[:, i]) for i, p in enumerate(parameters) if p.scale == "log"
        )  # density per unit of value, not of its logarithm
        return np.where(inside, -0.5 * (z * z).sum(axis=0) - constant - jacobian, -np.inf)

    def marginal(self, names: Sequence[str]) -> JointNormal:
        keep = self._columns(names)
        return JointNormal(tuple(names), self.mean[keep], self.covariance[np.ix_(keep, keep)])

    def check(self, parameters: Sequence[Parameter]) -> None:
        symmetric = np.allclose(self.covariance, self.covariance.T, rtol=1e-9, atol=0)
        finite = np.isfinite(self.mean).all() and np.isfinite(self.covariance).all()
        if not (finite and symmetric and _positive(self.covariance)):
            raise TrueupError(
                f"The joint normal of {list(self.names)} has a covariance that is not symmetric "
                "and positive, or numbers that are not finite.",
                fix="Leave unidentified parameters out of it, so that they keep their own prior.",
            )
        for i, (low, high) in enumerate(zip(*_scaled_bounds(parameters), strict=True)):
            std = float(np.sqrt(self.covariance[i, i]))
            if low < high and normal.mass(float(self.mean[i]), std, low, high) < 1e-12:
                raise TrueupError(
                    f"The joint normal of {list(self.names)} leaves nothing inside the bounds of "
                    f"{self.names[i]!r}.",
                    fix="Widen the bounds, or correct its mean (log(value) on a log scale).",
                )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "JointNormal",
            "names": list(self.names),
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
        }

    @classmethod
    def _read(cls, data: dict[str, Any]) -> JointNormal:
        return cls(tuple(data["names"]), np.array(data["mean"]), np.array(data["covariance"]))


def _shaped(values: Any, shape: tuple[int, ...], field: str, joint: Joint) -> np.ndarray:
    array = np.array(values, float)
    if array.ndim != len(shape) or any(
        want not in (-1, have) for want, have in zip(shape, array.shape, strict=True)
    ):
        wanted = str(shape).replace("-1", "n")
        raise TrueupError(
            f"The {field} of a {type(joint).__name__} over {list(joint.names)} need the shape "
            f"{wanted}, not {array.shape}.",
            fix="Give one column for each parameter, in the order of the names.",
        )
    array.flags.writeable = False
    return array


def _to_scale(x: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
    logs = np.array([p.scale == "log" for p in parameters])
    return np.where(logs, np.log(np.where(logs, x, 1.0)), x)


def _from_scale(x: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
    logs = np.array([p.scale == "log" for p in parameters])
    values = np.where(logs, np.exp(np.where(logs, x, 0.0)), x)
    return np.clip(values, [p.low for p in parameters], [p.high for p in parameters])


def _scaled_bounds(parameters: Sequence[Parameter]) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.array([[p.low, p.high] for p in parameters]).T
    return _to_scale(low, parameters), _to_scale(high, parameters)


def _positive(covariance: np.ndarray) -> bool:
    """Whether a finite, symmetric matrix is a covariance, whatever the units of its numbers."""
    size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if not size.all():
        return False
    return bool(np.linalg.eigvalsh(covariance / np.outer(size, size)).min() > 0.0)
