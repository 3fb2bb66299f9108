"""The CPU engine: thousands of worlds on `mujoco.batch`, no Python loop over any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import ArrayLike

from trueup.effects import Values, anatomy
from trueup.errors import TrueupError
from trueup.simulate.chain import Chain
from trueup.simulate.contract import Divergence, Step, Worlds
from trueup.simulate.history import History
from trueup.simulate.laws import Laws
from trueup.space import Point, Points
from trueup.streams import Streams
from trueup.worlds import Compiled, Numbers, Readings, Scene, Signal, sensor_slots
from trueup.worlds.answers import reward_of, start_of, verdict_of

_VELOCITY = mujoco.mjtStage.mjSTAGE_VEL.value
_NO_STAGE = mujoco.mjtStage.mjSTAGE_NONE.value
_FATAL = {
    mujoco.mjtWarning.mjWARN_BADQPOS.value: "positions became NaN or huge",
    mujoco.mjtWarning.mjWARN_BADQVEL.value: "velocities became NaN or huge",
    mujoco.mjtWarning.mjWARN_BADQACC.value: "accelerations became NaN or huge",
    mujoco.mjtWarning.mjWARN_INERTIA.value: "the inertia matrix became singular",
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
        _report_divergence_ourselves()
        self.compiled, self.n = compiled, n
        model = compiled.model
        self.batch = Batch(model, n, threads)
        self.points = np.tile([p.nominal for p in compiled.space], (n, 1))
        self.seeds = np.zeros(n, np.uint64)
        self.ease = np.zeros(n)
        self.divergences = []
        self._values = self._live_values()
        self._fields = {name: self.batch.expand(name).reshape(n, -1) for name in compiled.fields}
        self._base = {
            name: self._fields[name][:, elements]
            for name, elements in compiled.step_elements.items()
        }
        self._laws = Laws(compiled.laws, self.batch, self._values, self._fields)
        self._field_streams = Streams(self.seeds, salt=_FIELDS)
        self._slots = sensor_slots(model)
        self._history = History(model)
        self._sensordata = self.batch.bind("sensordata")
        self._ctrl = self.batch.bind("ctrl")
        self._qpos = self.batch.bind("qpos")
        self._time = self.batch.bind("time")
        self._warnings = self.batch.warning[..., 1]  # (n, kinds) counts
        self._actions = Chain(compiled.action_filters, n=n, salt=_ACTION)
        self._sensors = Chain(compiled.observation_filters, n=n, salt=_OBSERVATION)
        self._columns = {
            signal: np.concatenate([np.r_[self._slots[name]] for name in signal.sensors])
            for signal in (*self.world.observations, *self.world.privileged)
        }
        self._servo_joints = self._driven_qpos()
        self._hold = np.zeros((n, model.nu))
        self._held_s = np.zeros(n)
        self._age = np.zeros(n, int)  # control steps since each episode began
        self._alive = np.ones(n, bool)
        self._resting = np.zeros(n, bool)
        self._begun = False
        self._observation: dict[str, np.ndarray] = {}

    # Episodes -----------------------------------------------------------------------------------

    def reset(
        self, points: Points | Point, seeds: ArrayLike, ids: ArrayLike | None = None
    ) -> dict[str, np.ndarray]:
        rows = self._rows(ids)
        points = self._points(points, len(rows))
        seeds = self._seeds(seeds, len(rows))
        if not len(rows):
            return self.observation
        self.points[rows], self.seeds[rows] = points.values, seeds
        self._alive[rows], self._held_s[rows], self._age[rows] = True, 0.0, 0
        self._resting[rows] = False
        p = self._values.take(rows)
        self._laws.restore(rows)
        self._write(rows, self.compiled.numbers(p))
        self._laws.start(rows, p)
        failed: dict[int, str] = {}
        if self.compiled.needs_set_const:
            failed |= self._failures(self.batch.set_const, rows)
        self._begin(rows, seeds)
        failed |= self._settle(rows)
        for chain, signal in ((self._actions, self._hold), (self._sensors, self._sensordata)):
            chain.start(rows, seeds, signal[rows], p)
        self._field_streams.reseed(rows, Streams(seeds, salt=_FIELDS))
        self._warnings[rows] = 0
        self._measure(rows)
        self._begun = self._begun or len(rows) == self.n
        if failed:
            self._end(np.array(sorted(failed)), failed)
        return self.observation

    def _begin(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Put joints, objects and targets where the task wants them."""
        self.batch.reset(rows, stage=_NO_STAGE)
        scene = Scene(
            self.compiled.model,
            Streams(seeds, salt=_START),
            lambda field: self._field(field)[rows],
            self.ease[rows],
        )
        mocap_pos = self.batch.bind("mocap_pos")
        for name, values in start_of(self.world, self.compiled.model, scene).items():
            joint = mujoco.mj_name2id(self.compiled.model, mujoco.mjtObj.mjOBJ_JOINT.value, name)
            if joint >= 0:
                at = int(self.compiled.model.jnt_qposadr[joint])
                self._qpos[rows, at : at + values.shape[1]] = values
            else:
                body = self.compiled.model.body(name).id
                mocap_pos[rows, self.compiled.model.body_mocapid[body]] = values
        self._hold[rows] = self._qpos[rows][:, self._servo_joints]
        self._ctrl[rows] = self._hold[rows]

    def _settle(self, rows: np.ndarray) -> dict[int, str]:
        """Readings of the first moment, and history buffers as if it had always been so.

        Returns the worlds in which MuJoCo could not even compute that, and why.
        """
        delays = self._fields.get("sensor_delay")
        kept = None if delays is None else delays[rows]
        if delays is not None:
            delays[rows] = 0.0
        history = self.batch.bind("history") if self.compiled.model.nhistory else None
        if history is not None:
            self._history.fill_commands(history, rows, self._ctrl[rows])
        failed = self._failures(self.batch.forward, rows)
        if history is not None:
            self._history.fill_readings(history, rows, self._sensordata[rows])
        if delays is not None:
            delays[rows] = kept
        return failed

    # Stepping -----------------------------------------------------------------------------------

    def step(self, action: ArrayLike) -> Step:
        action = self._checked(action)
        self._ctrl[:] = self._actions.apply(action, self._values)
        self._write_step_fields()
        self._advance()
        self._age += 1
        self._measure(None)
        true = Readings(self._slots, self._sensordata, self._time)
        success = verdict_of(self.world, "success", true, self.n) & self._alive
        self._held_s = np.where(success, self._held_s + self.world.control_period_s, 0.0)
        reward = reward_of(self.world, true, action, self._alive, self.seeds)
        return Step(
            observation=self.observation,
            privileged=self.privileged,
            reward=np.where(self._alive, reward, 0.0),
            success=success & (self._held_s >= self.world.hold_s - 1e-9),
            failure=verdict_of(self.world, "failure", true, self.n) & self._alive,
            timeout=self._age >= self.world.steps,
            diverged=~self._alive,
        )

    def rest(self, ids: ArrayLike) -> None:
        self._resting[self._rows(ids)] = True

    def _advance(self) -> None:
        moves = self._alive & ~self._resting
        rows = None if moves.all() else np.flatnonzero(moves)
        before = self._time.copy()
        failed = self._stepped(rows)
        fatal = (self._warnings[:, list(_FATAL)] > 0).any(axis=1)
        finite = np.isfinite(self._sensordata).all(axis=1)
        broken = self._alive & (fatal | ~finite)
        broken[list(failed)] = True
        if broken.any():
            # MuJoCo resets a world that breaks down, its clock included
            self._time[broken] = before[broken] + self.world.control_period_s
            self._end(np.flatnonzero(broken), failed)

    def _stepped(self, rows: np.ndarray | None) -> dict[int, str]:
        """One control step of physics; step by step where something follows the motion."""
        steps = self.compiled.substeps
        if not self._laws:
            return self._failures(self.batch.step, rows, nstep=steps, stage=_VELOCITY)
        failed: dict[int, str] = {}
        for k in range(steps):
            self._laws.write(self._step_s)
            stage = _VELOCITY if k == steps - 1 else _NO_STAGE
            failed |= self._failures(self.batch.step, rows, nstep=1, stage=stage)
        return failed

    @property
    def _step_s(self) -> np.ndarray:
        """(n, 1) how long a physics step lasts in each world."""
        return self._field("opt.timestep")[:, :1]

    def _end(self, rows: np.ndarray, errors: Mapping[int, str]) -> None:
        """Take broken worlds out of the batch, and say which they were."""
        points = Points(self.space.names, self.points[rows])
        for point, row in zip(points, rows, strict=True):
            counts = self._warnings[row, list(_FATAL)]
            reasons = [text for text, count in zip(_FATAL.values(), counts, strict=True) if count]
            self.divergences.append(
                Divergence(
                    world=int(row),
                    seed=int(self.seeds[row]),
                    point=point,
                    time_s=float(self._time[row]),
                    reason=errors.get(int(row)) or ", ".join(reasons) or "a reading is not finite",
                )
            )
        self._alive[rows] = False

    def _failures(
        self, call: Callable[..., None], rows: np.ndarray | None, **options: int
    ) -> dict[int, str]:
        """Call a batch function; the rows in which MuJoCo raised, and its words.

        The others ran to completion.
        """
        try:
            call(rows, **options)
        except SimulationError as error:
            return {int(row): self.batch.error(int(row)) for row in error.ids}
        return {}

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
        return dict(self._observation)

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
        if rows is None:
            measured = self._sensors.apply(self._sensordata, self._values)
            self._observation = self._signals(self.world.observations, measured)
            return
        some = self._sensors.apply(self._sensordata[rows], self._values.take(rows), rows)
        fresh = self._signals(self.world.observations, some)
        for name, values in fresh.items():
            kept = self._observation.get(name)
            kept = np.zeros((self.n, values.shape[1])) if kept is None else kept.copy()
            kept[rows] = values
            self._observation[name] = kept

    def _signals(self, signals: tuple[Signal, ...], readings: np.ndarray) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for signal in signals:
            values = readings[:, self._columns[signal]]
            if signal.function is not None:
                values = signal.function(self.world, values, found)
            found[signal.name] = values
        return found

    def _write(self, rows: np.ndarray, numbers: dict[str, Numbers]) -> None:
        for name, elements in self.compiled.step_elements.items():
            if name not in numbers:  # only ever written step by step: back to where it began
                self._fields[name][np.ix_(rows, elements)] = self._base[name][rows]
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
        value = anatomy.default(self.compiled.model, name)
        return np.broadcast_to(value, (self.n, len(value)))

    def _points(self, points: Points | Point, n: int) -> Points:
        points = self.space.points(points, n) if isinstance(points, Point) else points
        points = self.space.points(points)
        if len(points) != n:
            raise TrueupError(
                f"{n} worlds were to be reset with {len(points)} points.",
                fix="Give one point for each, or a single Point for all.",
            )
        return points

    def _seeds(self, seeds: ArrayLike, n: int) -> np.ndarray:
        given = np.asarray(seeds)
        whole = np.issubdtype(given.dtype, np.integer) and not (given < 0).any()
        if given.shape not in ((), (n,)) or not (whole or not given.size):
            raise TrueupError(
                f"{n} worlds were to be reset with {given.size} seeds of type {given.dtype}.",
                fix="Give one whole number from 0 for each, or one for all.",
            )
        return np.broadcast_to(given.astype(np.uint64), n)

    def _driven_qpos(self) -> np.ndarray:
        model = self.compiled.model
        servos = np.flatnonzero(model.actuator_ctrlnum)
        if (model.actuator_trntype[servos] != mujoco.mjtTrn.mjTRN_JOINT.value).any():
            raise TrueupError(
                f"World {self.world.name!r} has an actuator that does not drive a joint.",
                fix="Commands are position targets of joints: use <position joint=...> actuators.",
            )
        return model.jnt_qposadr[model.actuator_trnid[servos, 0]]

    def _checked(self, action: ArrayLike) -> np.ndarray:
        if not self._begun:
            raise TrueupError(
                f"These {self.n} worlds of {self.world.name!r} have not begun an episode yet.",
                fix="Call reset or resample for all of them first.",
            )
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


def _report_divergence_ourselves() -> None:
    """Keep MuJoCo from writing MUJOCO_LOG.TXT into the user's folder and lines to the console."""
    log = mujoco.MjLogConfig.get()
    log.logto_file = log.logto_console = False
    log.set()
