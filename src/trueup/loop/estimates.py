"""What recordings of a run said, as stored."""

from __future__ import annotations

from collections.abc import Mapping

from trueup.episodes import Dataset
from trueup.identify import Estimate, readable
from trueup.identify.frames import LATENESS, in_step, with_lateness
from trueup.identify.residual import SHARE, LearnedResidual
from trueup.loop.identified import FILES, Identified
from trueup.loop.identified import RESIDUAL as LEARNT
from trueup.loop.job import Job
from trueup.loop.known import Known
from trueup.space import Prior, Space
from trueup.worlds import World

DATA, FOLDER = "recordings", "identify"
ESTIMATES = tuple(f"{FOLDER}/{name}" for name in FILES)
RESIDUAL = f"{FOLDER}/{LEARNT}"


def estimates(job: Job) -> tuple[Estimate, ...]:
    """Of the arm, its stops, hand and eye, and what it touches; the last of them counts."""
    return Identified.load(job.path(FOLDER)).estimates


def heard_in(job: Job) -> Mapping[str, Prior]:
    """Noise of sensors and clocks, and what shakes commands."""
    return known_of(job).heard


def known_of(job: Job) -> Known:
    """All that recordings said of the robot."""
    recorded, _ = readable(Dataset.open(job.path(DATA)))
    found = Identified.load(job.path(FOLDER))
    return Known.of(found, job.world, job.bare, recorded, threads=job.threads)


def residual_of(job: Job) -> LearnedResidual | None:
    """What was learnt of the arm beside its numbers; none where it was not needed, or refused."""
    return Identified.load(job.path(FOLDER)).residual


def world_of(job: Job, space: Space) -> World:
    """The world that has the parameters of a space, with what was learnt if it is among them."""
    learnt = residual_of(job) if SHARE in space else None
    world = with_lateness(job.world) if LATENESS in space else job.world
    return world if learnt is None else learnt.added_to(world)


def identified_in(job: Job, world: World) -> tuple[World, dict[str, float]]:
    """A world with all that was learnt of the robot, and the values that were identified in it."""
    known = estimates(job)
    point = {name: value for one in map(in_step, known) for name, value in one.point.items()}
    beyond = Known(estimates=known, learnt=residual_of(job)).beyond(world)
    if beyond is not None:
        world, point = beyond.world, {**point, **beyond.values}
    return world, {name: value for name, value in point.items() if name in world.catalogue}
