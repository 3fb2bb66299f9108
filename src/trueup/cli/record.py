"""`trueup record`: motions and probes on a robot, as episodes of a dataset."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from tyro.conf import arg

from trueup.cli import recordings, show
from trueup.cli.copies import check_positive, check_seed
from trueup.cli.files import writable_file
from trueup.cli.options import Count, Machine, Seconds
from trueup.episodes import Episode, Writer
from trueup.errors import TrueupError
from trueup.hardware import Robot, open_robot
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
    names,
    save_preview,
)
from trueup.streams import seeds_from
from trueup.worlds import World
from trueup.worlds import get as get_world

_ARM, _CUBE = "so101/arm", "so101/lift"


@dataclass(frozen=True, kw_only=True)
class Record(Machine):
    """Record motions of a robot as episodes.

    Every motion is checked against the model before torque is on: joint limits, speed, links that
    would meet, the table. A real robot does not move without --arm. Keys: p pauses, q ends and goes
    back, space stops at once; Ctrl-C is q. What was recorded until then is kept.

    trueup record --robot rehearsal:benign --motion standard --out recordings
    """

    robot: Annotated[str | None, arg(metavar="ADDRESS")] = None
    """rehearsal:REALITY[@WORLD], tcp:HOST:PORT, unix:PATH, or so101:PORT; --preview needs none."""
    motion: Annotated[tuple[str, ...], arg(metavar="NAME|FILE...")] = ("standard",)
    """What to do: names from `trueup record motions`, files of motions, or all."""
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
        self._check()
        if self.preview is not None:
            self._draw(self.preview)
            return
        assert self.robot is not None and self.out is not None
        labels = dict(_label(text) for text in self.label)
        with self._opened(self.robot) as robot:
            world = self._world(getattr(robot, "world", None))
            series = self._series(Body.of(world))
            with _Store(self.out) as writer, Keyboard(_say) as keys:
                recorder = Recorder(
                    robot=robot,
                    world=world,
                    writer=writer,
                    control=keys,
                    arm=self.arm,
                    objects=self._objects(world, series),
                    seeds=seeds_from(np.random.default_rng(self.seed), robot.n),
                    labels=labels,
                )
                with recordings.told(quiet=self.json) as recorder.on_progress:
                    recording = recorder.record(series.motions)
                result = recordings.as_result(recording, robot, world, self.out, len(writer))
        if self.json:
            show.print_json(result)
        else:
            recordings.print_result(result)

    def _check(self) -> None:
        check_positive("--cells", self.cells)
        check_seed(self.seed)
        for option, value in (("--duration", self.duration), ("--rate", self.rate)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise TrueupError(f"{option} is {value}.", fix="Give a number above 0.")
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

    def _draw(self, file: Path) -> None:
        world = self._world(None)
        envelope = Envelope(world)
        series = self._series(envelope.body)
        situation = Situation(
            world=world,
            body=envelope.body,
            period_s=1.0 / self.rate if self.rate else world.control_period_s,
            start=np.array([envelope.body.ready]),
            objects={
                name: np.atleast_2d(pose)
                for name, pose in {
                    **_nominal(world, series),
                    **self._objects(world, series),
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

    def _objects(self, world: World, series: Series) -> dict[str, np.ndarray]:
        """Poses (7,) of what probes need, as the operator told them."""
        if not self.object:
            return {}
        x, y = self.object[:2]
        half = math.radians(self.object[2] if len(self.object) > 2 else 0.0) / 2.0
        return {
            name: np.array([x, y, pose[2], math.cos(half), 0.0, 0.0, math.sin(half)])
            for name, pose in _nominal(world, series).items()
        }


@dataclass(frozen=True, kw_only=True)
class ListMotions(Machine):
    """List the motions that `trueup record` knows.

    A series is a file of motions: copy one, change its numbers, and give the file as --motion.

    trueup record motions
    """

    def run(self) -> None:
        """Print them."""
        found = {name: get(name) for name in names()}
        if self.json:
            kinds = {kind: _fields(made) for kind, made in Motion.kinds.items()}
            series = {name: one.to_json() for name, one in found.items()}
            show.print_json({"series": series, "kinds": kinds})
            return
        table = show.table("name", "motions", "what", keep=("name",))
        for name, one in found.items():
            table.add_row(name, ", ".join(motion.kind for motion in one.motions), one.about)
        show.console().print(table)


class _Store:
    """A dataset that comes to be with its first episode: a refused motion leaves nothing behind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = Writer(folder) if folder.exists() else None

    def add(self, episode: Episode) -> int:
        """Store an episode; its number."""
        if self._writer is None:
            self._writer = Writer(self._folder)
        return self._writer.add(episode)

    def __len__(self) -> int:
        return 0 if self._writer is None else len(self._writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def _fields(kind: type[Motion]) -> dict[str, Any]:
    return {**kind().to_json(), "about": (kind.__doc__ or "").splitlines()[0]}


def _nominal(world: World, series: Series) -> dict[str, np.ndarray]:
    """Where the model has what probes need."""
    model = world.model
    found = {}
    for name in dict.fromkeys(motion.needs for motion in series.motions if motion.needs):
        at = int(model.jnt_qposadr[model.body_jntadr[model.body(name).id]])
        found[name] = model.qpos0[at : at + 7].copy()
    return found


def _label(text: str) -> tuple[str, str]:
    name, equals, word = text.partition("=")
    if not (name and equals and word):
        raise TrueupError(f"--label {text!r} is no label.", fix="Write NAME=WORD, as lighting=dim.")
    return name, word


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
