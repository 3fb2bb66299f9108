"""Rules about what a robot says of itself, before anybody connects to it."""

from __future__ import annotations

import numpy as np

from trueup.hardware.checks.rule import rule
from trueup.hardware.clock import Clock
from trueup.hardware.robot import Robot
from trueup.policies import Interface

SI = ("rad", "rad/s", "rad/s²", "N·m", "N", "m", "m/s", "m/s²", "s", "Hz", "kg", "A", "V", "K", "1")
"""Units that a robot may use."""

_WIDEST_RAD = 4.0 * np.pi  # a servo with wider limits than two turns is more likely in degrees


def introduced(robot: Robot) -> None:
    """Name, kind, whether it is real, number of bodies, interface and clock."""
    for attribute, kind in (
        ("name", str),
        ("kind", str),
        ("real", bool),
        ("n", int),
        ("interface", Interface),
        ("clock", Clock),
    ):
        found = getattr(robot, attribute, None)
        right = isinstance(found, kind) and (kind is not str or bool(str(found).strip()))
        rule(
            right,
            f"its {attribute} is {found!r:.60}",
            f"Set it to a {kind.__name__} before anybody connects",
        )
    rule(robot.n >= 1, f"it has {robot.n} bodies", "Set n to 1, or more for a rehearsal robot")
    period = robot.interface.period_s
    rule(
        0 < period <= 10,
        f"its period_s is {period!r}",
        "Give the seconds between two commands: 0.02 for 50 Hz",
    )


def observations(robot: Robot) -> None:
    """Every observation once, each number with a name."""
    features = robot.interface.observations
    names = [feature.name for feature in features]
    twice = sorted({name for name in names if names.count(name) > 1})
    rule(names, "it observes nothing", "Declare at least the joints in interface.observations")
    rule(not twice, f"it observes {twice} more than once", "Declare each observation once")
    for feature in features:
        columns = robot.columns.get(feature.name)
        rule(
            columns is not None and len(columns) == feature.size,
            f"columns[{feature.name!r}] is {columns!r:.80}, for {feature.size} numbers",
            "Name each number: joints by their names, places by x, y, z",
        )
        assert columns is not None
        rule(
            len(set(columns)) == len(columns),
            f"columns[{feature.name!r}] repeats a name: {columns!r:.80}",
            "Give each number a name of its own",
        )


def units(robot: Robot) -> None:
    """SI inside, whatever the wire has."""
    used = {f"observation {f.name!r}": f.unit for f in robot.interface.observations}
    used |= {
        f"command {name!r}": unit
        for name, unit in zip(robot.interface.commands, robot.interface.unit, strict=False)
    }
    for what, unit in used.items():
        rule(
            unit in SI,
            f"{what} is in {unit!r}",
            f"Convert at the driver's door; known units: {', '.join(SI)}",
        )


def limits(robot: Robot) -> None:
    """One name, unit and pair of limits for each servo."""
    face = robot.interface
    counts = {k: len(getattr(face, k)) for k in ("commands", "unit", "low", "high")}
    rule(face.commands, "it takes no commands", "Name its servos in interface.commands")
    rule(len(set(counts.values())) == 1, f"its interface has {counts}", "Give one for each servo")
    rule(
        len(set(face.commands)) == len(face.commands),
        f"it names a servo twice: {', '.join(face.commands)}",
        "Give each servo a name of its own",
    )
    for name, unit, low, high in zip(face.commands, face.unit, face.low, face.high, strict=True):
        rule(low < high, f"{name!r} may move from {low} to {high}", "Give low below high")
        finite = [abs(x) for x in (low, high) if np.isfinite(x)]
        rule(
            unit != "rad" or not finite or max(finite) <= _WIDEST_RAD,
            f"{name!r} may move from {low:g} to {high:g} rad, which is more than two turns",
            "Are these degrees? Convert them",
        )


def measured(robot: Robot) -> None:
    """The observation that reads the commanded joints, if there is one, reads just these."""
    face = robot.interface
    if face.measured is None:
        return
    sizes = {f.name: f.size for f in face.observations}
    rule(
        face.measured in sizes,
        f"it measures its joints as {face.measured!r}, which it does not observe",
        f"Name one of {', '.join(sizes)}, or None",
    )
    columns = tuple(robot.columns.get(face.measured, ()))
    rule(
        columns == tuple(face.commands),
        f"{face.measured!r} has the columns {', '.join(columns)}, the commands are "
        f"{', '.join(face.commands)}",
        "Observe the commanded joints under the same names, in the same order",
    )
    unit = {f.name: f.unit for f in face.observations}[face.measured]
    rule(
        set(face.unit) <= {unit},
        f"{face.measured!r} is in {unit}, the commands in {', '.join(sorted(set(face.unit)))}",
        "Use one unit for both",
    )
