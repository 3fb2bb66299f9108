"""What we believe of one number before measuring it.

A prior is a map from uniform numbers to values (`quantile`), so that every sampling plan, random,
Sobol or Latin hypercube, goes through the same door; and a density. Each is truncated to the bounds
of the parameter that holds it: a value outside cannot be drawn.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from trueup.errors import TrueupError, UnknownName
from trueup.space import normal


class Prior(ABC):
    """A distribution of one number, truncated to the bounds [low, high] of its parameter."""

    kinds: ClassVar[dict[str, type[Prior]]] = {}

    def __init_subclass__(cls) -> None:
        Prior.kinds[cls.__name__] = cls

    @abstractmethod
    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        """Values for uniform numbers `u` in [0, 1): feeding uniform draws samples the prior."""

    @abstractmethod
    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        """Natural log of the truncated density at `x`; -inf outside the bounds."""

    def check(self, name: str, low: float, high: float) -> None:
        """Raise when the numbers of this prior make no sense for parameter `name`."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise PriorMakesNoSense(self, name, f"{field.name} is {value}")

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal prior."""
        return {
            "kind": type(self).__name__,
            **{f.name: _plain(getattr(self, f.name)) for f in fields(self)},  # type: ignore[arg-type]
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Prior:
        """The prior that `to_json` described."""
        if not isinstance(data, dict):
            raise TrueupError(
                f"A prior could not be read from {data!r}.",
                fix='Write it as {"kind": "Uniform", "low": 0.0, "high": 1.0}.',
            )
        kind = Prior.kinds.get(str(data.get("kind")))
        if kind is None:
            raise UnknownName("kind of prior", str(data.get("kind")), Prior.kinds)
        return kind._read({key: value for key, value in data.items() if key != "kind"})

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Prior:
        try:
            return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
        except TypeError as error:
            names = ", ".join(f.name for f in fields(cls))  # type: ignore[arg-type]
            raise TrueupError(
                f"A {cls.__name__} prior could not be read from the fields {sorted(data)}.",
                fix=f"It takes: {names}.",
            ) from error


class PriorMakesNoSense(TrueupError):
    """Numbers that describe no distribution inside the parameter's bounds."""

    def __init__(self, prior: Prior, name: str, why: str) -> None:
        super().__init__(
            f"The prior {prior} of {name!r} makes no sense: {why}.",
            fix="Choose finite numbers that leave some probability inside the bounds.",
        )


@dataclass(frozen=True)
class Fixed(Prior):
    """A number held at one value: known, or left out of the randomization."""

    value: float

    def support(self, low: float, high: float) -> tuple[float, float]:
        """The value, as the two ends of a range of no width."""
        return self.value, self.value

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        return np.full_like(u, self.value)

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        return np.where(x == self.value, 0.0, -np.inf)

    def check(self, name: str, low: float, high: float) -> None:
        super().check(name, low, high)
        if not low <= self.value <= high:
            raise PriorMakesNoSense(self, name, f"it lies outside the bounds [{low}, {high}]")


@dataclass(frozen=True)
class Uniform(Prior):
    """Every value between `low` and `high` alike; None takes the parameter's bound."""

    low: float | None = None
    high: float | None = None

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        low, high = self.support(low, high)
        return np.clip(low + u * (high - low), low, high)

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        low, high = self.support(low, high)
        return np.where((x >= low) & (x <= high), -math.log(high - low or 1.0), -np.inf)

    def check(self, name: str, low: float, high: float) -> None:
        super().check(name, low, high)
        inside = self.support(low, high)
        if inside[0] > inside[1]:
            raise PriorMakesNoSense(self, name, f"it does not meet the bounds [{low}, {high}]")

    def support(self, low: float, high: float) -> tuple[float, float]:
        """The ends of the range inside the bounds."""
        return (
            low if self.low is None else max(low, self.low),
            high if self.high is None else min(high, self.high),
        )


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Every order of magnitude between `low` and `high` alike."""

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        low, high = self.support(low, high)
        return np.clip(low * (high / low) ** u, low, high)

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        low, high = self.support(low, high)
        inside = (x >= low) & (x <= high)
        width = math.log(high / low) or 1.0
        return np.where(inside, -np.log(np.where(inside, x, 1.0)) - math.log(width), -np.inf)

    def check(self, name: str, low: float, high: float) -> None:
        super().check(name, low, high)
        if self.support(low, high)[0] <= 0:
            raise PriorMakesNoSense(self, name, "a logarithm needs a lower bound above 0")


@dataclass(frozen=True)
class Normal(Prior):
    """Around `mean` with standard deviation `std`."""

    mean: float
    std: float

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        return np.clip(normal.quantile(u, self.mean, self.std, low, high), low, high)

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        return normal.log_density(x, self.mean, self.std, low, high)

    def check(self, name: str, low: float, high: float) -> None:
        super().check(name, low, high)
        if self.std <= 0:
            raise PriorMakesNoSense(self, name, "its standard deviation is not above 0")
        if normal.mass(self.mean, self.std, low, high) < 1e-12:
            raise PriorMakesNoSense(self, name, f"the bounds [{low}, {high}] cut all of it away")


@dataclass(frozen=True)
class LogNormal(Prior):
    """A number whose logarithm is normal: `median` times or divided by `factor` at one sigma."""

    median: float
    factor: float

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        return np.clip(np.exp(normal.quantile(u, *self._logs(low, high))), low, high)

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        positive = np.where(x > 0, x, 1.0)
        inside = normal.log_density(np.log(positive), *self._logs(low, high)) - np.log(positive)
        return np.where((x > 0) & (x >= low) & (x <= high), inside, -np.inf)

    def check(self, name: str, low: float, high: float) -> None:
        super().check(name, low, high)
        if self.median <= 0 or self.factor <= 1:
            raise PriorMakesNoSense(self, name, "median must be above 0 and factor above 1")
        if normal.mass(*self._logs(low, high)) < 1e-12:
            raise PriorMakesNoSense(self, name, f"the bounds [{low}, {high}] cut all of it away")

    def _logs(self, low: float, high: float) -> tuple[float, float, float, float]:
        return (
            math.log(self.median),
            math.log(self.factor),
            math.log(low) if low > 0 else -math.inf,
            math.log(high) if high > 0 else -math.inf,
        )


@dataclass(frozen=True)
class Mixture(Prior):
    """One of several priors, chosen with the given weights."""

    weights: tuple[float, ...]
    priors: tuple[Prior, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        object.__setattr__(self, "priors", tuple(self.priors))

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        edges = np.concatenate([[0.0], np.cumsum(self._shares())])
        which = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(self.priors) - 1)
        within = (u - edges[which]) / (edges[which + 1] - edges[which])
        parts = [prior.quantile(within, low, high) for prior in self.priors]
        return np.take_along_axis(np.stack(parts), which[None], axis=0)[0]

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        parts = [prior.log_density(x, low, high) for prior in self.priors]
        shares = np.log(self._shares()).reshape(-1, *[1] * np.ndim(x))
        return np.logaddexp.reduce(np.stack(parts) + shares, axis=0)

    def check(self, name: str, low: float, high: float) -> None:
        if len(self.weights) != len(self.priors) or not self.priors:
            raise PriorMakesNoSense(self, name, "it needs one weight for each prior")
        if not all(math.isfinite(w) and w > 0 for w in self.weights):
            raise PriorMakesNoSense(self, name, "its weights must be above 0")
        for prior in self.priors:
            prior.check(name, low, high)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "Mixture",
            "weights": list(self.weights),
            "priors": [prior.to_json() for prior in self.priors],
        }

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Prior:
        priors = tuple(Prior.from_json(prior) for prior in data.get("priors", ()))
        return cls(weights=tuple(data.get("weights", ())), priors=priors)

    def _shares(self) -> np.ndarray:
        weights = np.asarray(self.weights)
        return weights / weights.sum()


@dataclass(frozen=True)
class Samples(Prior):
    """One of the given values, each alike: an empirical distribution."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(float(value) for value in self.values))

    def quantile(self, u: np.ndarray, low: float, high: float) -> np.ndarray:
        values = np.asarray(self.values)
        return values[np.minimum((u * len(values)).astype(int), len(values) - 1)]

    def log_density(self, x: np.ndarray, low: float, high: float) -> np.ndarray:
        counts = (np.asarray(x)[..., None] == np.asarray(self.values)).sum(axis=-1)
        with np.errstate(divide="ignore"):
            return np.log(counts / len(self.values))

    def check(self, name: str, low: float, high: float) -> None:
        values = np.asarray(self.values, float)
        if not values.size or not np.isfinite(values).all():
            raise PriorMakesNoSense(self, name, "it needs at least one value, all finite")
        if values.min() < low or values.max() > high:
            raise PriorMakesNoSense(self, name, f"some values lie outside [{low}, {high}]")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
