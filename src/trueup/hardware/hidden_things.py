"""Hidden effects on things: an object that is no box, a film of oil, a mount that gives."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Annotated, Literal

import mujoco
import numpy as np
from pydantic import Field

from trueup.effects import Values, Write, anatomy
from trueup.errors import UnknownName
from trueup.hardware.hidden import Hidden
from trueup.space import Gap, Parameter, Space


@dataclass(frozen=True, kw_only=True)
class UndeclaredShape(Hidden):
    """A box that is none: of another shape, as wide and as tall as the box it passes for.

    A `ball` rolls any way, a `roller` (a cylinder on its side) one way.

    Attributes:
        body: The free box, whose geom has the same name.
        shape: What it is.
        amount: How far it is from a box: the share of a half edge that is cut off (`rounded`), or
            by which the top is narrower than the bottom (`wedge`).
    """

    gap = Gap.OBJECT
    body: str = "cube"
    shape: Literal["ball", "cylinder", "hexagon", "roller", "rounded", "wedge"]
    amount: Annotated[float, Field(gt=0, lt=1)] = 0.3

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        if anatomy.identity(model, "geom", self.body) < 0:
            raise UnknownName("object", self.body, anatomy.names(model, "geom"))
        return super().parameters(model)

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        geom = next(g for g in spec.geoms if g.name == self.body)
        if self.shape == "ball":
            geom.type = mujoco.mjtGeom.mjGEOM_ELLIPSOID
            return
        half = np.array(geom.size)
        mesh = f"_beyond_{self.number}"
        spec.add_mesh(name=mesh, uservert=(self._corners() * half).ravel())
        geom.type = mujoco.mjtGeom.mjGEOM_MESH
        geom.meshname = mesh

    def _corners(self) -> np.ndarray:
        """Corners (k, 3) of a convex body in the cube from -1 to 1."""
        sides = {"cylinder": 24, "roller": 24, "hexagon": 6}.get(self.shape)
        if sides:
            turns = 2.0 * np.pi * np.arange(sides) / sides
            ring = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
            corners = np.array([[*xy, z] for z in (-1.0, 1.0) for xy in ring])
            return corners[:, [1, 2, 0]] if self.shape == "roller" else corners
        box = np.array(list(product((-1.0, 1.0), repeat=3)))
        if self.shape == "wedge":
            narrow = 1.0 - self.amount * (box[:, 2] > 0)
            return box * np.stack([narrow, narrow, np.ones(8)], axis=-1)
        cut = 1.0 - self.amount
        return np.concatenate([box * np.where(np.arange(3) == i, 1.0, cut) for i in range(3)])


@dataclass(frozen=True, kw_only=True)
class OilFilm(Hidden):
    """Surfaces that hardly rub: less friction than anything clean has.

    Attributes:
        pairs: Which surface pairs, before the dot of their names.
        share: Of the friction that is left.
    """

    gap = Gap.CONTACT
    pairs: str = "fingertip-object"
    share: Annotated[float, Field(gt=0, lt=1)]

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        if not self._pairs(model):
            known = {name.split(".", 1)[0] for name in anatomy.names(model, "pair")}
            raise UnknownName("surface pair", self.pairs, sorted(known))
        return super().parameters(model)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        elements = tuple(
            anatomy.element(model, "pair", pair, "pair_friction", column)
            for pair in self._pairs(model)
            for column in range(5)
        )

        def left(p: Values) -> np.ndarray:
            return 1.0 - p[self.present][:, None] * (1.0 - self.share)

        return (Write(field="pair_friction", elements=elements, op="scale", values=left),)

    def _pairs(self, model: mujoco.MjModel) -> list[str]:
        names = anatomy.names(model, "pair")
        return [name for name in names if fnmatchcase(name.split(".", 1)[0], self.pairs)]


@dataclass(frozen=True, kw_only=True)
class WobblyMount(Hidden):
    """A robot that is clamped to something soft: its foot tilts with every reach.

    Attributes:
        body: The foot.
        stiffness: N·m/rad about both level axes.
        damping: N·m·s/rad.
    """

    gap = Gap.ENVIRONMENT
    body: str = "base"
    stiffness: Annotated[float, Field(gt=0)]
    damping: Annotated[float, Field(ge=0)] = 0.2

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        i = anatomy.identity(model, "body", self.body)
        if i < 0 or model.body_dofnum[i] or model.body_parentid[i]:
            fixed = [b for b in anatomy.names(model, "body") if not model.body(b).dofnum[0]]
            raise UnknownName("fixed body", self.body, fixed)
        return super().parameters(model)

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        for axis in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
            spec.body(self.body).add_joint(
                name=f"_beyond_{self.number}_{axis.index(1.0)}",
                type=mujoco.mjtJoint.mjJNT_HINGE,
                axis=axis,
                stiffness=[self.stiffness, 0.0, 0.0],
                damping=[self.damping, 0.0, 0.0],
                armature=0.01,
            )
