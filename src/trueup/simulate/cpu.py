"""The CPU engine: thousands of worlds on `mujoco.batch`, no Python loop over any of them."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import ArrayLike

from trueup.effects import Values
from trueup.errors import TrueupError
from trueup.simulate.chain import Chain
from trueup.simulate.contract import Divergence, Step, Worlds
from trueup.simulate.history import History
from trueup.space import Point, Points
from trueup.streams import Streams
from trueup.worlds import Compiled, Numbers, Readings, Scene, Signal, sensor_slots

_VELOCITY = mujoco.mjtStage.mjSTAGE_VEL.value
_NO_STAGE = mujoco.mjtStage.mjSTAGE_NONE.value
_FATAL = {
    mujoco.mjtWarning.mjWARN_BADQPOS.value: "positions became NaN or huge",
    mujoco.mjtWarning.mjWARN_BADQVEL.value: "velocities became NaN or huge",
    mujoco.mjtWarning.mjWARN_BADQACC.value: "accelerations became NaN or huge",
}
_START, _ACTION, _OBSERVATION, _FIELDS = range(4)  # salts of the random streams


class CpuWorlds(Worlds):
    """Worlds on all cores of this machine; results are the same at any thread count.

    Args:
        compiled: The world and its space.
        n: How many copies.
        threads: CPU threads; 0 takes all.
    """

    def __init__(self, compiled: Compiled, n: int, *, threads: int = 0) -> None:
        if n < 1:
            raise TrueupError(f"{n} worlds cannot be simulated.", fix="Ask for at least 1.")
        self.compiled, self.n = compiled, n
        model = compiled.model
        self.batch = Batch(model, n, threads)
        self.points = np.tile([p.nominal for p in compiled.space], (n, 1))
        self.seeds = np.zeros(n, np.uint64)
        self.divergences = []
        self._values = self._live_values()
        self._fields = {name: self.batch.expand(name).reshape(n, -1) for name in compiled.fields}
        self._defaults: dict[str, np.ndarray] = {}
        self._base = {
            name: self._fields[name][:, elements]
            for name, elements in compiled.step_elements.items()
        }
        self._field_streams = Streams(self.seeds, salt=_FIELDS)
        self._slots = sensor_slots(model)
        self._history = History(model)
        self._sensordata = self.batch.bind("sensordata")
        self._ctrl = self.batch.bind("ctrl")
        self._qpos = self.batch.bind("qpos")
        self._time = self.batch.bind("time")
        self._warnings = self.batch.warning[..., 1]  # (n, kinds) counts
        self._actions = Chain(compiled.action_filters, width=model.nu, n=n, salt=_ACTION)
        self._sensors = Chain(
            compiled.observation_filters, width=model.nsensordata, n=n, salt=_OBSERVATION
        )
        self._columns = {
            signal: np.concatenate([np.r_[self._slots[name]] for name in signal.sensors])
            for signal in (*self.world.observations, *self.world.privileged)
        }
        self._servo_joints = self._driven_qpos()
        self._hold = np.zeros((n, model.nu))
        self._held_s = np.zeros(n)
        self._alive = np.ones(n, bool)
        self._measured = self._sensordata.copy()
        self._observation: dict[str, np.ndarray] = {}

    # Episodes -----------------------------------------------------------------------------------

    def reset(
        self, points: Points | Point, seeds: ArrayLike, ids: ArrayLike | None = None
    ) -> dict[str, np.ndarray]:
        rows = self._rows(ids)
        if not len(rows):
            return self.observation
        points = self.space.points(points, len(rows)) if isinstance(points, Point) else points
        points = self.space.points(points)
        seeds = np.broadcast_to(np.asarray(seeds, np.uint64), len(rows))
        if len(points) != len(rows):
            raise TrueupError(
                f"{len(rows)} worlds were to be reset with {len(points)} points.",
                fix="Give one point for each, or a single Point for all.",
            )
        self.points[rows], self.seeds[rows] = points.values, seeds
        p = self._values.take(rows)
        self._write(rows, self.compiled.numbers(p))
        self._alive[rows], self._held_s[rows] = True, 0.0
        failed = self._failures(self.batch.set_const, rows) if self.compiled.needs_set_const else []
        self._begin(rows, seeds)
        failed = [*failed, *self._settle(rows)]
        for chain, signal in ((self._actions, self._hold), (self._sensors, self._sensordata)):
            chain.start(rows, seeds, signal[rows], p)
        self._field_streams.reseed(rows, Streams(seeds, salt=_FIELDS))
        self._warnings[rows] = 0
        self._measure(rows)
        if failed:
            self._end(np.unique(failed))
        return self.observation

    def _begin(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Put joints, objects and targets where the task wants them."""
        self.batch.reset(rows, stage=_NO_STAGE)
        scene = Scene(
            self.compiled.model,
            Streams(seeds, salt=_START),
            lambda field: self._field(field)[rows],
        )
        mocap_pos = self.batch.bind("mocap_pos")
        for name, values in self.world.start(scene).items():
            joint = mujoco.mj_name2id(self.compiled.model, mujoco.mjtObj.mjOBJ_JOINT.value, name)
            if joint >= 0:
                at = int(self.compiled.model.jnt_qposadr[joint])
                self._qpos[rows, at : at + values.shape[1]] = values
            else:
                mocap_pos[rows, self._mocap(name)] = values
        self._hold[rows] = self._qpos[rows][:, self._servo_joints]
        self._ctrl[rows] = self._hold[rows]

    def _settle(self, rows: np.ndarray) -> list[int]:
        """Readings of the first moment, and history buffers as if it had always been so.

        Returns the worlds in which MuJoCo could not even compute that.
        """
        delays = self._fields.get("sensor_delay")
        kept = None if delays is None else delays[rows]
        if delays is not None:
            delays[rows] = 0.0
        failed = self._failures(self.batch.forward, rows)
        if self.compiled.model.nhistory:
            history = self.batch.bind("history")
            self._history.fill(history, rows, self._ctrl[rows], self._sensordata[rows])
        if delays is not None:
            delays[rows] = kept
        return failed

    # Stepping -----------------------------------------------------------------------------------

    def step(self, action: ArrayLike) -> Step:
        action = self._checked(action)
        self._ctrl[:] = self._actions.apply(action, self._values)
        self._write_step_fields()
        self._advance()
        self._measure(None)
        true = Readings(self._slots, self._sensordata, self._time)
        success = self.world.success(true) & self._alive
        self._held_s = np.where(success, self._held_s + self.world.control_period_s, 0.0)
        return Step(
            observation=self.observation,
            privileged=self.privileged,
            reward=np.where(self._alive, self.world.reward(true, action), 0.0),
            success=success & (self._held_s >= self.world.hold_s - 1e-9),
            failure=self.world.failure(true) & self._alive,
            timeout=self._time >= self.world.episode_s - 1e-9,
            diverged=~self._alive,
        )

    def _advance(self) -> None:
        rows = None if self._alive.all() else np.flatnonzero(self._alive)
        failed = self._failures(
            self.batch.step, rows, nstep=self.compiled.substeps, stage=_VELOCITY
        )
        fatal = (self._warnings[:, list(_FATAL)] > 0).any(axis=1)
        finite = np.isfinite(self._sensordata).all(axis=1)
        broken = self._alive & (fatal | ~finite)
        broken[failed] = True
        if broken.any():
            self._end(np.flatnonzero(broken))

    def _end(self, rows: np.ndarray) -> None:
        """Take broken worlds out of the batch, and say which they were."""
        points = Points(self.space.names, self.points[rows])
        for point, row in zip(points, rows, strict=True):
            counts = self._warnings[row, list(_FATAL)]
            reasons = [text for text, count in zip(_FATAL.values(), counts, strict=True) if count]
            reason = self.batch.error(int(row)) or ", ".join(reasons) or "a reading is not finite"
            self.divergences.append(
                Divergence(
                    world=int(row),
                    seed=int(self.seeds[row]),
                    point=point,
                    time_s=float(self._time[row]),
                    reason=reason,
                )
            )
        self._alive[rows] = False

    @staticmethod
    def _failures(call: Callable[..., None], rows: np.ndarray | None, **options) -> list[int]:
        """Call a batch function; the rows in which MuJoCo raised. The others ran to completion."""
        try:
            call(rows, **options)
        except SimulationError as error:
            return error.ids.tolist()
        return []

    def _write_step_fields(self) -> None:
        if not self._base:
            return
        normals = self._field_streams.normal(self.compiled.step_normals)
        numbers = self.compiled.step_numbers(self._base, self._values, normals, self._time)
        for name, number in numbers.items():
            self._fields[name][:, number.elements] = number.values

    # Reading ------------------------------------------------------------------------------------

    @property
    def observation(self) -> dict[str, np.ndarray]:
        return self._observation

    @property
    def privileged(self) -> dict[str, np.ndarray]:
        """What only the simulator knows now, (n, dim) by signal name."""
        return self._signals(self.world.privileged, self._sensordata)

    @property
    def truth(self) -> Readings:
        """All sensors now, before noise and bias; live, so copy what must last."""
        return Readings(self._slots, self._sensordata, self._time)

    @property
    def time_s(self) -> np.ndarray:
        return self._time

    @property
    def hold(self) -> np.ndarray:
        return self._hold.copy()

    def snapshot(
        self, i: int, model: mujoco.MjModel | None = None
    ) -> tuple[mujoco.MjModel, mujoco.MjData]:
        if not 0 <= i < self.n:
            raise TrueupError(
                f"There is no world {i} in this batch of {self.n}.",
                fix=f"Choose one from 0 to {self.n - 1}.",
            )
        model = self.batch.get_model(i, model)
        data = self.batch.get_data(i)
        mujoco.mj_forward(model, data)
        return model, data

    # --------------------------------------------------------------------------------------------

    def _measure(self, rows: np.ndarray | None) -> None:
        """Pass the readings through what the sensors do to them; of some worlds or of all."""
        if rows is None or len(rows) == self.n:
            self._measured = self._sensors.apply(self._sensordata, self._values)
        else:  # readings of a first moment are clean: noise begins with the first step
            self._measured = self._measured.copy()
            self._measured[rows] = self._sensordata[rows]
        self._observation = self._signals(self.world.observations, self._measured)

    def _signals(self, signals: tuple[Signal, ...], readings: np.ndarray) -> dict[str, np.ndarray]:
        found = {}
        for signal in signals:
            values = readings[:, self._columns[signal]]
            found[signal.name] = (
                values if signal.function is None else signal.function(self.world, values)
            )
        return found

    def _write(self, rows: np.ndarray, numbers: dict[str, Numbers]) -> None:
        for name, number in numbers.items():
            self._fields[name][np.ix_(rows, number.elements)] = number.values
            if name in self._base:
                elements = self.compiled.step_elements[name]
                self._base[name][rows] = self._fields[name][np.ix_(rows, elements)]

    def _live_values(self) -> Values:
        """The parameters of all worlds, as views: a reset of some rows is seen at once."""
        names = self.space.names
        columns: dict[str, np.ndarray] = {
            name: np.full(self.n, value) for name, value in self.compiled.nominal.items()
        }
        columns |= {name: self.points[:, i] for i, name in enumerate(names)}
        return Values(columns, self.n)

    def _field(self, name: str) -> np.ndarray:
        """A model field in every world, (n, size), whether it differs between them or not."""
        if name in self._fields:
            return self._fields[name]
        value = np.asarray(getattr(self.compiled.model, name)).reshape(1, -1)
        return np.broadcast_to(value, (self.n, value.shape[1]))

    def _rows(self, ids: ArrayLike | None) -> np.ndarray:
        rows = np.arange(self.n) if ids is None else np.atleast_1d(np.asarray(ids))
        return np.flatnonzero(rows) if rows.dtype == bool else rows

    def _driven_qpos(self) -> np.ndarray:
        model = self.compiled.model
        servos = np.flatnonzero(model.actuator_ctrlnum)
        return model.jnt_qposadr[model.actuator_trnid[servos, 0]]

    def _mocap(self, name: str) -> int:
        model = self.compiled.model
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY.value, name)
        if body < 0 or model.body_mocapid[body] < 0:
            raise TrueupError(
                f"World {self.world.name!r} starts {name!r}, which is neither a joint nor a mocap "
                "body of its model.",
                fix="Use names of joints or mocap bodies in World.start.",
            )
        return int(model.body_mocapid[body])

    def _checked(self, action: ArrayLike) -> np.ndarray:
        action = np.asarray(action, float)
        wanted = (self.n, self.compiled.model.nu)
        if action.shape != wanted:
            raise TrueupError(
                f"A command of shape {action.shape} was given to {self.n} worlds of "
                f"{self.world.name!r} with {wanted[1]} servos.",
                fix=f"Give an array of shape {wanted}: {', '.join(self.world.commands)}.",
            )
        if not np.isfinite(action).all():
            row, column = np.argwhere(~np.isfinite(action))[0]
            raise TrueupError(
                f"The command for {self.world.commands[column]!r} in world {row} is "
                f"{action[row, column]}.",
                fix="Check the policy's output; commands must be finite.",
            )
        return action
