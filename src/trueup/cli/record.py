"""`trueup record`: motions and probes on a robot, as episodes of a dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import arg

from trueup.cli import designs, people, recordings, show, things
from trueup.cli.copies import check_positive, check_seed
from trueup.cli.files import writable_file
from trueup.cli.options import Count, Machine, Row, Seconds
from trueup.episodes.consent import Admission, check_for_people
from trueup.errors import TrueupError
from trueup.hardware import Robot, open_robot
from trueup.identify import Estimate
from trueup.identify.design import Design
from trueup.record import (
    Body,
    Envelope,
    Keyboard,
    Motion,
    Probe,
    Recorder,
    Series,
    Situation,
    get,
    save_preview,
)
from trueup.streams import seeds_from
from trueup.worlds import World
from trueup.worlds import get as get_world

_ARM, _CUBE = "so101/arm", "so101/lift"
_STANDARD = ("standard",)


@dataclass(frozen=True, kw_only=True)
class Record(people.WithPeople, Machine):
    """Record motions of a robot as episodes.

    Every motion is checked against the model before torque is on: joint limits, speed, links that
    would meet, the table. A real robot does not move without --arm. Keys: p pauses, q ends and goes
    back, space stops at once; Ctrl-C is q. What was recorded until then is kept.

    With --design it works out itself what to record: the motions that would narrow an estimate
    most in some seconds, each with its reason. With --protocol it carries out an item of a plan.
    With --participant nothing starts unless that person's consent covers the purpose.

    trueup record --robot rehearsal:benign --motion standard --out recordings
    """

    robot: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """rehearsal:REALITY[@WORLD], tcp:HOST:PORT, unix:PATH, or so101:PORT; --preview needs none."""
    motion: Annotated[tuple[str, ...], arg(metavar="NAME|FILE...")] = _STANDARD
    """What to do: names from `trueup record motions`, files of motions, or all."""
    design: Annotated[Path | None, arg(metavar="ESTIMATE")] = None
    """Instead of --motion: what would narrow this estimate most, a file that `trueup identify`
    wrote."""
    seconds: Seconds = None
    """How long a design may take, from the ready pose and back to it; 20 by default."""
    protocol: Annotated[Path | None, arg(metavar="FILE")] = None
    """Instead of --motion: a plan that `trueup plan` wrote, of which --item is carried out."""
    item: Row = None
    """Which item of the protocol, from 1."""
    condition: Row = None
    """Only this row of the item's conditions, from 1; by default all, one after the other."""
    out: Annotated[Path | None, arg(metavar="DATASET")] = None
    """The dataset to add episodes to; made where it is missing."""
    arm: bool = False
    """Let a real robot move. Clear the space around it first."""
    joints: Annotated[tuple[str, ...], arg(metavar="JOINT...")] = ()
    """Move these joints only."""
    duration: Seconds = None
    """How long each excitation takes, without the way there and back."""
    scale: Annotated[float, arg(metavar="SHARE")] = 1.0
    """Make every motion that much smaller or larger."""
    preview: Annotated[Path | None, arg(metavar="FILE")] = None
    """Draw what is planned into this .png or .html, and move nothing."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """The world whose model describes the robot; by default the robot's own, or the SO-101's."""
    object: Annotated[tuple[float, ...], arg(metavar="X Y [TURN]")] = ()
    """Where the probed object stands, in m from the robot's foot, and its turn in degrees, for
    robots that do not see it."""
    label: Annotated[tuple[str, ...], arg(metavar="NAME=WORD...")] = ()
    """Words to find the episodes by later, e.g. lighting=dim."""
    cells: Count = 1
    """Bodies of a rehearsal robot; each gives an episode of its own."""
    seed: Count = 0
    """How a rehearsal robot begins."""
    realtime: bool = False
    """Let a rehearsal robot's time pass by itself, as a real one's does."""
    rate: Annotated[float | None, arg(metavar="HZ")] = None
    """Commands a second; the robot's own by default."""

    def run(self) -> None:
        """Plan, check, record, and say what came of it."""
        admission = self.admission()
        if self.protocol is not None:
            from trueup.cli import carrying  # plans come with diagnosis, which a recording need not

            carrying.carry_out(self, self.protocol)
            return
        self._check()
        if self.preview is not None:
            self._draw(self.preview)
            return
        result = self._recorded(admission)
        if self.json:
            show.print_json(result)
        elif "robot" in result:
            recordings.print_result(result)

    def checked_result(self) -> dict[str, Any]:
        """Record, and give what came of it instead of printing it."""
        admission = self.admission()
        self._check()
        return self._recorded(admission)

    def _recorded(self, admission: Admission | None) -> dict[str, Any]:
        assert self.robot is not None and self.out is not None
        labels = dict(_label(text) for text in self.label)
        if self.design is not None:
            labels.setdefault("design", self.design.name)
        check_for_people(labels, admission)  # before a robot is asked for anything
        with self._opened(self.robot) as robot:
            world = self._world(getattr(robot, "world", None))
            series, design = self._chosen(world, robot)
            if design is not None and not design.helps:
                return {"design": design.to_json(), "episodes": []}
            with recordings.Store(self.out) as writer, Keyboard(recordings.say) as keys:
                recorder = Recorder(
                    robot=robot,
                    world=world,
                    writer=writer,
                    control=keys,
                    arm=self.arm,
                    objects=things.told(world, self.object, things.needed(series)),
                    seeds=self._seeds(robot.n),
                    labels=labels,
                    people=admission,
                )
                with recordings.told(quiet=self.json) as recorder.on_progress:
                    recording = recorder.record(series.motions)
                result = recordings.as_result(recording, robot, world, self.out, len(writer))
        return result if design is None else {**result, "design": design.to_json()}

    def _check(self) -> None:
        if self.item is not None or self.condition is not None:
            raise TrueupError(
                "--item and --condition choose from a protocol, and there is no --protocol.",
                fix="Give --protocol FILE, as `trueup plan GAPS --out FILE` writes it.",
            )
        check_positive("--cells", self.cells)
        check_seed(self.seed)
        times = {"--duration": self.duration, "--rate": self.rate, "--seconds": self.seconds}
        for option, value in times.items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise TrueupError(f"{option} is {value}.", fix="Give a number above 0.")
        self._check_design()
        if self.object and len(self.object) not in (2, 3):
            raise TrueupError(
                f"--object has {len(self.object)} numbers.", fix="Give x and y in m, and a turn."
            )
        if self.preview is not None:
            writable_file(self.preview)
            return
        if self.robot is None or self.out is None:
            missing = "--robot" if self.robot is None else "--out"
            raise TrueupError(
                f"{missing} is missing: a recording needs a robot and a dataset to write to.",
                fix="Try --robot rehearsal:benign --out recordings, or --preview plan.png.",
            )

    def _check_design(self) -> None:
        if self.design is None and self.seconds is not None:
            raise TrueupError(
                "--seconds is how long a design may take, and there is no --design.",
                fix="Give --design ESTIMATE, or --duration for the length of each motion.",
            )
        given = [
            option
            for option, is_given in (
                ("--motion", self.motion != _STANDARD),
                ("--duration", self.duration is not None),
                ("--scale", self.scale != 1.0),
            )
            if is_given
        ]
        if self.design is not None and given:
            raise TrueupError(
                f"{given[0]} and --design both say what to do.",
                fix="Leave one away: a design chooses motions, their size and their length itself.",
            )

    def _draw(self, file: Path) -> None:
        world = self._world(None)
        envelope = Envelope(world)
        series, design = self._chosen(world, None)
        if design is not None and not design.helps:
            return
        needed = things.needed(series)
        situation = Situation(
            world=world,
            body=envelope.body,
            period_s=1.0 / self.rate if self.rate else world.control_period_s,
            start=np.array([envelope.body.ready]),
            objects={
                name: np.atleast_2d(pose)
                for name, pose in {
                    **things.nominal(world, needed),
                    **things.told(world, self.object, needed),
                }.items()
            },
        )
        plans = envelope.series(series.motions, situation)
        save_preview(plans, envelope.body, file)
        duration_s = sum(plan.period_s * len(plan.path) for plan in plans)
        if self.json:
            show.print_json({"file": str(file), "duration_s": duration_s, **series.to_json()})
        else:
            show.console().print(
                f"{file}: {len(plans)} motions, {duration_s:.0f} s, inside the safe envelope of "
                f"{world.name}.",
                markup=False,
                soft_wrap=True,
            )

    def _chosen(self, world: World, robot: Robot | None) -> tuple[Series, Design | None]:
        """What was asked for, or what is designed; a design is told at once."""
        if self.design is None:
            return self._series(Body.of(world)), None
        design = designs.made(
            world,
            self.design,
            robot=robot,
            seconds=self.seconds,
            joints=self.joints,
            seeds=self._seeds(1 if robot is None else robot.n),
            objects=things.told(world, self.object, Envelope(world).things),
            rate_hz=self.rate,
            quiet=self.json,
        )
        if not self.json:
            designs.print_design(design)
        return design.series, design

    def _seeds(self, n: int) -> np.ndarray:
        return seeds_from(np.random.default_rng(self.seed), n)

    def _opened(self, address: str) -> Robot:
        return open_robot(
            address,
            cells=self.cells,
            realtime=self.realtime,
            period_s=None if self.rate is None else 1.0 / self.rate,
        )

    def _world(self, of_robot: str | None) -> World:
        """The world that was named, or the robot's own, or one with the SO-101."""
        if self.world is not None:
            return get_world(self.world)
        if isinstance(of_robot, str) and of_robot:
            return get_world(of_robot)
        if self.design is not None:
            return get_world(Estimate.load(self.design).world)
        probing = any(issubclass(type(m), Probe) for name in self.motion for m in get(name).motions)
        return get_world(_CUBE if probing else _ARM)

    def _series(self, body: Body) -> Series:
        """All that was asked for, as one series."""
        motions: list[Motion] = []
        for name in self.motion:
            series = get(name, body)
            if not series.fits(body):
                raise TrueupError(
                    f"{name!r} was made for a robot with the joints {', '.join(series.joints)}; "
                    f"this one has {', '.join(body.joints)}.",
                    fix="Name a kind of motion, such as chirp, or write a file for this robot.",
                )
            motions += series.adapted(
                body, joints=self.joints, duration_s=self.duration, scale=self.scale
            ).motions
        return Series(motions=tuple(motions), name=", ".join(self.motion), joints=body.joints)


def _label(text: str) -> tuple[str, str]:
    name, equals, word = text.partition("=")
    if not (name and equals and word):
        raise TrueupError(f"--label {text!r} is no label.", fix="Write NAME=WORD, as lighting=dim.")
    return name, word
