"""How much room a robot has: distances from its links to each other and to what stands around."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.worlds import World

_FAR_M = 0.5
_FLOOR = -1  # stands for a floor that the model does not have
_STEP_RAD = 0.1  # along a path, no joint moves further than this between two looks


class Clearance:
    """Room around the links of a nominal robot, from its collision shapes.

    The worlds let only those shapes touch that a task needs; here every pair counts, except links
    that share a joint. Things that lie about loosely are not seen: keep well above the table. A
    model without a floor is taken to stand on z = 0.

    Args:
        world: Whose nominal model.
        home: (nu,) a pose that is known to be good; pairs that are close there may be so elsewhere.
        around_m: Room to keep from what stands around.
        between_m: Room to keep between links; their shapes are some mm rounder than they are.
    """

    def __init__(
        self, world: World, home: np.ndarray, *, around_m: float = 0.03, between_m: float = -0.004
    ) -> None:
        self.model, self._data = world.model, mujoco.MjData(world.model)
        joints = world.model.actuator_trnid[:, 0]
        self._qpos = world.model.jnt_qposadr[joints]
        moved = _moved_bodies(world.model, joints)
        links = [g for g in range(world.model.ngeom) if _body(world.model, g) in moved]
        links = _solid(world.model, links)
        self._pairs = [
            *((a, b, between_m) for a, b in _strangers(world.model, links)),
            *(
                (a, b, between_m if _same_root(world.model, a, b) else around_m)
                for a in links
                for b in _surroundings(world.model, moved)
                if not _joined(world.model, a, b)
            ),
        ]
        self._around = np.array(
            [not _same_root(world.model, a, b) for a, b, _ in self._pairs], bool
        )
        if not any(_is_plane(world.model, b) for _, b, _ in self._pairs):
            self._pairs += [(a, _FLOOR, around_m) for a in links]
            self._around = np.concatenate([self._around, np.ones(len(links), bool)])
        found = self._distances(np.asarray(home, float))
        self._pairs = [
            (a, b, min(margin, distance - 0.002))
            for (a, b, margin), distance in zip(self._pairs, found, strict=True)
        ]

    def room(self, pose: np.ndarray) -> tuple[float, str]:
        """Room left beyond the margins at one pose (nu,), m, and which two are the closest."""
        margins = np.array([margin for *_, margin in self._pairs])
        left = self._distances(pose) - margins
        a, b, _ = self._pairs[int(left.argmin())]
        return float(left.min()), f"{self._name(a)} and {self._name(b)}"

    def depth(self, pose: np.ndarray) -> tuple[float, str]:
        """The least distance to what stands around at one pose (nu,), m; negative inside it.

        Links are not counted here: their shapes are rounder than they are.
        """
        distances = np.where(self._around, self._distances(pose), np.inf)
        a, b, _ = self._pairs[int(distances.argmin())]
        return float(distances.min()), f"{self._name(a)} and {self._name(b)}"

    def clear(self, poses: np.ndarray) -> np.ndarray:
        """(k,) whether each pose of (k, nu) keeps the margins."""
        return np.array([self.room(pose)[0] >= 0.0 for pose in poses])

    def path(self, start: np.ndarray, stops: Sequence[np.ndarray]) -> bool:
        """Whether straight lines in joint space from stop to stop keep the margins."""
        for stop in stops:
            steps = 1 + int(np.abs(stop - start).max() / _STEP_RAD)
            shares = np.linspace(0.0, 1.0, steps + 1)[1:, None]
            if not all(self.room(pose)[0] >= 0.0 for pose in start + shares * (stop - start)):
                return False
            start = stop
        return True

    def _distances(self, pose: np.ndarray) -> np.ndarray:
        self._data.qpos[self._qpos] = pose
        mujoco.mj_kinematics(self.model, self._data)
        return np.array([self._distance(a, b) for a, b, _ in self._pairs])

    def _distance(self, a: int, b: int) -> float:
        if b == _FLOOR:
            tilt = np.abs(self._data.geom_xmat[a].reshape(3, 3)[2])
            half = self.model.geom_aabb[a, 3:]
            middle = self._data.geom_xpos[a, 2]
            return float(middle - tilt @ (half + np.abs(self.model.geom_aabb[a, :3])))
        return mujoco.mj_geomDistance(self.model, self._data, a, b, _FAR_M, np.zeros(6))

    def _name(self, geom: int) -> str:
        if geom == _FLOOR:
            return "the floor"
        return self.model.geom(geom).name or self.model.body(_body(self.model, geom)).name


def _body(model: mujoco.MjModel, geom: int) -> int:
    return int(model.geom_bodyid[geom])


def _is_plane(model: mujoco.MjModel, geom: int) -> bool:
    return bool(model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE.value)


def _same_root(model: mujoco.MjModel, a: int, b: int) -> bool:
    return model.body_rootid[_body(model, a)] == model.body_rootid[_body(model, b)]


def _moved_bodies(model: mujoco.MjModel, joints: np.ndarray) -> set[int]:
    """Bodies that move when the servos do."""
    driven = {int(model.jnt_bodyid[joint]) for joint in joints}
    found = set(driven)
    for body in range(model.nbody):  # parents come before children
        if int(model.body_parentid[body]) in found:
            found.add(body)
    return found


def _solid(model: mujoco.MjModel, geoms: list[int]) -> list[int]:
    """Primitive shapes where a robot has them; they are quick, and a mesh is for the eye."""
    plain = [g for g in geoms if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_MESH.value]
    return plain or geoms


def _strangers(model: mujoco.MjModel, links: list[int]) -> list[tuple[int, int]]:
    """Pairs of shapes on links that share no joint."""
    return [(a, b) for i, a in enumerate(links) for b in links[:i] if not _joined(model, a, b)]


def _joined(model: mujoco.MjModel, a: int, b: int) -> bool:
    """Whether two shapes belong to one link, or to links with at most two joints between them.

    Where those meet is what the limits of the joints are for, and shapes are rounder than links.
    """
    one, other = _body(model, a), _body(model, b)
    return other in _family(model, one) or one in _family(model, other)


def _family(model: mujoco.MjModel, body: int) -> set[int]:
    """A body, its parent and its parent's parent, without the world."""
    parent = int(model.body_parentid[body])
    return {body, parent, int(model.body_parentid[parent])} - {0}


def _surroundings(model: mujoco.MjModel, moved: set[int]) -> list[int]:
    """Shapes that stand still and that something may touch; a floor always, marks never."""
    paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
    return [
        g
        for g in range(model.ngeom)
        if _body(model, g) not in moved
        and model.body_mocapid[_body(model, g)] < 0
        and model.body_dofnum[model.body_rootid[_body(model, g)]] == 0
        and (
            g in paired or _is_plane(model, g) or model.geom_contype[g] or model.geom_conaffinity[g]
        )
    ]
