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
from trueup.effects.effect import Effect, Values, Write
from trueup.effects.field_effect import FieldEffect, Target
from trueup.effects.plausible import Factor
from trueup.space import Parameter, Space

_LONGEST_STEP = 1.3  # the control period may stretch the physics step by this factor


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
            needs=_resists_spin,
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
    """Stiffness and damping ratio of a contact, as factors on those of the nominal world.

    MuJoCo describes a contact by a time constant and a damping ratio, and raises time constants
    below two physics steps without a word: a contact meant to be firmer would become softer. The
    bounds stay clear of that, also where the control period stretches the step, and of ratios so
    low that a resting object chatters. Pairs with no room for it are left out.
    """

    pairs: str = "*"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        found = []
        for group, pairs in self._groups(model).items():
            stiff, damped = self._limits(model, pairs)
            for quantity, limit, usual in (("stiffness", stiff, 1.3), ("damping", damped, 1.15)):
                found.append(
                    Factor(limit=limit, usual=min(usual, limit)).parameter(
                        name=f"contact/{group}/{quantity}",
                        unit="1",
                        nominal=1.0,
                        source="relative to nominal; cubes rest and grasps hold in this range",
                    )
                )
        return tuple(found)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        members = [(g, pair) for g, pairs in self._groups(model).items() for pair in pairs]
        stiffness = [f"contact/{group}/stiffness" for group, _ in members]
        damping = [f"contact/{group}/damping" for group, _ in members]

        def time_constant(p: Values) -> np.ndarray:
            return 1.0 / (p.stack(damping) * np.sqrt(p.stack(stiffness)))

        columns = ((0, time_constant), (1, lambda p: p.stack(damping)))
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

    def _limits(self, model: mujoco.MjModel, pairs: list[str]) -> tuple[float, float]:
        """The largest factors of stiffness and damping ratio that MuJoCo will not cut off."""
        room = min(_room(model, pair) for pair in pairs)
        stiff = min(1.5, room)
        return stiff, min(1.25, room / stiff**0.5)

    def _groups(self, model: mujoco.MjModel) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for pair in anatomy.names(model, "pair"):
            group = pair.split(".", 1)[0]
            if fnmatchcase(group, self.pairs) and _room(model, pair) >= 1.1:
                groups.setdefault(group, []).append(pair)
        return groups


def _resists_spin(model: mujoco.MjModel, pair: str) -> bool:
    return bool(model.pair_dim[anatomy.identity(model, "pair", pair)] >= 4)


def _room(model: mujoco.MjModel, pair: str) -> float:
    """How often two of the longest physics steps fit into a contact's time constant."""
    time_constant = model.pair_solref[anatomy.identity(model, "pair", pair), 0]
    return float(time_constant) / (2.0 * _LONGEST_STEP * model.opt.timestep)


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
