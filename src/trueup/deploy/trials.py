"""Trials: a policy's attempts on a robot, one after the other or many at once, each recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trueup.deploy.flight import Flight, Onlooker, fly
from trueup.deploy.keeping import Keeper
from trueup.deploy.tape import Turns
from trueup.deploy.wiring.preflight import hand
from trueup.episodes import Outcome
from trueup.episodes.consent import Admission, check_for_people
from trueup.errors import TrueupError
from trueup.evaluate import trials as drawn
from trueup.evaluate import wilson
from trueup.hardware import TABLETOP, Guard, Limits, Robot, Stopped, WallClock
from trueup.policies import Policy
from trueup.worlds import World

_SPEED_ROOM = 1.05  # a policy's own limit of speed is kept by the policy; the guard is beyond it


class Unjudged(TrueupError):
    """Trials whose outcome nobody could tell."""

    def __init__(self) -> None:
        super().__init__(
            "Nobody is there to say how a trial went, and the robot cannot tell.",
            fix="Run it at a terminal, where the operator answers y, n or r after each trial.",
        )


class Operator(Onlooker):
    """Who stands beside a robot. This one is not there: nothing is asked, nothing is said.

    Attributes:
        present: Whether somebody can reset and judge.
    """

    present: bool = False

    def reset(self, trial: int) -> None:
        """Put everything where an episode begins, and come back when that is done."""

    def verdict(self, trial: int) -> str:
        """How a trial went, where the robot cannot tell: `success`, `failure` or `redo`."""
        raise Unjudged()

    def turn(self) -> str | None:
        return None


@dataclass(frozen=True, kw_only=True)
class Series:
    """What is to be tried.

    Attributes:
        trials: How many attempts.
        seed: Trial k begins the same for every series of one seed, where the robot can do that.
        seconds: Longest attempt; the world's by default.
        shadow: Compute and record, but send nothing.
        labels: Words to slice by later: object, lighting.
        people: Leave to record people, as a register gave it; labels that name anybody else are
            refused.
        address: How the robot is reached, for the record.
    """

    trials: int
    seed: int = 0
    seconds: float | None = None
    shadow: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    people: Admission | None = None
    address: str = ""

    @property
    def words(self) -> dict[str, str]:
        """The labels of every episode: words, and who is in it."""
        return {**self.labels, **(self.people.labels if self.people else {})}

    def check(self) -> None:
        """Refuse labels that name people without their leave."""
        check_for_people(self.labels, self.people)


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What came of a series.

    Attributes:
        success: (n,) of the trials that were judged, in order of their numbers.
        trials: (n,) their numbers.
        seeds: (n,) their seeds.
        stopped: Why the guard stopped trials, by number; these count as failures.
        turns: How the loop ran, flight by flight; of this run only.
        resumed: How many trials an earlier run had done.
    """

    success: np.ndarray
    trials: np.ndarray
    seeds: np.ndarray
    stopped: Mapping[int, str]
    turns: tuple[Turns, ...]
    resumed: int

    @property
    def successes(self) -> int:
        """How many succeeded."""
        return int(self.success.sum())

    @property
    def share(self) -> float:
        """The share of successes; NaN without trials."""
        return self.successes / len(self.success) if len(self.success) else float("nan")

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the true share lies, after Wilson."""
        return wilson(self.successes, len(self.success), confidence)


def seeds_of(series: Series, world: World) -> np.ndarray:
    """(trials,) the seed of each trial: those of `trueup evaluate` with the same --seed."""
    return drawn(world.space, series.trials, series.seed)[1]


def guard_for(policy: Policy, robot: Robot, world: World) -> Guard:
    """The safety envelope of a policy on a robot: its contract's limits, the table, a box."""
    place = hand(world)
    limits = Limits.of(
        robot.interface,
        speed=_SPEED_ROOM * max(policy.contract.rate),
        box=TABLETOP if place else None,
        stall_s=max(0.5, 5.0 * robot.interface.period_s),
    )
    return Guard(limits, robot.interface, place=place)


def attempt(
    policy: Policy,
    robot: Robot,
    world: World,
    series: Series,
    folder: Path | str,
    *,
    operator: Operator | None = None,
    on_progress: Callable[[int], None] = lambda trials: None,
) -> Outcomes:
    """Run a series and record every trial; trials that are in the folder already are not repeated.

    A trial that did not come to its end (the operator stopped it, the robot was lost) is recorded
    as aborted, and tried again when the same series is run again.

    Args:
        policy: What drives.
        robot: Connected; enabled unless the series is a shadow.
        world: Its nominal world, for limits and seeds.
        series: What is to be tried.
        folder: The dataset that takes in the episodes.
        operator: Who resets and judges, where the robot cannot.
        on_progress: Called with the number of trials just done.
    """
    series.check()
    seeds, watcher = seeds_of(series, world), operator or Operator()
    if not series.shadow and not watcher.present and (robot.real or robot.verdict() is None):
        raise Unjudged()
    with Keeper(Path(folder), policy, robot, series) as keeper:
        done = keeper.done()
        left = [k for k in range(series.trials) if k not in done]
        runner = _Runner(policy, robot, world, series, keeper, watcher)
        runner.seeds = seeds
        for start in range(0, len(left), robot.n):
            runner.batch(np.array(left[start : start + robot.n]))
            on_progress(len(left[start : start + robot.n]))
        judged = keeper.done()
    numbers = np.array(sorted(k for k in judged if k < series.trials), int)
    return Outcomes(
        success=np.array([judged[int(k)] == Outcome.SUCCESS for k in numbers], bool),
        trials=numbers,
        seeds=seeds[numbers],
        stopped=runner.stopped,
        turns=tuple(runner.turns),
        resumed=len(done),
    )


class _Runner:
    """A series while it runs."""

    def __init__(
        self,
        policy: Policy,
        robot: Robot,
        world: World,
        series: Series,
        keeper: Keeper,
        operator: Operator,
    ) -> None:
        self.policy, self.robot, self.series = policy, robot, series
        self.keeper, self.operator = keeper, operator
        self.pilot, self.guard = policy.pilot(robot.n), guard_for(policy, robot, world)
        seconds = series.seconds or world.episode_s
        self.length = max(1, round(seconds / robot.interface.period_s))
        self.seeds = np.zeros(0, np.uint64)
        self.stopped: dict[int, str] = {}
        self.turns: list[Turns] = []

    def batch(self, trials: np.ndarray) -> None:
        """One flight: a trial for each body; bodies too many repeat the last one, unrecorded."""
        while True:
            flight = self._flown(trials)
            try:
                outcomes = self._outcomes(flight, trials)
            except BaseException as error:
                self._rescue(flight, trials, error)
                raise
            if outcomes is not None:
                break
        for row, trial in enumerate(trials):
            if row in flight.stopped:
                self.stopped[int(trial)] = flight.stopped[row]
            why = {"stopped": flight.stopped[row]} if row in flight.stopped else {}
            self.keeper.keep(flight, row, int(trial), int(self.seeds[trial]), outcomes[row], why)
        self.keeper.check()

    def _flown(self, trials: np.ndarray) -> Flight:
        robot, operator = self.robot, self.operator
        filled = np.pad(trials, (0, robot.n - len(trials)), mode="edge")
        if robot.real:
            operator.reset(int(trials[0]))
        if not self.series.shadow or not robot.real:
            robot.reset(self.seeds[filled])
        flight = Flight.of(robot)
        try:
            observation, hold = robot.observe(), robot.hold
            self.pilot.begin(observation, hold)
            self.guard.begin(hold, robot.clock.now_s())
            fly(
                robot,
                self.pilot,
                self.guard,
                flight,
                turns=self.length,
                shadow=self.series.shadow,
                onlooker=operator,
                stall_s=self._stall_s,
            )
        except BaseException as error:
            self._rescue(flight, trials, error)
            raise
        finally:
            if len(flight.tape):
                self.turns.append(flight.tape.turns)
        if flight.word == "stop":
            stopped = Stopped("The operator stopped it.", asked=True)
            self._rescue(flight, trials, stopped)
            raise stopped
        return flight

    @property
    def _stall_s(self) -> float:
        """Longest turn in real time: a simulated clock waits for a slow machine."""
        if isinstance(self.robot.clock, WallClock):
            return max(0.5, 5.0 * self.robot.interface.period_s)
        return 60.0

    def _rescue(self, flight: Flight, trials: np.ndarray, error: BaseException) -> None:
        """Keep what was recorded of trials that did not come to their end."""
        why = str(getattr(error, "reason", "")) or str(error) or type(error).__name__
        flight.ended = np.where(flight.flying, len(flight.tape), flight.ended)
        for row, trial in enumerate(trials):
            seed = int(self.seeds[trial])
            self.keeper.keep(flight, row, int(trial), seed, Outcome.ABORTED, {"stopped": why})

    def _outcomes(self, flight: Flight, trials: np.ndarray) -> Sequence[Outcome | None] | None:
        """How each trial went; none where they are to be done again."""
        if self.series.shadow:
            return [None] * len(trials)
        if self.robot.verdict() is not None:
            ends = (Outcome.FAILURE, Outcome.SUCCESS)
            return [ends[int(flight.success[row])] for row in range(len(trials))]
        word = flight.word or self.operator.verdict(int(trials[0]))
        if word == "redo":
            self._rescue(flight, trials, Stopped("The operator wants it again.", asked=True))
            return None
        return [Outcome(word)] * len(trials)
