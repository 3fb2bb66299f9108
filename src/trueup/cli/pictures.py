"""`trueup worlds picture` and `worlds video`: what randomized copies look like."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from tyro.conf import arg

from trueup.cli import show
from trueup.cli.copies import Copies, check_positive, control_steps, drawn, rounded
from trueup.cli.files import check_distinct, writable_file
from trueup.cli.motions import Motion, controller, described_motion, motion_of
from trueup.cli.options import Chosen, Count, OneWorld, Seconds
from trueup.errors import TrueupError
from trueup.simulate import Camera, CpuWorlds, Step, mosaic, save_picture, save_video
from trueup.simulate.rollout import Controller
from trueup.worlds import World

_WIDEST = 4096  # pixels
_MOST = 100  # copies in one mosaic
_SMOOTH_HZ = 30.0

DONE, LOST = (46, 160, 67), (207, 34, 46)  # frames around copies that succeeded, and that did not


@dataclass(frozen=True, kw_only=True)
class Drawn(OneWorld, Chosen):
    """What pictures and videos have in common."""

    count: Annotated[int | None, arg(metavar="N")] = None
    """How many randomized copies, as a mosaic; 1 is the nominal world. By default 6, and 1 with
    --point or --only."""
    camera: Annotated[str | None, arg(metavar="NAME")] = None
    """Which camera of the model; by default front, or the first there is."""
    width: Count = 480
    """Pixels of each copy."""
    height: Count = 360
    """Pixels of each copy."""

    def copies(self, world: World) -> Copies:
        """The copies to draw."""
        check_positive("--count", 1 if self.count is None else self.count)
        for option in ("width", "height"):
            pixels = getattr(self, option)
            if not 16 <= pixels <= _WIDEST:
                raise TrueupError(
                    f"--{option} is {pixels} pixels.", fix=f"Give 16 to {_WIDEST} for each copy."
                )
        alone = self.point is not None or self.only is not None
        count = self.count if self.count is not None else 1 if alone else 6
        if count > _MOST:
            raise TrueupError(f"{count} copies are too small to see.", fix=f"Up to {_MOST}.")
        plain = count == 1 and not (alone or self.select or self.space)
        return drawn(world, self, count, nominal=plain)

    def check_out(self, out: Path, suffix: str) -> None:
        """Refuse what cannot be written, or must not be."""
        check_distinct(
            read={"WORLD": self.world_file, "--space": self.space, "--point": self.point},
            written={"--out": out},
        )
        writable_file(out, suffix)

    def described(self, copies: Copies) -> str:
        """Which copies of which world, in words."""
        name = copies.world.name
        if self.only is not None:
            return f"copy {self.only} of seed {self.seed} of {name}"
        if not len(copies.space):
            return f"the nominal {name}"
        return f"one copy of {name}" if len(copies) == 1 else f"{len(copies)} copies of {name}"

    def opened(self, worlds: CpuWorlds) -> Camera:
        """The camera, ready."""
        return Camera(
            worlds,
            camera=self.camera or first_camera(worlds.world),
            width=self.width,
            height=self.height,
        )


@dataclass(frozen=True, kw_only=True)
class Picture(Drawn):
    """Draw a world, or a mosaic of randomized copies.

    trueup worlds picture so101/lift --count 1 --out lift.png
    """

    out: Annotated[Path, arg(metavar="FILE.png")]
    """The picture to write."""

    def run(self) -> None:
        """Draw the first moment of each episode."""
        self.check_out(self.out, ".png")
        world = self.opened_world()
        copies = self.copies(world)
        worlds = copies.opened()
        with self.opened(worlds) as camera:
            frames = camera.pictures(range(len(copies)))
        save_picture(tiled(frames), self.out)
        print(f"{self.out}: {self.described(copies)}")


@dataclass(frozen=True, kw_only=True)
class Video(Drawn):
    """Film randomized copies of a world in motion.

    A copy gets a green frame when it has done the task, and a red one when its episode was lost.

    trueup worlds video so101/lift --out lift.mp4
    """

    out: Annotated[Path, arg(metavar="FILE.mp4")]
    """The video to write."""
    seconds: Seconds = None
    """Simulated time, rounded to whole control steps; one episode by default."""
    actions: Motion = "auto"
    """What moves the robot; auto: the scripted grasp where that is the task, else random."""

    def run(self) -> None:
        """Step and film."""
        self.check_out(self.out, ".mp4")
        world = self.opened_world()
        steps = control_steps(world, self.seconds)
        motion = motion_of(world, self.actions)
        copies = self.copies(world)
        worlds = copies.opened()
        with self.opened(worlds) as camera, show.progress(str(self.out), steps) as advance:
            frames = filmed(worlds, camera, controller(worlds, motion), steps, advance)
            count = save_video(frames, self.out, fps=frame_rate(world))
        seconds = show.number(count / frame_rate(world))
        print(
            f"{self.out}: {seconds} s of {self.described(copies)}{rounded(world, self.seconds)}, "
            f"moved by {described_motion(world, motion)}"
        )


def filmed(
    worlds: CpuWorlds, camera: Camera, move: Controller, steps: int, advance=lambda steps: None
) -> Iterator[np.ndarray]:
    """Mosaics of a batch that was just opened, as it moves."""
    observation, command = worlds.observation, worlds.hold
    stride, marks = _stride(worlds.world), Marks(worlds.n)
    yield tiled(camera.pictures(range(worlds.n)))
    for k in range(steps):
        wanted = move(k, observation)
        command = np.where(np.isfinite(wanted), wanted, command)  # of a copy that has diverged
        step = worlds.step(command)
        observation = step.observation
        marks.see(step)
        if k + 1 == steps >= control_steps(worlds.world, None):
            marks.close()
        advance(1)
        if (k + 1) % stride == 0:
            yield tiled(marks.framed(camera.pictures(range(worlds.n))))


class Marks:
    """Remembers which copies succeeded or were lost, and draws it around their pictures."""

    def __init__(self, n: int) -> None:
        self.done, self.lost = np.zeros(n, bool), np.zeros(n, bool)

    def see(self, step: Step) -> None:
        """Take note of one step; the first end of an episode counts."""
        self.done |= step.success & ~self.lost
        self.lost |= step.done & ~self.done

    def close(self) -> None:
        """Whatever has not succeeded by now never will."""
        self.lost |= ~self.done

    def framed(self, frames: np.ndarray) -> np.ndarray:
        """Frames (n, height, width, 3) with a coloured border where an episode is over."""
        thick = max(2, frames.shape[1] // 60)
        framed = frames.copy()
        for over, colour in ((self.done, DONE), (self.lost, LOST)):
            rows = np.flatnonzero(over)
            framed[rows, :thick] = framed[rows, -thick:] = colour
            framed[rows, :, :thick] = framed[rows, :, -thick:] = colour
        return framed


def tiled(frames: np.ndarray) -> np.ndarray:
    """A mosaic about as wide as a screen is."""
    return mosaic(frames, columns=math.ceil(math.sqrt(len(frames))))


def frame_rate(world: World) -> float:
    """Frames per second of a video in real time."""
    return 1.0 / (world.control_period_s * _stride(world))


def _stride(world: World) -> int:
    """Control steps per frame: what looks smooth, and no more."""
    return max(1, round(1.0 / (_SMOOTH_HZ * world.control_period_s)))


def first_camera(world: World) -> str:
    """The camera `front`, or the first there is."""
    model = world.model
    known = [model.camera(i).name for i in range(model.ncam)]
    if not known:
        raise TrueupError(
            f"World {world.name!r} has no camera to draw from.",
            fix="Add a <camera> to its MJCF.",
        )
    return "front" if "front" in known else known[0]
