"""What recordings of a run said, as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueup.diagnose import Beyond
from trueup.episodes import Dataset
from trueup.identify import Estimate, readable
from trueup.identify.frames import LATENESS, in_step, seen_late, with_lateness
from trueup.identify.heard import heard, wander_of
from trueup.identify.residual import SHARE, LearnedResidual
from trueup.loop.job import Job
from trueup.space import Prior, Space
from trueup.worlds import World

DATA = "recordings"
ARM = "identify/estimate.json"
CONTACT = "identify/contact.json"
HAND_EYE = "identify/hand_eye.json"
ESTIMATES = (ARM, CONTACT, HAND_EYE)
RESIDUAL = "identify/residual"


def estimates(job: Job) -> tuple[Estimate, ...]:
    """Of the arm, of what it touches, and of hand and eye; the last of them counts."""
    return tuple(Estimate.load(job.path(n)) for n in ESTIMATES if job.path(n).exists())


def heard_in(job: Job) -> Mapping[str, Prior]:
    """Noise of sensors and clocks, and what shakes commands."""
    arm = Estimate.load(job.path(ARM)) if job.path(ARM).exists() else None
    episodes, _ = readable(Dataset.open(job.path(DATA)))
    return heard(job.world, job.bare, episodes, arm, threads=job.threads)


def wander_in(job: Job, noise: Mapping[str, Prior]) -> float:
    """How far encoders that drift seem to take joints, in rad."""
    return wander_of(noise, readable(Dataset.open(job.path(DATA)))[0]) if noise else 0.0


def residual_of(job: Job) -> LearnedResidual | None:
    """What was learnt of the arm beside its numbers; none where it was not needed, or refused."""
    path = job.path(RESIDUAL)
    return LearnedResidual.load(path) if path.exists() else None


def world_of(job: Job, space: Space) -> World:
    """The world that has the parameters of a space, with what was learnt if it is among them."""
    learnt = residual_of(job) if SHARE in space else None
    world = with_lateness(job.world) if LATENESS in space else job.world
    return world if learnt is None else learnt.added_to(world)


def identified_in(job: Job, world: World) -> tuple[World, dict[str, float]]:
    """A world with all that was learnt of the robot, and the values that were identified in it."""
    known = estimates(job)
    point = {name: value for one in map(in_step, known) for name, value in one.point.items()}
    beyond = beyond_of(world, known, residual_of(job))
    if beyond is not None:
        world, point = beyond.world, {**point, **beyond.values}
    return world, {name: value for name, value in point.items() if name in world.catalogue}


def beyond_of(
    world: World, known: Sequence[Estimate], learnt: LearnedResidual | None
) -> Beyond | None:
    """What recordings show of a robot that no parameter of its world makes; none where nothing is.

    Frames that come late by chance, and what the arm does beside all numbers.
    """
    values: dict[str, float] = {}
    if late := seen_late(known):
        world, values = with_lateness(world), late.values
    if learnt is not None:
        world, values[SHARE] = learnt.added_to(world), 1.0
    return Beyond(world=world, values=values) if values else None
