"""Episodes again in a world: at one point or at many, open loop or in short windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property

import numpy as np

from trueup.effects import Filter
from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.replay.matching import compared_signals, signal_columns
from trueup.replay.passing import passed
from trueup.replay.replay import Replay, Track
from trueup.replay.score import Score, part_of, score_of
from trueup.replay.stage import Stage
from trueup.replay.states import States, states_at
from trueup.space import Point, Points, Space
from trueup.worlds import Compiled, Signal, World, sensor_slots

_ACTION, _OBSERVATION = 1, 2  # salts of the random streams
_PERIODS_APART = 0.01  # relative; episodes beyond that are not of one control loop


def replayed(
    world: World,
    episodes: Sequence[Episode],
    points: Points | Point | Mapping[str, float] | None = None,
    *,
    window_s: float | None = None,
    signals: Sequence[str] | None = None,
    seed: int = 0,
    threads: int = 0,
) -> Replay:
    """Play the commands of episodes in a world, and lay its answers over what was measured.

    Args:
        world: Where.
        episodes: All of one control period.
        points: One for each replay; parameters that they do not name are nominal, as all are by
            default.
        window_s: Begin anew at the measured state after each so many seconds; by default only at
            the first reading (open loop).
        signals: What to compare; by default everything that both sides know.
        seed: Of noise and losses, where the points have any; the same for every point.
        threads: CPU threads; 0 takes all. Results do not depend on it.
    """
    if points is None or isinstance(points, Mapping):
        point = Point(points or {})
        points = Points(tuple(point), np.array([[*point.values()]]).reshape(1, len(point)))
    space = Space(tuple(world.catalogue[name] for name in points.names))
    replayer = Replayer(
        world, episodes, space, window_s=window_s, signals=signals, seed=seed, threads=threads
    )
    return replayer(points)


class Replayer:
    """Episodes prepared once, to be replayed at points of a space as often as needed.

    All points and episodes are stepped together; no step loops over worlds in Python.

    Args:
        world: Where.
        episodes: All of one control period.
        space: What may differ between points; the world's own by default.
        window_s: Begin anew at the measured state after each so many seconds.
        signals: What to compare; by default everything that both sides know.
        seed: Of noise and losses.
        threads: CPU threads; 0 takes all.
        batch: Worlds that are stepped together at most, which bounds memory.
        moments_s: (k,) times at which `poses` are wanted, by the clock of each episode.
    """

    def __init__(
        self,
        world: World,
        episodes: Sequence[Episode],
        space: Space | None = None,
        *,
        window_s: float | None = None,
        signals: Sequence[str] | None = None,
        seed: int = 0,
        threads: int = 0,
        batch: int = 4096,
        moments_s: np.ndarray | None = None,
    ) -> None:
        if window_s is not None and not 0 < window_s < float("inf"):
            raise TrueupError(f"A window of {window_s} s is none.", fix="Give seconds above 0.")
        self.world = _timed(world, _period(episodes))
        self.compiled = Compiled(self.world, space)
        self.episodes, self.window_s = tuple(episodes), window_s
        self.seed, self.threads, self.batch = seed, threads, batch
        self.moments_s = np.zeros(0) if moments_s is None else moments_s
        self._names = [compared_signals(world, e, signals, i) for i, e in enumerate(episodes)]
        parts = [
            part_of(world, episode, [*(episode[n].time_s for n in names), self.moments_s], window_s)
            for episode, names in zip(episodes, self._names, strict=True)
        ]
        self.score: Score = score_of(parts)
        self._stages: dict[int, Stage] = {}
        self._nudges: np.ndarray | None = None

    def __call__(self, points: Points | Point) -> Replay:
        """Replay all episodes at each of the points."""
        points = self._points(points)
        at_once = max(1, self.batch // self.score.runs)
        blocks = [slice(k, k + at_once) for k in range(0, len(points), at_once)]
        found = [self._signals(points[b], *self._readings(points[b], b)) for b in blocks]
        return Replay(
            world=self.world.name,
            window_s=self.window_s,
            points=points,
            tracks=tuple(
                {
                    name: self._track(e, name, [block[name] for block in found])
                    for name in self._names[e]
                }
                for e in range(len(self.episodes))
            ),
        )

    def poses(self, points: Points | Point, episode: int = 0) -> tuple[Stage, np.ndarray]:
        """The worlds of the points, and their poses (p, k, nq) at the moments asked for."""
        points = self._points(points)
        p, part = len(points), self.score.parts[episode]
        rows = self.score.first[episode] + np.searchsorted(part.time_s, self.moments_s)
        poses = self._played(points, np.arange(self.compiled.model.nq), record="qpos")
        return self._stages[p], poses[:, rows]

    @contextmanager
    def nudged(self, nudges: np.ndarray) -> Iterator[None]:
        """Calls inside begin a little off what was measured: what an unknown start would do.

        Args:
            nudges: (p, 2) rad and rad/s that all servos of each of the p points are off by.
        """
        self._nudges = nudges
        try:
            yield
        finally:
            self._nudges = None

    # --------------------------------------------------------------------------------------------

    def _points(self, points: Points | Point) -> Points:
        space = self.compiled.space
        return space.points(points, 1) if isinstance(points, Point) else space.points(points)

    def _readings(self, points: Points, block: slice) -> tuple[np.ndarray, np.ndarray]:
        """Sensors (p, Q, columns) at the times of the episodes: as they are, and as read."""
        nudges = None if self._nudges is None else self._nudges[block]
        true = self._played(points, self._columns, nudges=nudges)
        filters = self.compiled.observation_filters
        if not filters:
            return true, true
        return true, self._passed(filters, points, true, self.score.first, _OBSERVATION)

    def _played(
        self,
        points: Points,
        columns: np.ndarray,
        *,
        record: str = "sensordata",
        nudges: np.ndarray | None = None,
    ) -> np.ndarray:
        p = len(points)
        if p not in self._stages:
            self._stages = {p: self._stage(p)}
        stage, seeds = self._stages[p], self._seeds[self.score.episode]
        stage.nudges = nudges
        return stage.play(points, seeds, self._commands(points), columns, record=record)

    @property
    def _seeds(self) -> np.ndarray:
        """(E,) of noise and losses."""
        return (self.seed + np.arange(len(self.episodes))).astype(np.uint64)

    def _stage(self, p: int) -> Stage:
        return Stage(self.compiled, self.score, self._states, points=p, threads=self.threads)

    @cached_property
    def _states(self) -> States:
        """Where each run starts."""
        model, score = self.compiled.model, self.score
        some = [
            states_at(self.world, model, episode, score.start_s[score.episode == e])
            for e, episode in enumerate(self.episodes)
        ]
        states = States(
            **{k: np.concatenate([getattr(s, k) for s in some]) for k in ("qpos", "qvel", "mocap")}
        )
        # a servo that was not read is taken to be where it was told to be
        servos = model.actuator_trnid[model.actuator_ctrlnum > 0, 0]
        read = states.qpos[:, model.jnt_qposadr[servos]]
        states.qpos[:, model.jnt_qposadr[servos]] = np.where(np.isnan(read), self._told(), read)
        return states

    def _told(self) -> np.ndarray:
        """(R, nu) the command that each run starts with."""
        score, told = self.score, []
        for e, part in enumerate(score.parts):
            starts = score.start_s[score.episode == e]
            at = np.searchsorted(part.command_s, starts + 1e-9, side="right") - 1
            told.append(part.commands[np.maximum(at, 0)])
        return np.concatenate(told)

    def _commands(self, points: Points) -> np.ndarray:
        """(p or 1, 1 + C, nu) commands as they reach the servos; row 0 is none."""
        commands = np.concatenate([part.commands for part in self.score.parts])[None]
        if filters := self.compiled.action_filters:
            first = self.score.command_first
            commands = self._passed(filters, points, commands, first, _ACTION)
        return np.concatenate([np.zeros_like(commands[:, :1]), commands], axis=1)

    def _passed(
        self,
        filters: Sequence[Filter],
        points: Points,
        x: np.ndarray,
        first: np.ndarray,
        salt: int,
    ) -> np.ndarray:
        return passed(
            filters,
            self.compiled,
            points,
            x,
            first,
            before=x[:, first[:-1]],
            seeds=self._seeds,
            salt=salt,
        )

    @cached_property
    def _columns(self) -> np.ndarray:
        """Which sensor readings are kept: all that filters see, or else those of the signals."""
        model = self.compiled.model
        if self.compiled.observation_filters:
            return np.arange(model.nsensordata)
        slots = sensor_slots(model)
        return np.unique(np.concatenate([np.r_[slots[n]] for s in self._wanted for n in s.sensors]))

    @cached_property
    def _wanted(self) -> tuple[Signal, ...]:
        """Signals to compute: those that are compared, and what some of them are computed from."""
        names = {name for names in self._names for name in names}
        known = (*self.world.observations, *self.world.privileged)
        computes = any(s.function is not None for s in known if s.name in names)
        return tuple(s for s in known if computes or s.name in names)

    def _signals(
        self, points: Points, true: np.ndarray, sensed: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Signals (p, Q, size) by name."""
        found: dict[str, np.ndarray] = {}
        slots, p = sensor_slots(self.compiled.model), len(points)
        for signal in self._wanted:
            columns = np.concatenate([np.r_[slots[name]] for name in signal.sensors])
            readings = sensed if signal in self.world.observations else true
            values = readings[..., np.searchsorted(self._columns, columns)]
            values = values.reshape(-1, len(columns))
            if signal.function is not None:
                values = signal.function(self.world, values, found)
            found[signal.name] = values
        return {name: values.reshape(p, -1, values.shape[1]) for name, values in found.items()}

    def _track(self, e: int, name: str, simulated: list[np.ndarray]) -> Track:
        episode, part = self.episodes[e], self.score.parts[e]
        channel = episode[name]
        known = (*self.world.observations, *self.world.privileged)
        signal = next(s for s in known if s.name == name)
        columns = signal_columns(self.world, signal, channel)
        there = np.flatnonzero(columns >= 0)
        rows = self.score.first[e] + np.searchsorted(part.time_s, channel.time_s)
        start = part.starts_s[part.run[np.searchsorted(part.time_s, channel.time_s)]]
        return Track(
            time_s=channel.time_s,
            measured=np.asarray(channel.values, float)[:, columns[there]],
            simulated=np.concatenate([values[:, rows][..., there] for values in simulated]),
            age_s=channel.time_s - start,
            unit=channel.unit,
            names=tuple(channel.names[i] for i in columns[there]),
        )


def _timed(world: World, period_s: float) -> World:
    """The world with the control period of a record: its filters act once for each command."""
    timed = copy(world)
    vars(timed)["control_period_s"] = period_s  # declared for the class; this copy has its own
    return timed


def _period(episodes: Sequence[Episode]) -> float:
    if not episodes:
        raise TrueupError("There is no episode to replay.", fix="Give at least one.")
    periods = np.array([episode.period_s for episode in episodes])
    if np.ptp(periods) > _PERIODS_APART * periods.min():
        raise TrueupError(
            f"These episodes were recorded at different rates: every {1e3 * periods.min():.4g} ms "
            f"and every {1e3 * periods.max():.4g} ms.",
            fix="Replay those of each rate by themselves.",
        )
    return float(np.median(periods))
