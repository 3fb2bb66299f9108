"""Many cells in PyBullet behind the same door as our own engine."""

from __future__ import annotations

import mujoco
import numpy as np

from trueup.errors import TrueupError
from trueup.hardware.bullet.body import MOST, Body, timeless_world
from trueup.hardware.bullet.drive import Drive
from trueup.hardware.bullet.engine import check_installed
from trueup.hardware.bullet.frames import from_bullet, to_bullet
from trueup.hardware.bullet.urdf import check, free_bodies, tree_of
from trueup.simulate import CpuWorlds
from trueup.worlds import Compiled

_POSITION, _VELOCITY = mujoco.mjtStage.mjSTAGE_POS.value, mujoco.mjtStage.mjSTAGE_VEL.value
_SHARE = 1.0 / 3.0  # of armature and damping that is put into the links: see `Drive.coupled`
_FRESH = 0.5  # how quickly the torques of contacts are believed; at 1, parallel joints would swing
_DEEP = 128  # physics steps that commands and readings are kept for: the longest delay


class BulletWorlds(CpuWorlds):
    """Worlds whose physics is PyBullet's, and all else our own.

    Where episodes begin, what commands and readings pass through, where sensors sit and what counts
    as success come from the same code as in our own engine. MuJoCo is asked for the geometry of
    sensors, and steps nothing. Delays are kept here, as MuJoCo's own belong to its step.

    Args:
        compiled: The world and its space.
        n: How many copies.
        threads: Of the geometry; PyBullet steps one cell after the other.
    """

    def __init__(self, compiled: Compiled, n: int, *, threads: int = 0) -> None:
        check_installed()
        check(compiled.model, compiled.world.name)
        if n > MOST:
            raise TrueupError(
                f"{n} cells do not fit into PyBullet.", fix=f"Ask for {MOST} or fewer."
            )
        super().__init__(compiled, n, threads=threads)
        model = compiled.model
        self._bodies: dict[int, Body] = {}
        self._timeless = timeless_world()
        joints = np.array(tree_of(model).joints, int)
        self._qpos_of, self._dof_of = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        servos = model.actuator_trnid[:, 0]
        self._servo_of = np.array([int(np.flatnonzero(joints == j)[0]) for j in servos])
        self._things = free_bodies(model)
        things = [int(model.body_jntadr[body]) for body in self._things]
        self._poses_of = _spans(model.jnt_qposadr[things], 7)
        self._twists_of = _spans(model.jnt_dofadr[things], 6)
        self._qvel = self.batch.bind("qvel")
        self._geometry, self._sensordata = self._sensordata, np.zeros((n, model.nsensordata))
        self._forces = _sensors(model, mujoco.mjtSensor.mjSENS_ACTUATORFRC)
        self._touches = _sensors(model, mujoco.mjtSensor.mjSENS_CONTACT)
        self._sent = np.zeros((n, _DEEP, model.nu))
        self._read = np.zeros((n, _DEEP, model.nsensordata))
        self._lag_s = np.zeros((n, model.nsensordata))
        self._contact, self._rotors = np.zeros((n, len(joints))), np.zeros((n, len(joints)))
        self._joints, self._hangs = joints, _hanging(model, joints)
        self._xaxis = self.batch.bind("xaxis")
        self._pulled = np.zeros((n, model.nu))

    def close(self) -> None:
        """Give PyBullet's worlds back."""
        for body in self._bodies.values():
            body.close()
        self._bodies.clear()

    # Beginning ----------------------------------------------------------------------------------

    def _begin(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        super()._begin(rows, seeds)
        for row in rows.tolist():
            if row in self._bodies:
                self._bodies.pop(row).close()
            model = self.batch.get_model(row)
            rotors = _SHARE * (model.dof_armature + model.opt.timestep * model.dof_damping)
            self._rotors[row] = rotors[self._dof_of]
            body = self._bodies[row] = Body(model, rotors, self._timeless)
            q, v = self._qpos[row], self._qvel[row]
            angles = q[self._qpos_of] - self._field("qpos0")[row, self._qpos_of]
            things = to_bullet(q[self._poses_of], v[self._twists_of], *self._inertial(row))
            body.put(angles, v[self._dof_of], things.tolist())
        self._sent[rows] = self._ctrl[rows][:, None]
        self._contact[rows], self._pulled[rows] = 0.0, 0.0

    def _settle(self, rows: np.ndarray) -> dict[int, str]:
        failed = super()._settle(rows)
        if "sensor_delay" in self._fields:
            delays = self._fields["sensor_delay"]
            self._lag_s[rows] = np.repeat(delays[rows], self.compiled.model.sensor_dim, axis=1)
            delays[rows] = 0.0  # or MuJoCo would read buffers that nobody fills
        self._sense(rows)
        self._read[rows] = self._sensordata[rows][:, None]
        return failed

    # Stepping -----------------------------------------------------------------------------------

    def _advance(self) -> None:
        rows = np.flatnonzero(self._alive & ~self._resting)
        lags = bool((self._lag_s[rows] > 0).any())
        axes = self._axes(rows)
        for _ in range(self.compiled.substeps):
            self._tick(rows, axes)
            if lags:
                self._sense(rows)
                self._read[rows, 1:] = self._read[rows, :-1]
                self._read[rows, 0] = self._sensordata[rows]
        self._sense(rows)
        if lags:
            late = _ago(self._read[rows], self._lag_s[rows] / self._step_s[rows, None])
            self._sensordata[rows] = late
        broken = rows[~np.isfinite(self._sensordata[rows]).all(axis=1)]
        if len(broken):
            self._end(broken, dict.fromkeys(broken.tolist(), "PyBullet lost it"))

    @property
    def _step_s(self) -> np.ndarray:
        if "opt.timestep" in self._fields:
            return self._fields["opt.timestep"][:, 0]
        return np.full(self.n, self.compiled.model.opt.timestep)

    def _tick(self, rows: np.ndarray, axes: np.ndarray) -> None:
        """One physics step in some cells."""
        bodies = [self._bodies[row] for row in rows.tolist()]
        step_s = self._step_s[rows]
        q, v = self._qpos[rows][:, self._qpos_of], self._qvel[rows][:, self._dof_of]
        angles = q - self._field("qpos0")[rows][:, self._qpos_of]
        found = [
            body.dynamics(a, w)
            for body, a, w in zip(bodies, angles.tolist(), v.tolist(), strict=True)
        ]
        mass, bias = np.array([m for m, _ in found]), np.array([b for _, b in found])
        pull, damping = self._servos(rows, q, v)
        pull += self._springs(rows, q)
        drive = Drive(
            armature=self._field("dof_armature")[rows][:, self._dof_of],
            damping=self._dampers(rows, v) + damping,
            friction=self._field("dof_frictionloss")[rows][:, self._dof_of],
        )
        felt = mass + drive.coupled(self._rotors[rows], axes, self._hangs)
        wanted = drive.accelerations(mass, bias, v, pull + self._contact[rows], step_s)
        torques = _times(felt, wanted) + bias - self._contact[rows]
        for body, torque in zip(bodies, torques, strict=True):
            body.step(torque)
        self._take(rows, bodies)
        change = (self._qvel[rows][:, self._dof_of] - v) / step_s[:, None]
        new = _times(felt, change) + bias - torques
        self._contact[rows] += _FRESH * (new - self._contact[rows])
        self._time[rows] += step_s

    def _axes(self, rows: np.ndarray) -> np.ndarray:
        """(k, joints, 3) where the axes of the joints point."""
        self.batch.forward(rows, stage=_POSITION)
        return self._xaxis[rows][:, self._joints]

    def _take(self, rows: np.ndarray, bodies: list[Body]) -> None:
        """Bring the state of some cells over."""
        states = np.array([body.joint_states() for body in bodies])
        zero = self._field("qpos0")[rows][:, self._qpos_of]
        self._qpos[np.ix_(rows, self._qpos_of)] = zero + states[:, 0]
        self._qvel[np.ix_(rows, self._dof_of)] = states[:, 1]
        if len(self._poses_of):
            things = np.array([body.thing_states() for body in bodies])
            poses, twists = from_bullet(things, *self._inertial(rows))
            self._qpos[rows[:, None, None], self._poses_of] = poses
            self._qvel[rows[:, None, None], self._twists_of] = twists

    def _inertial(self, rows: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
        """Where the inertia of each thing that floats lies in its body, and how it is turned."""
        place, turn = self._field("body_ipos"), self._field("body_iquat")
        return (
            place.reshape(self.n, -1, 3)[rows][..., self._things, :],
            turn.reshape(self.n, -1, 4)[rows][..., self._things, :],
        )

    def _servos(
        self, rows: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques (k, joints) of the servos without their own damping, and that damping."""
        model, n = self.compiled.model, len(rows)
        self._sent[rows, 1:] = self._sent[rows, :-1]
        self._sent[rows, 0] = self._ctrl[rows]
        told = self._ctrl[rows]
        if "actuator_delay" in self._fields:
            lag = self._fields["actuator_delay"][rows] / self._step_s[rows, None]
            told = _ago(self._sent[rows], lag)
        limited = model.actuator_ctrllimited.astype(bool)
        told = np.where(limited, np.clip(told, *model.actuator_ctrlrange.T), told)
        gain = self._field("actuator_gainprm")[rows].reshape(n, model.nu, -1)
        bias = self._field("actuator_biasprm")[rows].reshape(n, model.nu, -1)
        low, high = np.moveaxis(self._field("actuator_forcerange")[rows].reshape(n, -1, 2), 2, 0)
        low = np.where(model.actuator_forcelimited, low, -np.inf)
        high = np.where(model.actuator_forcelimited, high, np.inf)
        position, speed = q[:, self._servo_of], v[:, self._servo_of]
        spring = gain[..., 0] * told + bias[..., 0] + bias[..., 1] * position
        force = spring + bias[..., 2] * speed
        inside = (force > low) & (force < high)
        self._pulled[rows] = np.clip(force, low, high)
        pull, damping = np.zeros_like(q), np.zeros_like(q)
        pull[:, self._servo_of] = np.where(inside, spring, self._pulled[rows])
        damping[:, self._servo_of] = np.where(inside, -bias[..., 2], 0.0)
        return pull, damping

    def _springs(self, rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Torques (k, joints) of springs on the joints, bent as MuJoCo bends them."""
        stretched = q - self._field("qpos_spring")[rows][:, self._qpos_of]
        stiffness = self._field("jnt_stiffness")[rows][:, self._joints]
        return -stretched * _bent(stiffness, self._more("jnt_stiffnesspoly", rows), stretched)

    def _dampers(self, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Damping (k, joints) at the speeds that the joints have."""
        damping = self._field("dof_damping")[rows][:, self._dof_of]
        return _bent(damping, self._more("dof_dampingpoly", rows), v)

    def _more(self, field: str, rows: np.ndarray) -> np.ndarray:
        """(k, joints, 2) how a spring or a damper grows, linearly and with the square."""
        of = self._joints if field.startswith("jnt") else self._dof_of
        return self._field(field)[rows].reshape(len(rows), -1, 2)[:, of]

    # Sensing ------------------------------------------------------------------------------------

    def _sense(self, rows: np.ndarray) -> None:
        """Readings of the state as it is, with forces as PyBullet has them."""
        model = self.compiled.model
        self.batch.forward(rows, stage=_VELOCITY)
        self._sensordata[rows] = self._geometry[rows]
        for sensor in self._forces:
            servo = int(model.sensor_objid[sensor])
            self._sensordata[rows, model.sensor_adr[sensor]] = self._pulled[rows, servo]
        for sensor in self._touches:
            first = int(model.sensor_adr[sensor])
            pair = int(model.sensor_objid[sensor]), int(model.sensor_refid[sensor])
            for row in rows.tolist():
                self._sensordata[row, first : first + 3] = self._bodies[row].pressed(*pair)


def _ago(kept: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """What was `steps` (n, k) ago in a record (n, deep, k), newest first, between two entries."""
    whole = np.clip(np.floor(steps).astype(int), 0, kept.shape[1] - 2)
    share = steps - whole
    rows, columns = np.ix_(np.arange(len(kept)), np.arange(kept.shape[2]))
    return (1.0 - share) * kept[rows, whole, columns] + share * kept[rows, whole + 1, columns]


def _bent(first: np.ndarray, more: np.ndarray, x: np.ndarray) -> np.ndarray:
    return first + more[..., 0] * np.abs(x) + more[..., 1] * x**2


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[..., None])[..., 0]


def _hanging(model: mujoco.MjModel, joints: np.ndarray) -> np.ndarray:
    """(k, k) whether what joint i moves hangs on joint j, or is moved by it itself."""
    found = np.zeros((len(joints), len(joints)), bool)
    for i, joint in enumerate(joints):
        body = int(model.jnt_bodyid[joint])
        while body:
            found[i] |= model.jnt_bodyid[joints] == body
            body = int(model.body_parentid[body])
        found[i, i + 1 :] &= model.jnt_bodyid[joints[i + 1 :]] != model.jnt_bodyid[joint]
    return found


def _spans(first: np.ndarray, width: int) -> np.ndarray:
    return np.add.outer(np.asarray(first, int), np.arange(width))


def _sensors(model: mujoco.MjModel, kind: mujoco.mjtSensor) -> list[int]:
    return np.flatnonzero(model.sensor_type == kind.value).tolist()
