"""Many runs of many episodes at many points, physics step by physics step, in one batch."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np
from mujoco.batch import SimulationError

from trueup.replay.picks import Moments, Picks
from trueup.replay.score import Score, whole_steps
from trueup.replay.states import States
from trueup.simulate import CpuWorlds
from trueup.space import Points
from trueup.worlds import Compiled

_AWAY = -1.5  # m along x: where objects wait that nobody saw
_RECORD_BYTES = 2**25  # of sensor readings at once; more does not fit the caches
_ACCELERATION = mujoco.mjtStage.mjSTAGE_ACC.value


class Stage(CpuWorlds):
    """Worlds that begin where a record says, and are told what it was told when it was told.

    World p·R + r is run r of the score at point p.

    Args:
        compiled: The world and its space.
        score: What to play.
        states: Of each run, where it starts.
        points: How many points are played at once.
        threads: CPU threads; 0 takes all.

    Attributes:
        nudges: (p, 2) rad and rad/s by which all servos begin off what was measured, if any.
    """

    nudges: np.ndarray | None = None

    def __init__(
        self, compiled: Compiled, score: Score, states: States, *, points: int, threads: int = 0
    ) -> None:
        super().__init__(compiled, points * score.runs, threads=threads)
        self.score, self.states, self.p = score, states, points
        self.run = np.tile(np.arange(score.runs), points)
        self._qvel = self.batch.bind("qvel")
        late = compiled.model.sensor_needstage == _ACCELERATION
        self._late = {
            "sensordata": np.repeat(late, compiled.model.sensor_dim),
            "qpos": np.ones(compiled.model.nq, bool),
        }

    def play(
        self,
        points: Points,
        seeds: np.ndarray,
        table: np.ndarray,
        columns: np.ndarray,
        *,
        record: str = "sensordata",
    ) -> np.ndarray:
        """Readings (p, Q, len(columns)) at the times of the score; NaN in runs that broke down.

        Args:
            points: One for each of the `p`.
            seeds: (R,)
            table: (p or 1, 1 + C, nu) all commands, from row 1 on; row 0 stands for holding still.
            columns: Of what is recorded.
            record: `sensordata`, or `qpos` for the poses themselves.
        """
        self._table = table
        each = np.repeat(points.values, self.score.runs, axis=0)
        self.divergences.clear()
        self.reset(Points(points.names, each), np.tile(seeds, self.p))
        # runs that cannot even begin are told apart by `reset`; nothing else is left of them
        broken = ~self._alive
        picked = Picks(self._moments(), columns, self.batch.bind(record), self._late[record])
        for first, last, rows in self._stretches(picked.last_step):
            out = self._rolled(first, last, rows, record, broken)
            picked.take(out, first, last, rows)
        broken |= (self.batch.warning[..., 1] > 0).any(axis=1)
        return picked.readings(broken)

    # Beginning ----------------------------------------------------------------------------------

    def _begin(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        super()._begin(rows, seeds)
        self._set_times()
        self._send_away()
        self._put(rows)
        self._hold[rows] = self._qpos[rows][:, self._servo_joints]
        self._sent = self._command_steps()
        # a buffer for late commands is filled with what was held before the run began
        self._table_row = self._held_before()
        self._ctrl[rows] = self._told(rows, self._table_row[rows, None])[:, 0]

    def _set_times(self) -> None:
        """Physics steps, and where each run begins: early enough to fill buffers of delays."""
        score = self.score
        step = np.full(self.n, self.compiled.model.opt.timestep)
        if "opt.timestep" in self._fields:
            step = self._fields["opt.timestep"][:, 0].copy()
        first = score.first_s[self.run]
        possible, _ = whole_steps(score.start_s[self.run] - first, step)
        wanted = np.ceil(self._longest_delay() / step).astype(int)
        self.step_s, self.lead = step, np.minimum(possible, wanted)
        self.begin_s = score.start_s[self.run] - self.lead * step
        self._age_s = self.begin_s - first

    def _longest_delay(self) -> float:
        """Seconds that any command or reading may be late, jitter included."""
        found = 0.0
        for name in ("actuator_delay", "sensor_delay"):
            if name in self._fields:
                found = max(found, float(self._fields[name].max()))
        if "actuator_delay" in self._base:
            normals = np.full((self.n, self.compiled.step_normals), 10.0)
            numbers = self.compiled.step_numbers(
                self._base, self._values, normals, np.zeros(self.n)
            )
            found = max(found, float(numbers["actuator_delay"].values.max()))
        return found

    def _send_away(self) -> None:
        model = self.compiled.model
        free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE.value)
        for k, joint in enumerate(free):
            self._qpos[:, model.jnt_qposadr[joint]] = _AWAY - 0.3 * k

    def _put(self, rows: np.ndarray) -> None:
        """Joints and objects where the record has them; the rest stays as it is."""
        states, run = self.states, self.run[rows]
        seen = states.qpos[run] - self._bias[rows]
        self._qpos[rows] = np.where(np.isnan(seen), self._qpos[rows], seen)
        speed = states.qvel[run]
        self._qvel[rows] = np.where(np.isnan(speed), 0.0, speed)
        self._nudge(rows)
        if states.mocap.shape[1]:
            places, mocap = states.mocap[run], self.batch.bind("mocap_pos")
            mocap[rows] = np.where(np.isnan(places), mocap[rows], places)

    def _nudge(self, rows: np.ndarray) -> None:
        """Off what was measured, where that is asked for."""
        if self.nudges is None:
            return
        model, off = self.compiled.model, self.nudges[rows // self.score.runs]
        servos = model.actuator_trnid[model.actuator_ctrlnum > 0, 0]
        self._qpos[np.ix_(rows, model.jnt_qposadr[servos])] += off[:, :1]
        self._qvel[np.ix_(rows, model.jnt_dofadr[servos])] += off[:, 1:]

    @property
    def _bias(self) -> np.ndarray:
        """(n, nq) what the encoders add to where the joints are."""
        model = self.compiled.model
        found = np.zeros((self.n, model.nq))
        for joint in range(model.njnt):
            bias = self._values.get(f"sensing/{model.joint(joint).name}/bias", 0.0)
            found[:, model.jnt_qposadr[joint]] = bias
        return found

    # Commands -----------------------------------------------------------------------------------

    def _command_steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """World, physics step and row of the table of each command that acts; by step.

        A command acts from the physics step nearest to when it was sent.
        """
        score = self.score
        worlds, rows, times = [], [], []
        for e, part in enumerate(score.parts):
            of = np.flatnonzero(score.episode[self.run] == e)
            first = np.searchsorted(part.command_s, self.begin_s[of], side="right") - 1
            first = np.maximum(first, 0)
            last = np.searchsorted(part.command_s, score.end_s[self.run[of]], side="right")
            which, world = _ranges(first, np.maximum(last, first + 1))
            worlds.append(of[world])
            rows.append(1 + score.command_first[e] + which)
            times.append(part.command_s[which])
        world, row, sent_s = (np.concatenate(x) for x in (worlds, rows, times))
        step = np.rint((sent_s - self.begin_s[world]) / self.step_s[world]).astype(int)
        order = np.argsort(step, kind="stable")
        return world[order], step[order], row[order]

    def _held_before(self) -> np.ndarray:
        """(n,) row of the table that each world holds before its first step."""
        world, step, row = self._sent
        held = np.zeros(self.n, int)
        early = step < 0
        np.maximum.at(held, world[early], row[early])
        return held

    def _controls(self, first: int, last: int, rows: np.ndarray) -> np.ndarray:
        """(len(rows), last - first, nu) what each world is told at each step."""
        world, step, row = self._sent
        some = slice(*np.searchsorted(step, [first, last]))
        told = np.zeros((self.n, last - first), int)
        np.maximum.at(told, (world[some], step[some] - first), row[some])
        told[:, 0] = np.maximum(told[:, 0], self._table_row)
        told = np.maximum.accumulate(told, axis=1)
        self._table_row = told[:, -1].copy()
        return self._told(rows, told[rows])

    def _told(self, rows: np.ndarray, told: np.ndarray) -> np.ndarray:
        """Commands (len(rows), k, nu) for rows of the table (len(rows), k)."""
        point = rows // self.score.runs % len(self._table)
        commands = self._table[point[:, None], told]
        return np.where((told == 0)[..., None], self._hold[rows][:, None], commands)

    # Stepping -----------------------------------------------------------------------------------

    def _stretches(self, last_step: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """Steps to take in one go, and the worlds that still take them.

        A stretch ends where worlds are put to their measured state, where fields are written anew,
        or where the record of it would grow large.
        """
        model = self.compiled.model
        period = max(1, round(self.world.control_period_s / model.opt.timestep))
        longest = max(1, _RECORD_BYTES // (8 * self.n * (model.nsensordata + model.nu + 1)))
        starts, first, total = np.unique(self.lead), 0, int(last_step.max()) + 1
        while first < total:
            last = min(first + longest, total)
            if self._base:
                last = min(last, (first // period + 1) * period)
                if first % period == 0:
                    self._write_step_fields()
            if (later := starts[starts > first]).size:
                last = min(last, int(later[0]))
            if first > 0 and first in starts:
                self._put(np.flatnonzero(self.lead == first))
            yield first, last, np.flatnonzero(last_step >= first)
            first = last

    def _rolled(
        self, first: int, last: int, rows: np.ndarray, record: str, broken: np.ndarray
    ) -> np.ndarray:
        """(len(rows), last - first, width) what MuJoCo records of each step."""
        controls = self._controls(first, last, rows)
        if not self._laws:
            return self._recorded(controls, rows, record, broken)
        out = np.empty((len(rows), last - first, len(self._late[record])))
        for k in range(last - first):
            self._laws.write(self.step_s[:, None])
            out[:, k : k + 1] = self._recorded(controls[:, k : k + 1], rows, record, broken)
        return out

    def _recorded(
        self, controls: np.ndarray, rows: np.ndarray, record: str, broken: np.ndarray
    ) -> np.ndarray:
        """(len(rows), steps, width) of steps with these controls (len(rows), steps, nu)."""
        steps = controls.shape[1]
        out = np.empty((len(rows), steps, len(self._late[record])))
        try:
            self.batch.rollout(steps, controls, record=(record,), ids=rows, out={record: out})
        except SimulationError as error:
            broken[np.asarray(error.ids, int)] = True
        return out

    def _moments(self) -> Moments:
        """When the score wants readings."""
        score = self.score
        world = np.add.outer(np.arange(self.p) * score.runs, score.run)
        elapsed = score.time_s[None] - self.begin_s[world]
        step, share = whole_steps(elapsed, self.step_s[world])
        return Moments(world=world, step=step, share=share)

    def _write_step_fields(self) -> None:
        normals = self._field_streams.normal(self.compiled.step_normals)
        age = self._time + self._age_s
        numbers = self.compiled.step_numbers(self._base, self._values, normals, age)
        for name, number in numbers.items():
            self._fields[name][:, number.elements] = number.values


def _ranges(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of several ranges in a row, and which range each is of."""
    counts = last - first
    which = np.repeat(np.arange(len(first)), counts)
    begin = np.repeat(np.cumsum(counts) - counts, counts)
    return first[which] + np.arange(len(which)) - begin, which
