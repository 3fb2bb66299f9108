"""What passes between a policy and its body: names, order, sizes, units, limits, rate.

A world has one, a robot has one, and a policy remembers the one it was trained with. Most stories
of a sim-to-real gap begin with two of them that differ and nobody who compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trueup.errors import TrueupError

_RATE_TOLERANCE = 0.01
_LIMIT_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One observed signal.

    Attributes:
        name: Its name.
        size: How many numbers.
        unit: Of each of them.
    """

    name: str
    size: int
    unit: str


@dataclass(frozen=True, kw_only=True)
class Interface:
    """What one body offers, or what one policy was trained with.

    Attributes:
        observations: What is observed, in order.
        commands: The joints that are commanded, in order.
        unit: Of each command.
        low: Smallest command of each joint.
        high: Largest command of each joint.
        period_s: Time between commands.
        measured: The observation that holds the commanded joints' positions, in their order; none
            where the body cannot measure them.
    """

    observations: tuple[Feature, ...]
    commands: tuple[str, ...]
    unit: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    period_s: float
    measured: str | None

    @property
    def width(self) -> int:
        """How many numbers one observation has."""
        return sum(feature.size for feature in self.observations)

    def check(self, body: Interface, *, policy: str = "the policy", of: str = "the world") -> None:
        """Refuse a body that this policy cannot drive; every difference is told, both sides named.

        A body may observe more than the policy needs. It must offer all that the policy reads, and
        take exactly the commands that the policy gives.
        """
        differences = list(self._differences(body, policy, of))
        if differences:
            raise TrueupError(
                f"{_capital(policy)} does not fit {of}: " + "; ".join(differences) + ".",
                fix="Use the world or robot it was trained for, or train it for this one.",
            )

    def _differences(self, body: Interface, policy: str, of: str) -> Iterator[str]:
        if self.commands != body.commands:
            same = sorted(self.commands) == sorted(body.commands)
            yield (
                f"{policy} commands {_listed(self.commands)}, {of} takes {_listed(body.commands)}"
                + (" (the same joints in another order)" if same else "")
            )
        elif self.unit != body.unit:
            yield f"{policy} commands in {_listed(self.unit)}, {of} in {_listed(body.unit)}"
        else:
            yield from self._outside(body, policy, of)
        if abs(self.period_s / body.period_s - 1.0) > _RATE_TOLERANCE:
            yield (
                f"{policy} was trained at {1 / self.period_s:.4g} Hz, "
                f"{of} runs at {1 / body.period_s:.4g} Hz"
            )
        offered = {feature.name: feature for feature in body.observations}
        for feature in self.observations:
            if feature.name not in offered:
                yield (
                    f"{policy} reads {feature.name!r}, {of} observes {_listed(tuple(offered))} only"
                )
            elif feature != (other := offered[feature.name]):
                yield (
                    f"{policy} reads {feature.name!r} as {feature.size} × {feature.unit}, "
                    f"{of} gives {other.size} × {other.unit}"
                )
        if self.measured is not None and self.measured != body.measured:
            yield (
                f"{policy} moves its joints from what {self.measured!r} reads, {of} measures them "
                + (f"as {body.measured!r}" if body.measured else "nowhere")
            )

    def _outside(self, body: Interface, policy: str, of: str) -> Iterator[str]:
        """Joints that would be commanded beyond the limits of the body."""
        for joint, low, high, least, most in zip(
            self.commands, self.low, self.high, body.low, body.high, strict=True
        ):
            if low < least - _LIMIT_TOLERANCE or high > most + _LIMIT_TOLERANCE:
                yield (
                    f"{policy} moves {joint!r} from {low:.4g} to {high:.4g}, "
                    f"{of} allows {least:.4g} to {most:.4g}"
                )


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words) or "nothing"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
