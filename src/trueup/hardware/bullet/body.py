"""One cell in PyBullet: an arm and what it works on, in a world of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.hardware.bullet.engine import pybullet
from trueup.hardware.bullet.frames import conjugate, matrix, product, xyzw
from trueup.hardware.bullet.urdf import Tree, free_bodies, touching, tree_of

MOST = 1000
"""Cells in one process: PyBullet has room for about as many worlds."""

_ITERATIONS = 120
_POINTS = 200  # of a ball that is not round
_PLANE, _BOX, _MESH, _ELLIPSOID = (
    kind.value
    for kind in (
        mujoco.mjtGeom.mjGEOM_PLANE,
        mujoco.mjtGeom.mjGEOM_BOX,
        mujoco.mjtGeom.mjGEOM_MESH,
        mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    )
)
_GEOMS = {
    _BOX: "GEOM_BOX",
    mujoco.mjtGeom.mjGEOM_SPHERE.value: "GEOM_SPHERE",
    mujoco.mjtGeom.mjGEOM_CAPSULE.value: "GEOM_CAPSULE",
    mujoco.mjtGeom.mjGEOM_CYLINDER.value: "GEOM_CYLINDER",
}


def timeless_world() -> int:
    """A world of PyBullet in which nobody lets time pass."""
    return pybullet.connect(pybullet.DIRECT)


class Body:
    """An arm on its table in PyBullet, made from a compiled model; all joints under torque control.

    Joint angles are MuJoCo's less `qpos0`: the pose in which the model is drawn is zero.

    A second arm, without rotors, stands in a world where no time passes, and says what the true
    mass matrix is.

    Args:
        model: The model of this cell, all its numbers written.
        rotors: (nv,) inertia to add to each link about the axis of its joint.
        timeless: The number of the world where no time passes.
    """

    def __init__(self, model: mujoco.MjModel, rotors: np.ndarray, timeless: int) -> None:
        self.client = pybullet.connect(pybullet.DIRECT)
        self.model, self._timeless = model, timeless
        self._call("setPhysicsEngineParameter", numSolverIterations=_ITERATIONS, **_SOLVER)
        self._call("setTimeStep", float(model.opt.timestep))
        self._call("setGravity", *model.opt.gravity.tolist())
        tree = tree_of(model, rotors)
        self._arm = self._loaded(tree, self.client)
        self._true = self._loaded(tree_of(model), timeless)
        pybullet.setGravity(*model.opt.gravity.tolist(), physicsClientId=timeless)
        names = {
            self._call("getJointInfo", self._arm, i)[12].decode(): i
            for i in range(self._call("getNumJoints", self._arm))
        }
        self._moving = [
            i
            for i in names.values()
            if self._call("getJointInfo", self._arm, i)[2] != pybullet.JOINT_FIXED
        ]
        self._place = {  # body of the model to body and link of PyBullet
            body: (self._arm, names.get(link, -1)) for body, link in tree.links.items() if body
        }
        self.things = free_bodies(model)
        for body in self.things:
            self._place[body] = (self._thing(body), -1)
        self._statics = {geom: (self._static(geom), -1) for geom in self._standing()}
        self._settle_materials()

    def close(self) -> None:
        """Give the world back."""
        if self.client >= 0:
            pybullet.disconnect(self.client)
            pybullet.removeBody(self._true, physicsClientId=self._timeless)
            self.client = -1

    # State --------------------------------------------------------------------------------------

    def put(
        self, angles: np.ndarray, speeds: np.ndarray, things: Sequence[tuple[float, ...]]
    ) -> None:
        """Set joint angles and speeds, and what floats, as `thing_states` has it."""
        for i, joint in enumerate(self._moving):
            self._call("resetJointState", self._arm, joint, float(angles[i]), float(speeds[i]))
        for body, state in zip(self.things, things, strict=True):
            thing = self._place[body][0]
            self._call("resetBasePositionAndOrientation", thing, state[:3], state[3:7])
            self._call("resetBaseVelocity", thing, state[7:10], state[10:])

    def joint_states(self) -> tuple[list[float], list[float]]:
        """Angles and speeds of the joints."""
        states = self._call("getJointStates", self._arm, self._moving)
        return [s[0] for s in states], [s[1] for s in states]

    def thing_states(self) -> list[tuple[float, ...]]:
        """Of each thing that floats: centre of mass, its frame (x, y, z, w), velocity, spin."""
        found = []
        for body in self.things:
            thing = self._place[body][0]
            place, turn = self._call("getBasePositionAndOrientation", thing)
            speed, spin = self._call("getBaseVelocity", thing)
            found.append((*place, *turn, *speed, *spin))
        return found

    def dynamics(self, angles: list[float], speeds: list[float]) -> tuple[Any, Any]:
        """The mass matrix (k, k), and the torques (k,) of gravity and of the motion itself."""
        there = {"physicsClientId": self._timeless}
        mass = pybullet.calculateMassMatrix(self._true, angles, **there)
        still = [0.0] * len(angles)
        bias = pybullet.calculateInverseDynamics(self._true, angles, speeds, still, **there)
        return mass, bias

    def step(self, torques: np.ndarray) -> None:
        """One physics step under these joint torques."""
        self._call(
            "setJointMotorControlArray",
            self._arm,
            self._moving,
            pybullet.TORQUE_CONTROL,
            forces=torques.tolist(),
        )
        self._call("stepSimulation")

    def pressed(self, body: int, against: int) -> np.ndarray:
        """(3,) the net force, N, that a body of the model puts on another."""
        (one, link), (other, other_link) = self._place[body], self._place[against]
        found = self._call("getContactPoints", one, other, link, other_link)
        force = np.zeros(3)
        for point in found:
            # normals point from the second to the first body, forces act on the first
            force -= point[9] * np.array(point[7])
            force -= point[10] * np.array(point[11]) + point[12] * np.array(point[13])
        return force

    # Making -------------------------------------------------------------------------------------

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(pybullet, name)(*args, **options, physicsClientId=self.client)

    def _loaded(self, tree: Tree, client: int) -> int:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tree.urdf"
            file.write_text(tree.text, encoding="utf-8")
            flags = (
                pybullet.URDF_USE_INERTIA_FROM_FILE
                | pybullet.URDF_USE_SELF_COLLISION
                | pybullet.URDF_MAINTAIN_LINK_ORDER
            )
            there = {"physicsClientId": client}
            arm = pybullet.loadURDF(str(file), useFixedBase=1, flags=flags, **there)
        for joint in range(pybullet.getNumJoints(arm, **there)):
            # every joint comes with a motor that brakes it
            mode = pybullet.VELOCITY_CONTROL
            pybullet.setJointMotorControl2(arm, joint, mode, force=0.0, **there)
            inertia = tree.inertias.get(pybullet.getJointInfo(arm, joint, **there)[12].decode())
            if inertia is not None:
                diagonal = inertia.tolist()
                pybullet.changeDynamics(arm, joint, localInertiaDiagonal=diagonal, **there)
        return arm

    def _thing(self, body: int) -> int:
        model = self.model
        geoms = [g for g in touching(model) if model.geom_bodyid[g] == body]
        shapes = [
            self._shape(geom, model.body_ipos[body], model.body_iquat[body]) for geom in geoms
        ]
        thing = self._call(
            "createMultiBody",
            baseMass=float(model.body_mass[body]),
            baseCollisionShapeIndex=shapes[0] if shapes else -1,
        )
        self._call(
            "changeDynamics", thing, -1, localInertiaDiagonal=model.body_inertia[body].tolist()
        )
        return thing

    def _standing(self) -> list[int]:
        """Geoms that may be touched and never move."""
        model = self.model
        return [g for g in sorted(touching(model)) if int(model.geom_bodyid[g]) not in self._place]

    def _static(self, geom: int) -> int:
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, data.geom_xmat[geom])
        return self._call(
            "createMultiBody",
            baseMass=0.0,
            baseCollisionShapeIndex=self._shape(geom),
            basePosition=data.geom_xpos[geom].tolist(),
            baseOrientation=xyzw(quat).tolist(),
        )

    def _shape(
        self, geom: int, ipos: np.ndarray | None = None, iquat: np.ndarray | None = None
    ) -> int:
        """A collision shape; of a thing, in the frame of its inertia."""
        kind, size = int(self.model.geom_type[geom]), self.model.geom_size[geom].tolist()
        options: dict[str, Any] = {}
        if ipos is not None and iquat is not None:
            back = matrix(iquat).T
            quat = product(conjugate(iquat), self.model.geom_quat[geom])
            options = {
                "collisionFramePosition": (back @ (self.model.geom_pos[geom] - ipos)).tolist(),
                "collisionFrameOrientation": xyzw(quat).tolist(),
            }
        if kind == _PLANE:
            return self._call("createCollisionShape", pybullet.GEOM_PLANE, planeNormal=[0, 0, 1])
        if kind in (_ELLIPSOID, _MESH):
            corners = self._corners(geom).tolist()
            return self._call(
                "createCollisionShape", pybullet.GEOM_MESH, vertices=corners, **options
            )
        if kind == _BOX:
            measures: dict[str, Any] = {"halfExtents": size}
        else:
            measures = {"radius": size[0], "height": 2 * size[1]}
        shape = getattr(pybullet, _GEOMS[kind])
        return self._call("createCollisionShape", shape, **measures, **options)

    def _corners(self, geom: int) -> np.ndarray:
        """(k, 3) of a convex body."""
        model = self.model
        if model.geom_type[geom] == _MESH:
            mesh = int(model.geom_dataid[geom])
            first = int(model.mesh_vertadr[mesh])
            return model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])]
        k = np.arange(_POINTS) + 0.5  # evenly over a ball, on a spiral
        height, turn = 1.0 - 2.0 * k / _POINTS, np.pi * (1.0 + 5.0**0.5) * k
        around = np.sqrt(1.0 - height**2)
        ball = np.stack([around * np.cos(turn), around * np.sin(turn), height], axis=-1)
        return ball * model.geom_size[geom]

    # Contacts -----------------------------------------------------------------------------------

    def _settle_materials(self) -> None:
        """Let touch what may touch, each pair with its own friction as far as PyBullet allows.

        PyBullet multiplies the friction of two bodies. What floats has 1, so that the friction of
        everything else is that of its pair with it.
        """
        model = self.model
        for body, link in {*self._place.values(), *self._statics.values()}:
            self._call("setCollisionFilterGroupMask", body, link, 0, 0)
            self._call("changeDynamics", body, link, **_CONTACT)
        floating = {self._place[body] for body in self.things}
        friction: dict[tuple[int, int], float] = {}
        for k in range(model.npair):
            one, other = (self._of(int(g[k])) for g in (model.pair_geom1, model.pair_geom2))
            self._call("setCollisionFilterPair", one[0], other[0], one[1], other[1], 1)
            sliding = float(model.pair_friction[k, 0])
            for this, that in ((one, other), (other, one)):
                if that in floating or this not in friction:
                    friction[this] = max(sliding, friction.get(this, 0.0) * (that in floating))
        for (body, link), value in friction.items():
            lateral = 1.0 if (body, link) in floating else value
            self._call("changeDynamics", body, link, lateralFriction=lateral)

    def _of(self, geom: int) -> tuple[int, int]:
        return self._statics.get(geom) or self._place[int(self.model.geom_bodyid[geom])]


_SOLVER: dict[str, Any] = dict(
    erp=0.2, contactERP=0.2, frictionERP=0.2, deterministicOverlappingPairs=1, enableFileCaching=0
)
_CONTACT: dict[str, Any] = dict(
    linearDamping=0.0,
    angularDamping=0.0,
    jointDamping=0.0,
    restitution=0.0,
    lateralFriction=0.6,
    spinningFriction=0.005,
    rollingFriction=0.0001,
    frictionAnchor=1,
)
