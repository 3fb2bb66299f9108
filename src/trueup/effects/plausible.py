"""How wide a number may be: what is possible, and what is usual.

The *limit* becomes the parameter's bounds: identification may go there. The *usual* range becomes
its prior: what is randomized by default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from trueup.space import LogUniform, Parameter, Uniform


class Plausible(ABC):
    """A rule that turns a nominal value into bounds and a prior."""

    @abstractmethod
    def parameter(self, *, name: str, unit: str, nominal: float, source: str) -> Parameter:
        """The parameter this rule makes of a nominal value."""


class _Linear(Plausible):
    """A rule on a linear scale, given by two ranges."""

    def parameter(self, *, name: str, unit: str, nominal: float, source: str) -> Parameter:
        (low, high), usual = self.limits(nominal), self.usually(nominal)
        return Parameter(
            name=name,
            unit=unit,
            nominal=nominal,
            low=min(low, nominal),
            high=max(high, nominal),
            prior=Uniform(*usual),
            source=source,
        )

    @abstractmethod
    def limits(self, nominal: float) -> tuple[float, float]:
        """What is possible."""

    @abstractmethod
    def usually(self, nominal: float) -> tuple[float, float]:
        """What is randomized by default."""


@dataclass(frozen=True)
class UpTo(_Linear):
    """From nothing up to `limit`; usually up to `usual`."""

    limit: float
    usual: float

    def limits(self, nominal: float) -> tuple[float, float]:
        return 0.0, self.limit

    def usually(self, nominal: float) -> tuple[float, float]:
        return 0.0, max(self.usual, nominal)


@dataclass(frozen=True)
class Around(_Linear):
    """The nominal value plus or minus `limit`; usually plus or minus `usual`."""

    limit: float
    usual: float

    def limits(self, nominal: float) -> tuple[float, float]:
        return nominal - self.limit, nominal + self.limit

    def usually(self, nominal: float) -> tuple[float, float]:
        return nominal - self.usual, nominal + self.usual


@dataclass(frozen=True)
class Between(_Linear):
    """Fixed bounds whatever the nominal; usually between two other numbers."""

    low: float
    high: float
    usual: tuple[float, float]

    def limits(self, nominal: float) -> tuple[float, float]:
        return self.low, self.high

    def usually(self, nominal: float) -> tuple[float, float]:
        return self.usual


@dataclass(frozen=True)
class Factor(Plausible):
    """The nominal value times or divided by `limit`, on a log scale; usually by `usual`.

    A nominal of zero has no factors: `zero` says what holds then.
    """

    limit: float
    usual: float
    zero: Plausible | None = None

    def parameter(self, *, name: str, unit: str, nominal: float, source: str) -> Parameter:
        if nominal <= 0:
            rule = self.zero or UpTo(limit=1.0, usual=0.1)
            return rule.parameter(name=name, unit=unit, nominal=nominal, source=source)
        return Parameter(
            name=name,
            unit=unit,
            nominal=nominal,
            low=nominal / self.limit,
            high=nominal * self.limit,
            scale="log",
            prior=LogUniform(nominal / self.usual, nominal * self.usual),
            source=source,
        )


Row = tuple[str, str, float, Plausible, str]
"""Quantity, unit, nominal value, what is plausible, and where that comes from."""


def declared(stem: str, rows: Iterable[Row]) -> tuple[Parameter, ...]:
    """The parameters of a table, named `stem/quantity`."""
    return tuple(
        rule.parameter(name=f"{stem}/{name}", unit=unit, nominal=nominal, source=source)
        for name, unit, nominal, rule, source in rows
    )
