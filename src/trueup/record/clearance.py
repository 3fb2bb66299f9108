"""How near links come to each other, to what stands fixed, and to things, along a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.record.body import Body
from trueup.worlds import World

_SOLID_GROUP = 3  # by MuJoCo's custom, shapes that collide and are not drawn
_GRID_RAD = 0.01  # poses nearer than this are one
_STEP_RAD = 0.03  # no joint moves further between two poses that are looked at


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two solid shapes of which one moves.

    Attributes:
        first: A geom of a link that moves.
        second: Another geom.
        kind: `self` for another link, `fixed` for what does not move, else the name of a thing.
    """

    first: int
    second: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Near:
    """The nearest that two links come.

    Attributes:
        pair: The shapes.
        distance_m: Between their surfaces; below zero inside each other.
        time_s: When.
        cell: In which robot.
    """

    pair: Pair
    distance_m: float
    time_s: float
    cell: int


class Clearance:
    """Distances in the nominal model, between all shapes, whether the world lets them touch or not.

    A world simulates the contacts that matter to its task. Here every link counts: against each
    other link but its neighbours, against what is fixed, and against things that were seen.

    Attributes:
        model: The nominal model.
        things: Bodies that lie about freely, and where their poses stand in qpos.
        pairs: Everything that is looked at.

    Args:
        world: The world.
        body: The servos that are commanded.
    """

    def __init__(self, world: World, body: Body) -> None:
        self.model = world.model
        self._data = mujoco.MjData(self.model)
        joints = [self.model.joint(name).id for name in body.joints]
        self._qpos = self.model.jnt_qposadr[joints]
        self._moved = self._carried({int(b) for b in self.model.jnt_bodyid[joints]})
        self.things = {
            self.model.body(int(self.model.jnt_bodyid[j])).name: int(self.model.jnt_qposadr[j])
            for j in range(self.model.njnt)
            if self.model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
        }
        self.pairs = tuple(self._pairs())

    def name(self, geom: int) -> str:
        """The link that a shape belongs to."""
        return self.model.body(int(self.model.geom_bodyid[geom])).name

    def carried(self, site: str) -> frozenset[int]:
        """Geoms of the link that holds a site, and of all that hangs on it."""
        hand = {int(self.model.site_bodyid[self.model.site(site).id])}
        links = self._carried(hand)
        return frozenset(g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] in links)

    def least(
        self,
        path: np.ndarray,
        period_s: float,
        objects: Mapping[str, np.ndarray],
        *,
        within_m: float,
    ) -> dict[Pair, Near]:
        """The nearest approach of each pair that comes near at all.

        Args:
            path: (k, n, nu) commands.
            period_s: Time between them.
            objects: (n, 7) poses of things, by name.
            within_m: How near is near.
        """
        fine, per_row = _refined(path)
        rows, n = fine.shape[:2]
        flat = fine.reshape(rows * n, -1)
        _, first, pose = np.unique(
            np.round(flat / _GRID_RAD), axis=0, return_index=True, return_inverse=True
        )
        found: dict[Pair, Near] = {}

        def note(pair: Pair, distance: float, row: int, cell: int) -> None:
            if distance < within_m and (pair not in found or distance < found[pair].distance_m):
                time_s = row * period_s / per_row
                found[pair] = Near(pair=pair, distance_m=distance, time_s=time_s, cell=cell)

        poses, places = flat[first], self._places(flat[first])
        still = [pair for pair in self.pairs if pair.kind not in self.things]
        for i, pair, distance in self._distances(poses, places, still, within_m):
            note(pair, distance, *divmod(int(first[i]), n))
        for name in objects:
            near = [pair for pair in self.pairs if pair.kind == name]
            for cell in range(n):
                used, when = np.unique(pose.reshape(rows, n)[:, cell], return_index=True)
                where = objects[name][cell]
                self._data.qpos[self.things[name] : self.things[name] + 7] = where
                self._place(poses[used[0]])
                there = places[used]
                for pair in near:
                    there[:, pair.second] = self._data.geom_xpos[pair.second]
                for i, pair, distance in self._distances(poses[used], there, near, within_m):
                    note(pair, distance, int(when[i]), cell)
        return found

    def _distances(
        self, poses: np.ndarray, places: np.ndarray, pairs: list[Pair], within_m: float
    ) -> Iterator[tuple[int, Pair, float]]:
        """Pose, pair and distance, wherever the spheres around two shapes come near."""
        if not pairs:
            return
        near = np.stack([self._gaps(pair, places) < within_m for pair in pairs], axis=1)
        ends = np.zeros(6)
        for i in np.flatnonzero(near.any(axis=1)):
            self._place(poses[i])
            for k in np.flatnonzero(near[i]):
                one, other = pairs[k].first, pairs[k].second
                distance = mujoco.mj_geomDistance(
                    self.model, self._data, one, other, within_m, ends
                )
                yield int(i), pairs[k], distance

    def _place(self, pose: np.ndarray) -> None:
        self._data.qpos[self._qpos] = pose
        mujoco.mj_kinematics(self.model, self._data)

    def _places(self, poses: np.ndarray) -> np.ndarray:
        """(m, ngeom, 3) middles of all shapes in each pose."""
        places = np.zeros((len(poses), self.model.ngeom, 3))
        for i, pose in enumerate(poses):
            self._place(pose)
            places[i] = self._data.geom_xpos
        return places

    def _gaps(self, pair: Pair, places: np.ndarray) -> np.ndarray:
        """(m,) between the spheres around two shapes; a plane has none."""
        one, other = pair.first, pair.second
        apart = places[:, one] - places[:, other]
        if self.model.geom_type[other] == mujoco.mjtGeom.mjGEOM_PLANE:
            upward = self._data.geom_xmat[other].reshape(3, 3)[:, 2]
            return apart @ upward - self.model.geom_rbound[one]
        return np.linalg.norm(apart, axis=1) - self.model.geom_rbound[[one, other]].sum()

    def _pairs(self) -> Iterator[Pair]:
        model, solid = self.model, self._solid()
        bodies = {geom: int(model.geom_bodyid[geom]) for geom in solid}
        moving = [geom for geom in solid if bodies[geom] in self._moved]
        for i, first in enumerate(moving):
            for second in solid:
                one, other = bodies[first], bodies[second]
                if one == other or self._neighbours(one, other) or second in moving[:i]:
                    continue
                yield Pair(first=first, second=second, kind=self._kind(other))

    def _neighbours(self, one: int, other: int) -> bool:
        """Whether one link hangs on the other; what hangs on the world has no neighbour there."""
        parent = self.model.body_parentid
        return bool((parent[one] == other and other) or (parent[other] == one and one))

    def _kind(self, body: int) -> str:
        name = self.model.body(body).name
        if name in self.things:
            return name
        return "self" if body in self._moved or self._is_foot(body) else "fixed"

    def _is_foot(self, body: int) -> bool:
        """Whether a fixed body carries the links that move."""
        return body != 0 and any(self.model.body_parentid[b] == body for b in self._moved)

    def _solid(self) -> list[int]:
        """Shapes that could touch: those that collide, those in a pair, and by their group."""
        model = self.model
        paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
        return [
            geom
            for geom in range(model.ngeom)
            if model.geom_contype[geom]
            or model.geom_conaffinity[geom]
            or model.geom_group[geom] == _SOLID_GROUP
            or geom in paired
        ]

    def _carried(self, bodies: set[int]) -> set[int]:
        """Some bodies and all that hangs on them; parents come before children in a model."""
        found = set(bodies)
        for body in range(1, self.model.nbody):
            if int(self.model.body_parentid[body]) in found:
                found.add(body)
        return found


def _refined(path: np.ndarray) -> tuple[np.ndarray, int]:
    """The path with rows put between its own, where it moves fast; and how many for each."""
    if len(path) < 2:
        return path, 1
    step = float(np.abs(np.diff(path, axis=0)).max())
    k = max(1, int(np.ceil(step / _STEP_RAD)))
    shares = np.arange(k)[None, :, None, None] / k
    between = path[:-1, None] + shares * np.diff(path, axis=0)[:, None]
    return np.concatenate([between.reshape(-1, *path.shape[1:]), path[-1:]]), k
