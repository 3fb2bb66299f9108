"""What the robot may be: a world's space, narrowed by all that was learned of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trueup.diagnose.gap_report import GapReport
from trueup.errors import TrueupError
from trueup.space import Joint, LogNormal, Normal, Parameter, Prior, Space
from trueup.worlds import World

_REACH = 1.645  # spreads from the middle to the end of a 90 % interval


class Learned(Protocol):
    """What identification returns, as far as a space is narrowed by it."""

    @property
    def world(self) -> str: ...
    @property
    def joints(self) -> Sequence[Joint]: ...


@dataclass(frozen=True, kw_only=True)
class Belief:
    """A space to draw possible robots from.

    Attributes:
        space: Every parameter that may differ.
        learned: Names of those that something was learned of.
        notes: What of the evidence could not be used here.
    """

    space: Space
    learned: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def guessed(self) -> tuple[str, ...]:
        """Names of those that are only as wide as the world's own space."""
        return tuple(name for name in self.space.free if name not in self.learned)


def believed(
    world: World,
    estimates: Sequence[Learned] = (),
    report: GapReport | None = None,
    *,
    rest: bool = True,
) -> Belief:
    """The robot as far as it is known.

    Args:
        world: Where the policies are to play.
        estimates: Posteriors; a later one has the last word on a parameter that several name.
        report: A gap report whose departures count where no estimate says more.
        rest: Whether what nobody measured stays as wide as the world's space; else it is nominal.
    """
    known = set(world.catalogue.names)
    joints, notes = [], []
    for estimate in estimates:
        usable, said = _usable(estimate, known, world.name)
        joints += usable
        notes += said
    departures = _departures(report, world, {name for j in joints for name in j.names})
    learned = {name for joint in joints for name in joint.names} | set(departures)
    wide = set(world.space.names) if rest else set()
    space = Space(tuple(p for p in world.catalogue if p.name in learned | wide))
    for joint in joints:
        space = space.narrowed(joint)
    if departures:
        space = space.narrowed(departures)
    names = tuple(name for name in space.names if name in learned)
    return Belief(space=space, learned=names, notes=tuple(notes))


def _usable(estimate: Learned, known: set[str], world: str) -> tuple[list[Joint], list[str]]:
    found, unknown = [], []
    for joint in estimate.joints:
        names = [name for name in joint.names if name in known]
        unknown += [name for name in joint.names if name not in known]
        if names:
            found.append(joint if len(names) == len(joint.names) else joint.marginal(names))
    if not found:
        raise TrueupError(
            f"The estimate is of the world {estimate.world!r}, and none of its parameters is known "
            f"to {world!r}.",
            fix="Give an estimate of the same robot, or predict in that world.",
        )
    said = [f"{world} has no {', '.join(unknown)}: what the estimate says of it is not used."]
    return found, said if unknown else []


def _departures(report: GapReport | None, world: World, told: set[str]) -> dict[str, Prior]:
    if report is None:
        return {}
    if report.world != world.name:
        raise TrueupError(
            f"The gap report is of the world {report.world!r}, and the prediction is for "
            f"{world.name!r}.",
            fix="Give the report of this world.",
        )
    return {
        d.name: _prior(world.catalogue[d.name], d.value, d.low, d.high)
        for d in report.departures
        if d.name in world.catalogue and d.name not in told
    }


def _prior(parameter: Parameter, value: float, low: float, high: float) -> Prior:
    """A normal in the parameter's own scale whose middle 90 % is the interval."""
    if parameter.scale == "log":
        spread = max(math.log(high / low) / (2.0 * _REACH), 1e-6)
        return LogNormal(median=value, factor=math.exp(spread))
    width = parameter.high - parameter.low
    return Normal(mean=value, std=max((high - low) / (2.0 * _REACH), 1e-6 * width))
