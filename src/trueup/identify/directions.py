"""What the data cannot tell, in words: which parameters move together, and what would tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.space import Parameter, Space

UNSEEN = 0.8
"""Of what was believed before: a direction that is no narrower says nothing."""

_SPOKEN = 0.2  # share of a direction from which on a parameter is named
_ALIKE = 2.0  # factors within this of each other are one factor
_FASTER = 1.5  # than it was: a speed at which more would show

_LOADED = {"kp", "damping", "frictionloss", "armature", "kv", "force_limit"}
_ADVICE = {
    "kp": "Let the joint hold a load, or hold in poses in which gravity pulls at it differently.",
    "kv": "Move the joint {faster}.",
    "damping": "Move the joint {faster}.",
    "frictionloss": "Turn the joint round slowly and often, without stopping: a triangle.",
    "armature": "Turn the joint round harder: {faster}, at higher frequencies.",
    "force_limit": "Ask for more than the servo has: large, quick steps.",
    "zero_offset": "Hold in poses in which gravity pulls at the joint differently. About a "
    "vertical axis its zero shows in nothing but a camera or a tracked pose.",
    "backlash": "Turn the joint round slowly where nothing pulls at it.",
    "mass": "Hold in poses far apart, and shake.",
    "delay": "No motion does: stamp readings where they are taken, or record a second sensor.",
    "bias": "Compare with a second sensor, or with a mechanical stop.",
}
"""What would tell a parameter, by the last word of its name."""

_SCALE = (
    "Nothing fixes the scale of the forces of {joint}: gravity hardly loads it here. Let it hold a "
    "known load, or hold it against gravity in another pose."
)
_SPEEDS = "Move {joint} slowly, and {faster}."


@dataclass(frozen=True, kw_only=True)
class Direction:
    """A way to change parameters together that leaves hardly a trace in the data.

    Attributes:
        parts: How much of it each parameter is, in units of its prior's spread and largest first;
            only those that matter.
        left: Its spread as a share of what was believed before.
        kind: `alone`, `scale` (one factor for all), `sum` (one more as the other less), or `mixed`.
        shown: The change of each part for one prior's spread along it, in words.
        advice: What would tell; empty where nothing general can be said.
    """

    parts: tuple[tuple[str, float], ...]
    left: float
    kind: str = "mixed"
    shown: tuple[str, ...] = ()
    advice: str = ""

    def __str__(self) -> str:
        names = [name for name, _ in self.parts]
        left = f"{100 * min(self.left, 1.0):.0f} % of what was believed before is left"
        told = {
            "alone": f"These data do not tell {names[0]}: {left}.",
            "scale": f"These data tell {_and(names)} only up to a common scale: {left} of it.",
            "sum": f"These data tell only the sum of {_and(names)}: {left} of their difference.",
            "mixed": f"These data cannot tell {_and(names)} apart: moved together "
            f"({', '.join(self.shown)}) they leave hardly a trace.",
        }[self.kind]
        return f"{told} {self.advice}".strip()


def unseen_of(
    space: Space,
    covariance: np.ndarray,
    spread: np.ndarray,
    speeds: Mapping[str, float] | None = None,
) -> tuple[Direction, ...]:
    """Directions along which a covariance (d, d) is hardly narrower than the prior, widest first.

    Args:
        space: The parameters.
        covariance: In the unit cube.
        spread: (d,) standard deviation of the prior there.
        speeds: How fast each joint moved, rad/s, where that is known.
    """
    relative = covariance / np.outer(spread, spread)
    values, vectors = np.linalg.eigh(relative)
    found = []
    for vector in _simplest(vectors[:, np.sqrt(np.maximum(values, 0.0)) >= UNSEEN]).T:
        left = float(np.sqrt(vector @ relative @ vector))
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        some = [i for i in np.argsort(-np.abs(vector)) if abs(vector[i]) >= _SPOKEN]
        found.append(_direction(space, vector, some, spread, left, speeds or {}))
    return tuple(sorted(found, key=lambda direction: -direction.left))


def _simplest(axes: np.ndarray) -> np.ndarray:
    """Orthonormal axes (d, k) of the same subspace, of few parameters each (varimax).

    Where nothing is told along several directions, any mixture of them is as good: those are chosen
    that are said in the fewest words.
    """
    turn, last = np.eye(axes.shape[1]), 0.0
    for _ in range(100 if axes.size else 0):
        turned = axes @ turn
        pull = turned**3 - turned * (turned**2).mean(axis=0)
        left, sizes, right = np.linalg.svd(axes.T @ pull)
        turn = left @ right
        if sizes.sum() < last * (1.0 + 1e-9):
            break
        last = float(sizes.sum())
    return axes @ turn


def _direction(
    space: Space,
    vector: np.ndarray,
    some: Sequence[int],
    spread: np.ndarray,
    left: float,
    speeds: Mapping[str, float],
) -> Direction:
    parameters = [space.parameters[i] for i in some]
    changes = np.array([_change(space.parameters[i], vector[i] * spread[i]) for i in some])
    kind = _kind(parameters, changes)
    return Direction(
        parts=tuple((space.names[i], float(vector[i])) for i in some),
        left=left,
        kind=kind,
        shown=tuple(_shown(p, c) for p, c in zip(parameters, changes, strict=True)),
        advice=_advice(parameters, changes, kind, speeds),
    )


def _change(parameter: Parameter, along: float) -> float:
    """A step of the unit cube in the parameter's scale: a logarithm, or its own unit."""
    if parameter.scale == "log":
        return along * float(np.log(parameter.high / parameter.low))
    return along * (parameter.high - parameter.low)


def _kind(parameters: Sequence[Parameter], changes: np.ndarray) -> str:
    if len(parameters) == 1:
        return "alone"
    size = np.abs(changes)
    alike = size.max() < _ALIKE * size.min()
    if alike and all(p.scale == "log" for p in parameters) and (changes > 0).all():
        return "scale"
    units = {p.unit for p in parameters}
    opposite = len(parameters) == 2 and changes[0] * changes[1] < 0
    linear = all(p.scale == "linear" for p in parameters)
    return "sum" if alike and opposite and linear and len(units) == 1 else "mixed"


def _shown(parameter: Parameter, change: float) -> str:
    if parameter.scale == "log":
        return f"{parameter.name} {100 * np.expm1(change):+.0f} %"
    return f"{parameter.name} {change:+.2g} {parameter.unit}"


def _advice(
    parameters: Sequence[Parameter], changes: np.ndarray, kind: str, speeds: Mapping[str, float]
) -> str:
    joints = {_joint(p) for p in parameters}
    words = [_quantity(p) for p in parameters]
    joint = next(iter(joints)) if len(joints) == 1 else ""
    faster = f"faster than {_FASTER * speeds[joint]:.2g} rad/s" if joint in speeds else "faster"
    if kind == "scale" and joint and set(words) <= _LOADED:
        return _SCALE.format(joint=joint)
    if joint and set(words) == {"damping", "frictionloss"} and changes[0] * changes[1] < 0:
        return _SPEEDS.format(joint=joint, faster=faster)
    known = [_ADVICE[word].format(faster=faster) for word in words[:2] if word in _ADVICE]
    return " ".join(dict.fromkeys(known))


def _joint(parameter: Parameter) -> str:
    """The subject of a name, `gap/subject/quantity`; empty where it has none."""
    parts = parameter.name.split("/")
    return parts[1] if len(parts) == 3 else ""


def _quantity(parameter: Parameter) -> str:
    last = parameter.name.rsplit("/", 1)[-1]
    return "delay" if last.endswith("delay") else last


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
