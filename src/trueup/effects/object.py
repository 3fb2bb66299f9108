"""Object: is the thing to be handled what we modelled?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Effect, NothingMatches, Values, Write
from trueup.effects.plausible import Around, Factor
from trueup.space import Parameter, Space

_AXES = "xyz"
FACE_INSET = 0.0015  # m; a face stands proud of the others by more than a squeeze sinks in


def manipulated(*, body: str) -> tuple[Effect, ...]:
    """All object effects of one free box."""
    return (Box(body=body), FaceFriction(body=body))


@dataclass(frozen=True, kw_only=True)
class Box(Effect):
    """Mass, centre of mass, edge lengths and inertia of a box.

    Inertia follows mass and size as for a solid box, times a factor of its own (hollow or
    weighted inside), so that no impossible combination can be drawn.

    Attributes:
        body: Name of the body, which has one box geom of the same name.
    """

    body: str

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        half = self._half_sizes(model)
        name = f"object/{self.body}"
        return (
            Factor(limit=5.0, usual=1.4).parameter(
                name=f"{name}/mass",
                unit="kg",
                nominal=float(model.body(self.body).mass[0]),
                source="a wooden, printed or filled cube of this size: 6-150 g",
            ),
            Factor(limit=1.6, usual=1.15).parameter(
                name=f"{name}/inertia",
                unit="1",
                nominal=1.0,
                source="relative to a solid box: a shell has 1.67, a weighted centre less than 1",
            ),
            *(
                Factor(limit=1.5, usual=1.08).parameter(
                    name=f"{name}/size_{axis}",
                    unit="m",
                    nominal=2.0 * float(half[i]),
                    source="edge length; the jaw opens to about 60 mm",
                )
                for i, axis in enumerate(_AXES)
            ),
            *(
                # inside the smallest box that can be drawn
                Around(limit=0.6 * float(half[i]), usual=0.1 * float(half[i])).parameter(
                    name=f"{name}/com_{axis}",
                    unit="m",
                    nominal=0.0,
                    source="from the centre; a weight glued into a corner reaches half way",
                )
                for i, axis in enumerate(_AXES)
            ),
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        name = f"object/{self.body}"
        half = self._half_sizes(model)
        mass = float(model.body(self.body).mass[0])
        edges = [f"{name}/size_{axis}" for axis in _AXES]
        offsets = [f"{name}/com_{axis}" for axis in _AXES]

        def inertia(p: Values) -> np.ndarray:
            squared = (0.5 * p.stack(edges)) ** 2
            nominal = half**2
            ratio = np.stack(
                [
                    (squared[:, j] + squared[:, k]) / (nominal[j] + nominal[k])
                    for j, k in ((1, 2), (0, 2), (0, 1))
                ],
                axis=-1,
            )
            return ratio * (p[f"{name}/mass"] / mass * p[f"{name}/inertia"])[:, None]

        def elements(field: str) -> tuple[int, ...]:
            return tuple(anatomy.element(model, "body", self.body, field, c) for c in range(3))

        return (
            Write(
                field="body_mass",
                elements=(anatomy.element(model, "body", self.body, "body_mass"),),
                values=lambda p: p[f"{name}/mass"][:, None],
            ),
            Write(
                field="body_inertia", elements=elements("body_inertia"), values=inertia, op="scale"
            ),
            Write(
                field="body_ipos",
                elements=elements("body_ipos"),
                values=lambda p: p.stack(offsets),
                op="add",
            ),
            *self._sizes(model, edges),
        )

    def _sizes(self, model: mujoco.MjModel, edges: list[str]) -> list[Write]:
        insets = {self.body: np.zeros(3)}
        for i, axis in enumerate(_AXES):
            insets[face_geom(self.body, axis)] = np.where(np.arange(3) == i, 0.0, FACE_INSET)
        found = []
        for geom, inset in insets.items():
            if anatomy.identity(model, "geom", geom) < 0:
                continue
            found.append(
                Write(
                    field="geom_size",
                    elements=tuple(
                        anatomy.element(model, "geom", geom, "geom_size", c) for c in range(3)
                    ),
                    values=lambda p, inset=inset: 0.5 * p.stack(edges) - inset,
                )
            )
        return found

    def _half_sizes(self, model: mujoco.MjModel) -> np.ndarray:
        i = anatomy.identity(model, "geom", self.body)
        if anatomy.identity(model, "body", self.body) < 0 or i < 0:
            raise NothingMatches(self, "body", self.body, anatomy.names(model, "body"))
        return model.geom_size[i].copy()


@dataclass(frozen=True, kw_only=True)
class FaceFriction(Effect):
    """Friction that differs between the faces of a box: one factor per axis.

    MuJoCo gives a geom one friction. The box is rebuilt from three, each standing proud of the
    others on its own two faces, so that a face meets the world with its own contact pair.
    """

    optional: ClassVar[bool] = True
    body: str

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return tuple(
            Factor(limit=3.0, usual=1.3).parameter(
                name=f"object/{self.body}/friction_{axis}",
                unit="1",
                nominal=1.0,
                source="factor on the pair's friction; tape, labels and print layers double it",
            )
            for axis in _AXES
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        whole = next(g for g in spec.geoms if g.name == self.body)
        for i, axis in enumerate(_AXES):
            size = np.array(whole.size) - FACE_INSET
            size[i] = whole.size[i]
            whole.parent.add_geom(
                name=face_geom(self.body, axis),
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=size,
                mass=0.0,
                contype=0,
                conaffinity=0,
                group=3,
            )
        for pair in list(spec.pairs):
            if self.body in (pair.geomname1, pair.geomname2):
                self._split(spec, pair)

    def _split(self, spec: mujoco.MjSpec, pair: mujoco.MjsPair) -> None:
        for axis in _AXES:
            face = face_geom(self.body, axis)
            spec.add_pair(
                name=f"{pair.name}.{axis}",
                geomname1=face if pair.geomname1 == self.body else pair.geomname1,
                geomname2=face if pair.geomname2 == self.body else pair.geomname2,
                condim=pair.condim,
                friction=pair.friction,
                solref=pair.solref,
                solreffriction=pair.solreffriction,
                solimp=pair.solimp,
                margin=pair.margin,
                gap=pair.gap,
            )
        spec.delete(pair)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        found = []
        for axis in _AXES:
            i = anatomy.identity(model, "geom", face_geom(self.body, axis))
            touching = np.flatnonzero((model.pair_geom1 == i) | (model.pair_geom2 == i))
            elements = tuple(int(5 * pair + column) for pair in touching for column in (0, 1))
            if i >= 0 and elements:
                name = f"object/{self.body}/friction_{axis}"
                found.append(
                    Write(
                        field="pair_friction",
                        elements=elements,
                        values=partial(Values.repeat, name=name, k=len(elements)),
                        op="scale",
                    )
                )
        return tuple(found)


def face_geom(body: str, axis: str) -> str:
    """The name of the box that carries the two faces of a body across an axis."""
    return f"{body}_face_{axis}"
