"""Environment: is the place what we modelled?

What a world does not have, an effect brings along: clutter, an obstacle, a patch of another
surface. These exist only in worlds whose space asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np

from trueup.effects import anatomy
from trueup.effects.effect import Effect, NothingMatches, Values, Write
from trueup.effects.plausible import Around, Between, Factor, Row, UpTo, declared
from trueup.space import Parameter, Space

PARKED_Z = -1.0  # m; where things wait that are not there
_CONTACT = {
    "condim": 4,
    "friction": [0.6, 0.6, 0.005, 0.0001, 0.0001],
    "solref": [0.02, 1.0],
    "solimp": [0.95, 0.99, 0.001, 0.5, 2.0],
}


@dataclass(frozen=True, kw_only=True)
class Table(Effect):
    """Height and tilt of the surface everything stands on.

    Attributes:
        body: The body that carries the surface; things placed on it follow.
    """

    body: str = "table"

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        if anatomy.identity(model, "body", self.body) < 0:
            raise NothingMatches(self, "body", self.body, anatomy.names(model, "body"))
        tilt = "a table on a floor: 0.2-1°; a folding table: 3°"
        return declared(
            f"environment/{self.body}",
            (
                ("height", "m", 0.0, Around(0.03, 0.004), "a base plate, a mat, a warped board"),
                ("tilt_x", "rad", 0.0, Around(0.08, 0.01), tilt),
                ("tilt_y", "rad", 0.0, Around(0.08, 0.01), tilt),
            ),
        )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        name = f"environment/{self.body}"
        level = model.body(self.body).quat.copy()
        return (
            Write(
                field="body_pos",
                elements=(anatomy.element(model, "body", self.body, "body_pos", 2),),
                values=lambda p: p[f"{name}/height"][:, None],
                op="add",
            ),
            Write(
                field="body_quat",
                elements=tuple(
                    anatomy.element(model, "body", self.body, "body_quat", c) for c in range(4)
                ),
                values=lambda p: tilted(level, p[f"{name}/tilt_x"], p[f"{name}/tilt_y"]),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Surface(Effect):
    """A table under an arm that was thought to stand free: how high, how firm, how rough.

    Attributes:
        touching: Geoms of the arm that may rest on it.
    """

    optional: ClassVar[bool] = True
    touching: tuple[str, ...]
    away: ClassVar[float] = -0.5  # m; where it touches nothing

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        return declared(
            "environment/surface",
            (
                (
                    "height",
                    "m",
                    self.away,
                    Between(self.away, 0.25, (self.away, 0.0)),
                    "far below: none; a desk under the foot: about 0",
                ),
                ("friction", "1", 0.5, Factor(4.0, 1.5), "plastic on wood 0.3, on rubber 1"),
            ),
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        body = spec.worldbody.add_body(name="surface", pos=[0.0, 0.0, self.away])
        body.add_geom(
            name="surface",
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[1.0, 1.0, 0.02],
            contype=0,
            conaffinity=0,
            rgba=[0.5, 0.45, 0.4, 1.0],
        )
        for other in self.touching:
            spec.add_pair(
                name=f"_surface.{other}", geomname1="surface", geomname2=other, **_CONTACT
            )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        i = anatomy.identity(model, "geom", "surface")
        if i < 0:
            return ()
        pairs = np.flatnonzero((model.pair_geom1 == i) | (model.pair_geom2 == i))
        frictions = tuple(int(5 * pair + column) for pair in pairs for column in (0, 1))
        return (
            Write(
                field="body_pos",
                elements=(anatomy.element(model, "body", "surface", "body_pos", 2),),
                values=lambda p: p["environment/surface/height"][:, None],
            ),
            Write(
                field="pair_friction",
                elements=frictions,
                values=lambda p: p.repeat("environment/surface/friction", len(frictions)),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Clutter(Effect):
    """Loose boxes around the workplace: how many, how large, where.

    Attributes:
        table: Body and geom they stand on.
        touching: Geoms that may bump into them.
        places: Middle of the region of each box, m on the table.
        spread: Half width of these regions, m.
    """

    optional: ClassVar[bool] = True
    table: str = "table"
    touching: tuple[str, ...] = ()
    places: tuple[tuple[float, float], ...] = ((0.09, 0.21), (0.09, -0.21), (0.37, 0.0))
    spread: float = 0.03

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        most = len(self.places)
        rows: list[Row] = [
            ("count", "1", 0.0, Between(0.0, most, (0.0, most)), "rounded; a tidy to a busy table")
        ]
        for i, place in enumerate(self.places):
            rows.append((f"{i}/size", "m", 0.03, Factor(1.6, 1.4), "edge: a cup, a box, a tool"))
            for axis, centre in zip("xy", place, strict=True):
                region = Around(self.spread, self.spread)
                rows.append((f"{i}/{axis}", "m", centre, region, "beside the task's own region"))
        return declared("environment/clutter", rows)

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        if "environment/clutter/count" not in space.active:
            return
        for i, place in enumerate(self.places):
            name = f"clutter_{i}"
            body = spec.worldbody.add_body(name=name, pos=[*place, 0.015])
            body.add_freejoint(name=name)
            body.add_geom(
                name=name,
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=[0.015] * 3,
                mass=0.05,
                contype=0,
                conaffinity=0,
                rgba=[0.45, 0.5, 0.55, 1.0],
            )
            for other in (self.table, *self.touching):
                spec.add_pair(
                    name=f"_clutter.{other}.{i}", geomname1=name, geomname2=other, **_CONTACT
                )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        if anatomy.identity(model, "joint", "clutter_0") < 0:
            return ()
        found = []
        for i in range(len(self.places)):
            start = anatomy.element(model, "joint", f"clutter_{i}", "qpos0")
            size = anatomy.element(model, "geom", f"clutter_{i}", "geom_size")
            edge = f"environment/clutter/{i}/size"
            found += [
                Write(
                    field="qpos0",
                    elements=(start, start + 1, start + 2),
                    values=lambda p, i=i: self._place(p, i),
                ),
                Write(
                    field="geom_size",
                    elements=(size, size + 1, size + 2),
                    values=lambda p, edge=edge: np.repeat(0.5 * p[edge][:, None], 3, axis=1),
                ),
            ]
        return tuple(found)

    def _place(self, p: Values, i: int) -> np.ndarray:
        """Where box i stands; a box beyond the count waits far away on the same table."""
        there = np.round(p["environment/clutter/count"]) > i
        x = np.where(there, p[f"environment/clutter/{i}/x"], 5.0 + i)
        y = p[f"environment/clutter/{i}/y"]
        tilt = [p.get(f"environment/{self.table}/tilt_{axis}", 0.0) for axis in "xy"]
        level = tilted(np.array([1.0, 0, 0, 0]), *(np.broadcast_to(t, x.shape) for t in tilt))
        height = p.get(f"environment/{self.table}/height", 0.0)
        rise = surface_height(level, x, y)
        return np.stack([x, y, height + rise + 0.5 * p[f"environment/clutter/{i}/size"]], axis=-1)


@dataclass(frozen=True, kw_only=True)
class Obstacle(Effect):
    """A fixed wall that stands in the way: how high, and where.

    Attributes:
        table: Body it stands on.
        touching: Geoms that may bump into it.
        place: Middle of the region, m on the table.
    """

    optional: ClassVar[bool] = True
    table: str = "table"
    touching: tuple[str, ...] = ()
    place: tuple[float, float] = (0.2, 0.235)
    half: ClassVar[tuple[float, float, float]] = (0.05, 0.01, 0.15)

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        x, y = self.place
        return declared(
            "environment/obstacle",
            (
                ("height", "m", 0.0, UpTo(0.2, 0.08), "above the table; 0 is no obstacle"),
                ("x", "m", x, Around(0.06, 0.03), "beside the task's own region"),
                ("y", "m", y, Around(0.03, 0.02), "beside the task's own region"),
            ),
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        if "environment/obstacle/height" not in space.active:
            return
        body = spec.body(self.table).add_body(name="obstacle", pos=[*self.place, PARKED_Z])
        body.add_geom(
            name="obstacle",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=self.half,
            contype=0,
            conaffinity=0,
            rgba=[0.6, 0.35, 0.3, 1.0],
        )
        for other in self.touching:
            spec.add_pair(
                name=f"_obstacle.{other}", geomname1="obstacle", geomname2=other, **_CONTACT
            )

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        if anatomy.identity(model, "body", "obstacle") < 0:
            return ()
        elements = tuple(
            anatomy.element(model, "body", "obstacle", "body_pos", c) for c in range(3)
        )

        def place(p: Values) -> np.ndarray:
            height = p["environment/obstacle/height"]
            z = np.where(height > 0, height - self.half[2], PARKED_Z)
            x, y = (p[f"environment/obstacle/{axis}"] for axis in "xy")
            return np.stack([x, y, z], axis=-1)

        return (Write(field="body_pos", elements=elements, values=place),)


@dataclass(frozen=True, kw_only=True)
class Patch(Effect):
    """A round spot on the table with another friction: tape, a coaster, a wet ring.

    Attributes:
        table: Body it lies on.
        sliding: Geoms that feel it.
        place: Middle of the region, m on the table.
    """

    optional: ClassVar[bool] = True
    table: str = "table"
    sliding: tuple[str, ...] = ()
    place: tuple[float, float] = (0.22, 0.0)
    half_thickness: ClassVar[float] = 0.0005

    def parameters(self, model: mujoco.MjModel) -> tuple[Parameter, ...]:
        x, y = self.place
        return declared(
            "environment/patch",
            (
                ("radius", "m", 0.0, UpTo(0.1, 0.05), "0 is no patch"),
                ("friction", "1", 0.5, Factor(6.0, 2.5), "grease 0.08 to rubber 1.2 and above"),
                ("x", "m", x, Around(0.08, 0.06), "within the task's region"),
                ("y", "m", y, Around(0.12, 0.1), "within the task's region"),
            ),
        )

    def edit(self, spec: mujoco.MjSpec, space: Space) -> None:
        if "environment/patch/radius" not in space.active:
            return
        body = spec.body(self.table).add_body(name="patch", pos=[*self.place, PARKED_Z])
        body.add_geom(
            name="patch",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            size=[0.05, self.half_thickness, 0],
            contype=0,
            conaffinity=0,
            rgba=[0.25, 0.35, 0.6, 1.0],
        )
        for other in self.sliding:
            spec.add_pair(name=f"_patch.{other}", geomname1="patch", geomname2=other, **_CONTACT)

    def writes(self, model: mujoco.MjModel) -> tuple[Write, ...]:
        i = anatomy.identity(model, "geom", "patch")
        if i < 0:
            return ()
        pairs = np.flatnonzero((model.pair_geom1 == i) | (model.pair_geom2 == i))
        frictions = tuple(int(5 * pair + column) for pair in pairs for column in (0, 1))
        name = "environment/patch"

        def place(p: Values) -> np.ndarray:
            # proud of the table by a fraction of a millimetre, as tape is
            z = np.where(p[f"{name}/radius"] > 0, -0.5 * self.half_thickness, PARKED_Z)
            return np.stack([p[f"{name}/x"], p[f"{name}/y"], z], axis=-1)

        return (
            Write(
                field="body_pos",
                elements=tuple(
                    anatomy.element(model, "body", "patch", "body_pos", c) for c in range(3)
                ),
                values=place,
            ),
            Write(
                field="geom_size",
                elements=(anatomy.element(model, "geom", "patch", "geom_size"),),
                values=lambda p: np.maximum(p[f"{name}/radius"], 0.001)[:, None],
            ),
            Write(
                field="pair_friction",
                elements=frictions,
                values=lambda p: p.repeat(f"{name}/friction", len(frictions)),
            ),
        )


def tilted(quat: np.ndarray, about_x: np.ndarray, about_y: np.ndarray) -> np.ndarray:
    """A fixed orientation (w, x, y, z) tilted by two angles per world, (n, 4)."""
    cx, sx, cy, sy = (f(0.5 * a) for a in (about_x, about_y) for f in (np.cos, np.sin))
    tilt = np.stack([cx * cy, sx * cy, cx * sy, sx * sy], axis=-1)  # about x, then about y
    w, x, y, z = np.moveaxis(tilt, -1, 0)
    a, b, c, d = quat
    return np.stack(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ],
        axis=-1,
    )


def surface_height(quat: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height (n,) of a plane through the origin with orientations (n, 4) above the points x, y."""
    a, b, c, d = np.moveaxis(quat, -1, 0)
    normal_x, normal_y = 2.0 * (b * d + a * c), 2.0 * (c * d - a * b)
    normal_z = a * a - b * b - c * c + d * d
    return -(normal_x * x + normal_y * y) / normal_z
