"""What was measured by hand, taken in: a scale and a caliper narrow a space as a fit does."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from trueup.errors import TrueupError, UnknownName
from trueup.space import Normal, Parameter, Prior, Space, Uniform
from trueup.worlds import World

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"({_NUMBER})(?:±|\+-|\+/-)({_NUMBER})")
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})")
_FORMS = "NAME=VALUE+-ERROR for one value, or NAME=LOW..HIGH for the range over several objects"


def read_measured(world: World, texts: Iterable[str]) -> dict[str, Prior]:
    """Beliefs from words such as `object/cube/mass=0.034+-0.001` or `...=0.02..0.05`."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise TrueupError(f"{text!r} is no measurement.", fix=f"Write {_FORMS}.")
        if name not in world.catalogue:
            raise UnknownName(
                f"parameter of {world.name}",
                name,
                world.catalogue.names,
                fix="`trueup space` lists them.",
            )
        if name in found:
            raise TrueupError(
                f"{name} is measured twice, once as {text!r}.", fix="Give each parameter once."
            )
        found[name] = _belief(world.catalogue[name], value, text)
    if not found:
        raise TrueupError("No measurement was given.", fix=f"Write {_FORMS}.")
    return found


def entered(world: World, texts: Iterable[str], space: Space | None = None) -> Space:
    """A space that believes what was measured; the world's own by default.

    A parameter that the space leaves out, because it is optional, is added.
    """
    beliefs = read_measured(world, texts)
    space = space or world.space
    if any(name not in space for name in beliefs):
        names = [n for n in world.catalogue.names if n in space or n in beliefs]
        believed = {p.name: p.belief for p in space}
        space = world.catalogue.select(*names).narrowed(believed)
    return space.narrowed(beliefs)


def _belief(parameter: Parameter, value: str, text: str) -> Prior:
    one, span = _VALUE.fullmatch(value), _RANGE.fullmatch(value)
    if one is None and span is None:
        raise TrueupError(
            f"{text!r} gives no error of the measurement.", fix=f"Write {_FORMS}, in SI units."
        )
    first, second = (float(part) for part in (one or span).groups())  # type: ignore[union-attr]
    if one is not None:
        _check(parameter, (first,), text)
        if not (math.isfinite(second) and second > 0):
            raise TrueupError(f"{text!r} has the error {second:g}.", fix="Give one above 0.")
        return Normal(mean=first, std=second)
    _check(parameter, (first, second), text)
    if not first < second:
        raise TrueupError(f"{text!r} has no width.", fix="Give the smaller end first.")
    return Uniform(low=first, high=second)


def _check(parameter: Parameter, values: tuple[float, ...], text: str) -> None:
    for value in values:
        if not parameter.low <= value <= parameter.high:
            raise TrueupError(
                f"{text!r} lies outside the bounds of {parameter.name}, {parameter.low:g} to "
                f"{parameter.high:g} {parameter.unit}.",
                fix="Check the unit: all numbers are in SI units.",
            )
