"""The recorder: motions on a robot become episodes, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueup.episodes.consent import Admission, check_for_people
from trueup.errors import TrueupError
from trueup.hardware import Guard, Robot
from trueup.record.body import Body
from trueup.record.control import Control
from trueup.record.envelope import Envelope, Margins
from trueup.record.motions.motion import Motion
from trueup.record.recording import Progress, Recording, Store
from trueup.record.session import Session
from trueup.worlds import World


@dataclass(kw_only=True)
class Recorder:
    """A robot and what a recording of it needs.

    Attributes:
        robot: The robot, connected.
        world: Whose nominal model describes it, and what it stands on.
        writer: Where episodes go, besides the answer.
        guard: What every command passes through; by default joint limits, speed, force, the hand
            over the table.
        control: What the operator asks.
        on_progress: Called once a turn.
        arm: Whether a real robot may move.
        objects: (n, 7) or (7,) where things stand that the robot does not see, by body.
        seeds: (n,) how a rehearsal robot begins; as it stands by default.
        labels: Words for every episode.
        people: Leave to record people, as a register gave it; labels that name anybody else are
            refused.
        margins: How much room motions must leave.
    """

    robot: Robot
    world: World
    writer: Store | None = None
    guard: Guard | None = None
    control: Control = field(default_factory=Control)
    on_progress: Callable[[Progress], None] | None = None
    arm: bool = False
    objects: Mapping[str, np.ndarray] = field(default_factory=dict)
    seeds: np.ndarray | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    people: Admission | None = None
    margins: Margins | None = None

    @property
    def words(self) -> dict[str, str]:
        """The labels of every episode: words, and who is in it."""
        return {**self.labels, **(self.people.labels if self.people else {})}

    def record(self, motions: Motion | Sequence[Motion]) -> Recording:
        """Play motions one after the other; every body's record of each is an episode.

        All are planned and checked before torque is on. The arm comes slowly to where each begins,
        and returns to where it was after the last. Where a person, the guard or a fault ends a
        motion, what was recorded until then is kept as an episode whose outcome is `aborted`.
        """
        chosen = [motions] if isinstance(motions, Motion) else list(motions)
        self._check(chosen)
        body = Body.of(self.world).fitted(self.robot.interface, name=self.robot.name)
        session = Session(self, Envelope(self.world, body=body, margins=self.margins), chosen)
        return session.run()

    def _check(self, motions: list[Motion]) -> None:
        if not motions:
            raise TrueupError("There is no motion to record.", fix="Name at least one.")
        check_for_people(self.labels, self.people)
        if self.robot.real and not self.arm:
            raise TrueupError(
                f"{self.robot.name} is real: it would move, and nobody said that it may.",
                fix="Clear the space around it, keep a hand at the power, and say so: --arm "
                "(arm=True).",
            )


def record(
    robot: Robot,
    motions: Motion | Sequence[Motion],
    *,
    world: World,
    writer: Store | None = None,
    guard: Guard | None = None,
    control: Control | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    arm: bool = False,
    objects: Mapping[str, np.ndarray] | None = None,
    seeds: np.ndarray | None = None,
    labels: Mapping[str, str] | None = None,
    people: Admission | None = None,
    margins: Margins | None = None,
) -> Recording:
    """Record motions of a robot: see `Recorder`, whose fields these are."""
    recorder = Recorder(
        robot=robot,
        world=world,
        writer=writer,
        guard=guard,
        control=control or Control(),
        on_progress=on_progress,
        arm=arm,
        objects=objects or {},
        seeds=seeds,
        labels=labels or {},
        people=people,
        margins=margins,
    )
    return recorder.record(motions)
