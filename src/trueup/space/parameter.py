"""One unknown number of a world: declared here, held by a point, never both."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import TrueupError, UnknownName
from trueup.space.gap import Gap
from trueup.space.prior import Fixed, LogUniform, Prior, Uniform

_NAME = re.compile(r"[a-z]+(/[A-Za-z0-9_.\-]+)+")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One number a world may have wrong.

    At `nominal` the effect that owns it changes nothing, bit for bit.

    Attributes:
        name: `gap/subject/quantity` or `gap/quantity`, e.g. `actuation/elbow_flex/damping`.
        unit: SI unit, or "1" for ratios and probabilities.
        nominal: The value in the nominal world.
        low: Smallest value that is physically possible and plausible.
        high: Largest such value.
        scale: "log" where factors matter more than differences; sets the unit cube's axis.
        prior: What to believe before measuring; by default even over the bounds, in `scale`.
        source: One line: where bounds and prior come from.
    """

    name: str
    unit: str
    nominal: float
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    prior: Prior | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for field in ("nominal", "low", "high"):
            value = getattr(self, field)
            if isinstance(value, (str, bool)):
                raise TrueupError(
                    f"{self.name!r} has {field} = {value!r}, which is not a number.",
                    fix="Give a plain number, in the parameter's own unit.",
                )
            object.__setattr__(self, field, float(value))
        if self.prior is None:
            object.__setattr__(self, "prior", LogUniform() if self.scale == "log" else Uniform())
        self._check()

    @property
    def gap(self) -> Gap:
        """The gap this number belongs to: the first segment of its name."""
        return Gap(self.name.split("/", 1)[0])

    @property
    def belief(self) -> Prior:
        """The prior, never None."""
        assert self.prior is not None
        return self.prior

    @property
    def fixed(self) -> bool:
        """Whether the prior holds this number at one value."""
        return isinstance(self.prior, Fixed)

    def encode(self, value: ArrayLike) -> np.ndarray:
        """Values to [0, 1] along the bounds; `decode` undoes it to within rounding."""
        x = np.asarray(value, float)
        if self.low == self.high:
            return np.full_like(x, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):  # neighbouring floats as bounds
            if self.scale == "log":
                u = np.log(x / self.low) / np.log(self.high / self.low)
            else:
                u = (x - self.low) / (self.high - self.low)
        return self._exact_at_ends(x, u, self.low, self.high, 0.0, 1.0)

    def decode(self, u: ArrayLike) -> np.ndarray:
        """[0, 1] to values; never leaves the bounds."""
        u = np.asarray(u, float)
        if self.scale == "log":
            value = self.low * (self.high / self.low) ** u
        else:
            value = self.low + u * (self.high - self.low)
        value = np.clip(value, self.low, self.high)
        return self._exact_at_ends(u, value, 0.0, 1.0, self.low, self.high)

    def quantile(self, u: ArrayLike) -> np.ndarray:
        """Values of the prior for uniform numbers."""
        return self.belief.quantile(np.asarray(u, float), self.low, self.high)

    def log_density(self, value: ArrayLike) -> np.ndarray:
        """Natural log of the prior's density."""
        return self.belief.log_density(np.asarray(value, float), self.low, self.high)

    def check_values(self, values: ArrayLike) -> None:
        """Raise unless every value is finite and inside the bounds."""
        x = np.atleast_1d(np.asarray(values, float))
        bad = ~((x >= self.low) & (x <= self.high))  # also catches NaN
        if bad.any():
            raise ValueOutOfBounds(self, float(x[bad][0]))

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal parameter."""
        return {
            "name": self.name,
            "unit": self.unit,
            "nominal": self.nominal,
            "low": self.low,
            "high": self.high,
            "scale": self.scale,
            "prior": self.belief.to_json(),
            "source": self.source,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Parameter:
        """The parameter that `to_json` described."""
        try:
            return Parameter(**{**data, "prior": Prior.from_json(data["prior"])})
        except (TypeError, KeyError, ValueError) as error:
            raise TrueupError(
                f"A parameter could not be read from {data!r}: {error}.",
                fix="A parameter has name, unit, nominal, low, high, scale, prior and source.",
            ) from error

    @staticmethod
    def _exact_at_ends(x, y, low, high, at_low, at_high) -> np.ndarray:
        """`y`, but for the ends of `x`, which rounding would miss by a digit."""
        return np.where(x <= low, at_low, np.where(x >= high, at_high, y))

    def _check(self) -> None:
        gap = self.name.split("/", 1)[0]
        if gap not in set(Gap):
            raise UnknownName(f"gap (the first part of parameter {self.name!r})", gap, list(Gap))
        if not _NAME.fullmatch(self.name):
            raise TrueupError(
                f"The parameter name {self.name!r} is not of the form gap/subject/quantity.",
                fix="Use letters, digits, '_', '-' and '.' between the slashes.",
            )
        if not all(math.isfinite(x) for x in (self.low, self.nominal, self.high)):
            raise TrueupError(
                f"{self.name!r} has a bound or nominal that is not finite: "
                f"low {self.low}, nominal {self.nominal}, high {self.high}.",
                fix="Give numbers; an unbounded parameter can be neither sampled nor identified.",
            )
        if not self.low <= self.nominal <= self.high:
            raise TrueupError(
                f"{self.name!r} has its nominal {self.nominal} outside its bounds "
                f"[{self.low}, {self.high}].",
                fix="Widen the bounds or correct the nominal value.",
            )
        if self.scale not in ("linear", "log"):
            raise UnknownName(f"scale (of {self.name!r})", self.scale, ("linear", "log"))
        if self.scale == "log" and self.low <= 0:
            raise TrueupError(
                f"{self.name!r} is on a log scale but its lower bound is {self.low}.",
                fix="Raise the bound above 0, or use the linear scale.",
            )
        self.belief.check(self.name, self.low, self.high)


class ValueOutOfBounds(TrueupError):
    """A value its parameter cannot take."""

    def __init__(self, parameter: Parameter, value: float) -> None:
        self.parameter, self.value = parameter, value
        low, high, unit = f"{parameter.low:g}", f"{parameter.high:g}", parameter.unit
        shown = repr(value) if f"{value:g}" in (low, high) else f"{value:g}"
        if math.isnan(value):
            what = f"The value of {parameter.name!r} is not a number; its bounds are"
        else:
            what = f"{parameter.name!r} = {shown} {unit} is out of its bounds"
        because = f" ({parameter.source})" if parameter.source else ""
        super().__init__(
            f"{what} [{low}, {high}] {unit}.", fix=f"Choose a value inside them{because}."
        )
