"""One run through all motions: plan, torque on, record, bring the arm back, torque off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trueup.episodes import Episode
from trueup.errors import TrueupError
from trueup.hardware import TABLETOP, Guard, Limits, Robot, RobotLost, Timing
from trueup.record.control import Ask, Control
from trueup.record.envelope import Envelope
from trueup.record.keeping import kept
from trueup.record.motions.excitation import way
from trueup.record.motions.hand import SITE
from trueup.record.motions.motion import Motion, Phase, Plan, Situation
from trueup.record.recording import Progress, Recording
from trueup.record.run import End, Run
from trueup.worlds import World
from trueup.worlds.kinematics import ForwardKinematics

if TYPE_CHECKING:
    from trueup.record.recorder import Recorder

_MOVED_RAD = 0.05
"""An arm that moved this far while torque came on is looked at again."""
_PUSH_N_M = 3.2
"""A motion asks more of a servo for a second than a policy should: nearly all that it has."""


class Session:
    """All motions of a recorder, one after the other."""

    def __init__(self, recorder: Recorder, envelope: Envelope, motions: list[Motion]) -> None:
        self.recorder, self.envelope, self.motions = recorder, envelope, motions
        self.robot, self.control = recorder.robot, recorder.control
        self.guard = recorder.guard or _guard(self.robot, recorder.world)
        self.period_s = self.robot.interface.period_s
        self.episodes: list[Episode] = []
        self.plans: list[Plan] = []
        self.timings: list[Timing] = []
        self.ended = ""
        self._unwritten: TrueupError | None = None

    def run(self) -> Recording:
        if self.recorder.seeds is not None and self._tidy:
            self.robot.reset(self.recorder.seeds)
        home = self._present()
        self.envelope.series(self.motions, self._situation(home))  # before anything can move
        self.robot.enable()
        failed: BaseException | None = None
        end = End.ABORTED
        try:
            for i in range(len(self.motions)):
                end = End.ABORTED  # where planning fails half-way
                end, failed = self._one(i, home)
                if end is End.DONE and self._unwritten is not None:
                    end = End.ABORTED
                if end is not End.DONE:
                    break
        finally:
            self._put_away(end, home)
        if self._unwritten is not None:
            raise self._unwritten from failed
        if failed is not None:
            raise failed
        return Recording(
            episodes=tuple(self.episodes),
            plans=tuple(self.plans),
            timings=tuple(self.timings),
            ended=self.ended,
        )

    def _one(self, i: int, home: np.ndarray) -> tuple[End, BaseException | None]:
        """Plan a motion from how things stand now, play it, keep its episodes."""
        motion, last = self.motions[i], i == len(self.motions) - 1
        if motion.needs and any(m.needs for m in self.motions[:i]) and not self._put_back(motion):
            self.ended = "the operator ended the recording"
            return End.ABORTED, None
        if i and self.control.asked() in (Ask.ABORT, Ask.STOP):
            self.ended = f"the operator ended it before {motion.title!r}"
            return End.ABORTED, None
        start = self.robot.hold
        measured = self._present()
        if np.abs(start - measured).max() > _MOVED_RAD and not self.plans:
            start = measured
        situation = self._situation(start)
        plan = self.envelope.checked(motion, situation, end=home if last else None)
        self.plans.append(plan)
        run = Run(
            robot=self.robot,
            plan=plan,
            guard=self.guard,
            control=self.control,
            world=self.recorder.world.name,
            labels=self.recorder.words,
            on_turn=lambda time_s, still: self._tell(i, plan, time_s, still),
        )
        end = run.play()
        self.timings.append(run.timing)
        self.ended = run.ended
        self._keep(run.episodes())
        return end, _with_news(run.failed, f"{run.time_s:.1f} s of {motion.title!r}")

    def _keep(self, episodes: Sequence[Episode]) -> None:
        self.episodes += episodes
        if self.recorder.writer is None:
            return
        for k, episode in enumerate(episodes):
            try:
                self.recorder.writer.add(episode)
            except (TrueupError, OSError) as error:
                self._unwritten = kept(episodes[k:], error)
                return

    def _put_back(self, motion: Motion) -> bool:
        """A thing that was touched stands elsewhere: begin anew, or ask for it."""
        if self._tidy:
            self.robot.reset(self.recorder.seeds)
            return True
        return self.control.ready(f"Put the {motion.needs} back to where it stood.")

    @property
    def _tidy(self) -> bool:
        """Whether a robot puts things back by itself when it is reset."""
        return self.robot.kind == "rehearsal"

    def _put_away(self, end: End, home: np.ndarray) -> None:
        """Bring the arm back where that is safe, then torque off; a lost robot is left alone."""
        if end is End.LOST:
            return
        try:
            if end is End.ABORTED:
                self._go_back(home)
            if end is End.STOPPED:
                self.control.let_go(f"{self.robot.name} was stopped: {self.ended}.")
            self.robot.disable()
        except TrueupError as error:
            self.ended = self.ended or error.what

    def _go_back(self, home: np.ndarray) -> None:
        start = self.robot.hold
        path = np.concatenate([start[None], way(start, home, self.period_s)])
        phases = (Phase(name="back", first=0, end=len(path)),)
        plan = Plan(motion=self.motions[0], period_s=self.period_s, path=path, phases=phases)
        if self.envelope.findings(plan, self._situation(start)):
            self.control.let_go(f"{self.robot.name} has no safe way back from here.")
            return
        Run(robot=self.robot, plan=plan, guard=self.guard, control=Control()).play()

    def _present(self) -> np.ndarray:
        """(n, nu) where the joints are."""
        measured = self.robot.interface.measured
        return self.robot.hold if measured is None else self.robot.observe()[measured]

    def _situation(self, start: np.ndarray) -> Situation:
        return Situation(
            world=self.recorder.world,
            body=self.envelope.body,
            period_s=self.period_s,
            start=start,
            objects=self._objects(),
        )

    def _objects(self) -> dict[str, np.ndarray]:
        """Poses (n, 7) of things that are seen, or were told."""
        observation, found = self.robot.observe(), {}
        for name in self.envelope.things:
            parts = [observation.get(f"{name}_{word}") for word in ("position", "orientation")]
            if all(part is not None for part in parts):
                found[name] = np.concatenate([p for p in parts if p is not None], axis=1)
        for name, pose in self.recorder.objects.items():
            found[name] = np.broadcast_to(np.asarray(pose, float), (self.robot.n, 7))
        return found

    def _tell(self, i: int, plan: Plan, time_s: float, still: bool) -> None:
        if self.recorder.on_progress is not None:
            progress = Progress(
                motion=plan.motion.title,
                number=i + 1,
                of=len(self.motions),
                time_s=time_s,
                duration_s=plan.duration_s,
                paused=still,
            )
            self.recorder.on_progress(progress)


def _with_news(error: BaseException | None, recorded: str) -> BaseException | None:
    """The error, with the news that what was recorded is kept, where it is told in sentences."""
    if not isinstance(error, TrueupError):
        return error
    kept = f"{error.what} {recorded} were recorded before, and are kept."
    again = RobotLost if isinstance(error, RobotLost) else TrueupError
    return again(kept, fix=error.fix)


def _guard(robot: Robot, world: World) -> Guard:
    """Joint limits, speed, force, and the hand over the table where the model has a hand."""
    face, force = robot.interface, _PUSH_N_M
    if SITE not in {world.model.site(i).name for i in range(world.model.nsite)}:
        return Guard(Limits.of(face, force=force), face)
    hand = ForwardKinematics(world.model, SITE, face.commands)
    return Guard(Limits.of(face, force=force, box=TABLETOP), face, place=hand)
