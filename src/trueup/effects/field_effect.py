"""The commonest effect: one number per named object, written into a model field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Effect, NothingMatches, Values, Write
from trueup.effects.plausible import Plausible
from trueup.space import Parameter


@dataclass(frozen=True)
class Target:
    """One column of a model field, and what the number is multiplied by on its way there."""

    field: str
    column: int = 0
    times: float = 1.0


@dataclass(frozen=True, kw_only=True)
class FieldEffect(Effect):
    """A number of each matching joint, servo, body or contact pair.

    Attributes:
        parameter: Name pattern, `{name}` standing for the object: `actuation/{name}/damping`.
        of: The kind of object; "drive" is the servo of an actuated joint, named by the joint.
        match: Which objects, by name.
        targets: Where the number goes. The nominal value is read from the first.
        op: "set" gives the number itself, "scale" and "add" act on the compiled default.
        plausible: What is possible and usual.
        unit: SI unit.
        source: Where the bounds come from.
        needs: Leave out objects for which this is false.
    """

    parameter: str
    of: Literal["joint", "drive", "body", "geom", "pair"]
    targets: tuple[Target, ...]
    plausible: Plausible
    unit: str
    source: str
    match: str = "*"
    op: Literal["set", "scale", "add"] = "set"
    needs: Callable[[mujoco.MjModel, str], bool] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"FieldEffect({self.parameter!r})"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return tuple(
            self.plausible.parameter(
                name=self._parameter(group),
                unit=self.unit,
                nominal=self._nominal(model, members[0]),
                source=self.source,
            )
            for group, members in self._groups(model).items()
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        groups = self._groups(model)
        members = [member for names in groups.values() for member in names]
        columns = [self._parameter(group) for group, names in groups.items() for _ in names]
        kind = "actuator" if self.of == "drive" else self.of
        servo = anatomy.driven_joints(model)
        objects = [servo[name] for name in members] if self.of == "drive" else members
        return tuple(
            Write(
                field=target.field,
                elements=tuple(
                    anatomy.element(model, kind, name, target.field, target.column)
                    for name in objects
                ),
                values=_Times(tuple(columns), target.times),
                op=self.op,
            )
            for target in self.targets
        )

    def _parameter(self, group: str) -> str:
        return self.parameter.replace("{name}", group)

    def _nominal(self, model: mujoco.MjModel, name: str) -> float:
        if self.op != "set":
            return 1.0 if self.op == "scale" else 0.0
        target = self.targets[0]
        kind = "actuator" if self.of == "drive" else self.of
        name = anatomy.driven_joints(model)[name] if self.of == "drive" else name
        at = anatomy.element(model, kind, name, target.field, target.column)
        return float(anatomy.default(model, target.field)[at]) / target.times

    def _groups(self, model: mujoco.MjModel) -> dict[str, list[str]]:
        """Objects that share one number: contact pairs `a-b.1`, `a-b.2` are one surface pair."""
        if self.of in ("joint", "drive"):
            known = list(anatomy.driven_joints(model))
        else:
            known = anatomy.names(model, self.of)
        matching = [name for name in known if fnmatchcase(name.split(".", 1)[0], self.match)]
        if not matching and self.match != "*":
            raise NothingMatches(self, self.of, self.match, known)
        groups: dict[str, list[str]] = {}
        for name in matching:
            if self.needs is None or self.needs(model, name):
                groups.setdefault(name.split(".", 1)[0], []).append(name)
        return groups


@dataclass(frozen=True)
class _Times:
    """Parameter columns side by side, times a constant."""

    columns: tuple[str, ...]
    factor: float

    def __call__(self, p: Values) -> np.ndarray:
        values = p.stack(self.columns)
        return values if self.factor == 1.0 else values * self.factor
