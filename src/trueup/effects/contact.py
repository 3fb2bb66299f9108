"""Contact: how do surfaces stick, slide and give?

Worlds name their contact pairs `surface-surface.member`, e.g. `fingertip-object.moving`: all
members of one surface pair share its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Effect, NothingMatches, Values, Write
from trueup.effects.field_effect import FieldEffect, Target
from trueup.effects.plausible import Factor
from trueup.space import Parameter, Space


def contact(*, pairs: str = "*") -> tuple[Effect, ...]:
    """Friction, stiffness and damping of the matching surface pairs."""
    return (
        FieldEffect(
            parameter="contact/{name}/sliding",
            of="pair",
            match=pairs,
            targets=(Target("pair_friction", 0), Target("pair_friction", 1)),
            unit="1",
            plausible=Factor(limit=3.0, usual=1.3),
            source="printed plastic on wood, paper or plastic: 0.2-1.2 (handbooks)",
        ),
        FieldEffect(
            parameter="contact/{name}/torsional",
            of="pair",
            match=pairs,
            targets=(Target("pair_friction", 2),),
            unit="m",
            plausible=Factor(limit=5.0, usual=1.5),
            source="sliding friction times a contact patch of 1-10 mm",
        ),
        Rolling(pairs=pairs),
        Firmness(pairs=pairs),
    )


def soft_fingertips(*, pairs: str = "fingertip-*") -> tuple[Effect, ...]:
    """Compliance of fingertips, bare print or padded."""
    return (
        FieldEffect(
            parameter="contact/{name}/compliance",
            of="pair",
            match=pairs,
            targets=(Target("pair_solimp", 2),),
            unit="m",
            plausible=Factor(limit=5.0, usual=1.5),
            source="depth until a pad is fully stiff: bare print 0.5 mm, foam tape 5 mm",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Rolling(Effect):
    """Rolling friction; the pair then resolves six contact directions instead of four."""

    optional: ClassVar[bool] = True
    pairs: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return self._field.parameters(model)

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        wanted = {name.split("/")[1] for name in space.active if name.endswith("/rolling")}
        for pair in spec.pairs:
            if pair.name.split(".", 1)[0] in wanted:
                pair.condim = 6

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        return self._field.writes(model)

    @property
    def _field(self) -> FieldEffect:
        return FieldEffect(
            parameter="contact/{name}/rolling",
            of="pair",
            match=self.pairs,
            targets=(Target("pair_friction", 3), Target("pair_friction", 4)),
            unit="m",
            plausible=Factor(limit=10.0, usual=2.0),
            source="rolling resistance of small plastic parts: 0.01-1 mm",
        )


@dataclass(frozen=True, kw_only=True)
class Firmness(Effect):
    """Stiffness and damping of a contact, as factors on those of the nominal world.

    MuJoCo describes a contact by a time constant and a damping ratio; these are the spring and the
    damper behind them.
    """

    pairs: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return tuple(
            Factor(limit=4.0, usual=1.5).parameter(
                name=f"contact/{group}/{quantity}",
                unit="1",
                nominal=1.0,
                source="relative to nominal; grasps stay stable in this range (measured)",
            )
            for group in self._groups(model)
            for quantity in ("stiffness", "damping")
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        members = [(g, pair) for g, pairs in self._groups(model).items() for pair in pairs]
        stiffness = [f"contact/{group}/stiffness" for group, _ in members]
        damping = [f"contact/{group}/damping" for group, _ in members]

        def ratio(p: Values) -> np.ndarray:
            return p.stack(damping) / np.sqrt(p.stack(stiffness))

        columns = ((0, lambda p: 1.0 / p.stack(damping)), (1, ratio))
        return tuple(
            Write(
                field="pair_solref",
                elements=tuple(
                    anatomy.element(model, "pair", pair, "pair_solref", column)
                    for _, pair in members
                ),
                values=values,
                op="scale",
            )
            for column, values in columns
            if members
        )

    def _groups(self, model: mujoco.MjModel) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for pair in anatomy.names(model, "pair"):
            group = pair.split(".", 1)[0]
            if fnmatchcase(group, self.pairs):
                groups.setdefault(group, []).append(pair)
        if not groups and self.pairs != "*":
            raise NothingMatches(self, "pair", self.pairs, anatomy.names(model, "pair"))
        return groups


def surface(geom: str) -> tuple[Effect, ...]:
    """Friction of one geom, for models whose contacts are not listed as pairs."""
    rows = (
        ("sliding", 0, "1", Factor(3.0, 1.3), "plastic, wood, rubber: 0.2-1.2 (handbooks)"),
        ("torsional", 1, "m", Factor(5.0, 1.5), "sliding friction times a patch of 1-10 mm"),
        ("rolling", 2, "m", Factor(10.0, 2.0), "rolling resistance: 0.01-1 mm"),
    )
    return tuple(
        FieldEffect(
            parameter=f"contact/{{name}}/{quantity}",
            of="geom",
            match=geom,
            targets=(Target("geom_friction", column),),
            unit=unit,
            plausible=plausible,
            source=source,
        )
        for quantity, column, unit, plausible, source in rows
    )
