"""One motion on a robot, turn by turn, and the episodes that come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from trueup.episodes import Episode, Outcome, Take
from trueup.episodes.episode import COMMAND
from trueup.errors import TrueupError
from trueup.hardware import Guard, Pace, Robot, RobotLost, Stopped, Timing, Watchdog
from trueup.record.control import Ask, Control
from trueup.record.motions.motion import Plan
from trueup.record.player import Player
from trueup.versions import versions

_LONGEST_TURN_S = 5.0


class End(StrEnum):
    """How a motion ended."""

    DONE = "done"
    ABORTED = "aborted"
    """The operator asked; the arm stands still and may go back."""
    STOPPED = "stopped"
    """For safety; the arm holds and goes nowhere."""
    LOST = "lost"
    """The robot no longer answers."""


@dataclass
class _Mark:
    """When a phase was played, by the clock of the episode; `early_s` (n,) where a rule held."""

    name: str
    begin_s: float
    end_s: float
    early_s: np.ndarray


@dataclass(kw_only=True)
class Run:
    """Plays a plan by a robot's clock and takes down all that is told and sensed.

    Attributes:
        robot: The robot, torque on.
        plan: What it does.
        guard: What every command passes through.
        control: What the operator asks.
        labels: Words for the episodes.
        world: The name of the world it was planned in.
        on_turn: Called after each turn with the time of the plan, and whether it stands still.
        ended: Why it ended before its time; empty where it did not.
        failed: The error that ended it, to be raised once its episodes are kept.
    """

    robot: Robot
    plan: Plan
    guard: Guard
    control: Control
    labels: Mapping[str, str] = field(default_factory=dict)
    world: str = ""
    on_turn: Callable[[float, bool], None] = lambda time_s, still: None
    ended: str = ""
    failed: BaseException | None = None

    def __post_init__(self) -> None:
        known = versions()
        self._takes = [self._take(cell, known) for cell in range(self.robot.n)]
        self._why = [""] * self.robot.n  # why each body's recording ended early
        self._marks: list[_Mark] = []
        self._pace = Pace(self.robot.clock, self.plan.period_s)
        self._zero_s = self.robot.clock.now_s()
        self._held = self.plan.path[0].copy()

    @property
    def timing(self) -> Timing:
        """How the rate was kept."""
        return self._pace.timing

    @property
    def time_s(self) -> float:
        """How long it has been recording."""
        return self.timing.began_s[-1] - self._zero_s if len(self.timing.began_s) else 0.0

    def play(self) -> End:
        """Play to the end, or to whatever ends it first."""
        player = Player(self.plan)
        try:
            self.guard.begin(self.plan.path[0], self.robot.clock.now_s())
            with Watchdog(_LONGEST_TURN_S) as dog:
                while not player.done:
                    ask = self.control.asked()
                    if ask is Ask.STOP:
                        return self._cut(End.STOPPED, "the operator stopped it")
                    if ask is Ask.ABORT and player.still:
                        return self._cut(End.ABORTED, "the operator ended it")
                    self._turn(player, ask, dog)
                    if all(self._why):
                        return self._cut(End.STOPPED, self._why[0])
                self._last_look()
        except Stopped as stop:
            self._hold_still()
            return self._cut(End.STOPPED, stop.reason.rstrip("."))
        except RobotLost as lost:
            self.failed = lost
            return self._cut(End.LOST, lost.what.rstrip("."))
        except BaseException as error:  # whatever it is, first comes what was recorded
            self.failed = error
            self._hold_still()
            return self._cut(End.STOPPED, str(error).rstrip(".") or type(error).__name__)
        return End.DONE

    def episodes(self) -> list[Episode]:
        """What was recorded, one for each body; cut short ones are `aborted` and say why."""
        found = []
        for cell, take in enumerate(self._takes):
            if not len(take):
                continue
            take.origin["phases"] = self._phases(cell)
            why = self._why[cell]
            labels = {"ended": why} if why else {}
            found.append(take.episode(Outcome.ABORTED if why else None, **labels))
        return found

    def _turn(self, player: Player, ask: Ask, dog: Watchdog) -> None:
        clock = self.robot.clock
        dog.feed("wait")
        self._pace.wait()
        dog.feed("observe")
        before_s = clock.now_s()
        observation = self.robot.observe()
        seen_s = 0.5 * (before_s + clock.now_s())  # it was read at some moment in between
        self._note(observation, seen_s)
        commands = player(observation, running=ask is Ask.RUN)
        self._mark(player, seen_s)
        stopped = [cell for cell, why in enumerate(self._why) if why]
        commands[stopped] = self._held[stopped]
        allowed, fresh = self.guard.judged(commands, observation, clock.now_s())
        dog.feed("act")
        sent = self.robot.act(allowed)
        self._held = sent
        self._note({COMMAND: sent}, clock.now_s())
        for cell, reason in fresh.items():
            self._why[cell] = self._why[cell] or reason.rstrip(".")
        self.on_turn(player.time_s, player.still)

    def _last_look(self) -> None:
        """What the last command led to."""
        self._pace.wait()
        self._note(self.robot.observe(), self.robot.clock.now_s())
        if self._marks:
            self._marks[-1].end_s = self.robot.clock.now_s() - self._zero_s

    def _hold_still(self) -> None:
        """Tell the servos to stay where the joints are; a robot that cannot is lost anyway."""
        try:
            measured = self.robot.interface.measured
            here = self.robot.hold if measured is None else self.robot.observe()[measured]
            self.robot.act(here)
        except TrueupError:
            pass

    def _cut(self, end: End, why: str) -> End:
        self.ended = why
        self._why = [reason or why for reason in self._why]
        return end

    def _take(self, cell: int, known: Mapping[str, str]) -> Take:
        robot, motion = self.robot, self.plan.motion
        take = Take(
            self.plan.period_s,
            task=motion.title,
            origin={
                "robot": robot.name,
                "real": robot.real,
                "result": "real" if robot.real else "sim-to-sim",
                "world": self.world,
                "cell": cell,
                "motion": motion.to_json(),
                "versions": known,
            },
            labels={"motion": motion.title, "kind": motion.kind, **self.labels},
        )
        take.declare(COMMAND, robot.interface.unit[0], robot.interface.commands)
        for feature in robot.interface.observations:
            take.declare(feature.name, feature.unit, tuple(robot.columns[feature.name]))
        return take

    def _note(self, values: Mapping[str, np.ndarray], time_s: float) -> None:
        for cell, take in enumerate(self._takes):
            if self._why[cell]:
                continue
            for name, rows in values.items():
                take.add(name, time_s - self._zero_s, rows[cell])

    def _mark(self, player: Player, time_s: float) -> None:
        now = time_s - self._zero_s
        if not self._marks or self._marks[-1].name != player.phase:
            never = np.full(self.robot.n, np.nan)
            self._marks.append(_Mark(player.phase, now, now, never))
        mark = self._marks[-1]
        mark.end_s = now
        mark.early_s[player.early & np.isnan(mark.early_s)] = now

    def _phases(self, cell: int) -> list[dict[str, Any]]:
        return [
            {
                "name": mark.name,
                "begin_s": mark.begin_s,
                "end_s": mark.end_s,
                **({} if np.isnan(mark.early_s[cell]) else {"early_s": float(mark.early_s[cell])}),
            }
            for mark in self._marks
        ]
