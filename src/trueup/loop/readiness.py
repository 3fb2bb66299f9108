"""Whether a run can do what it was told, asked before anything is trained or made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.hardware import Robot
from trueup.hardware.reality import read_reality, realities
from trueup.loop.job import Job
from trueup.loop.settings import REALITY
from trueup.loop.stage import Stage
from trueup.loop.stages.training import given
from trueup.policies import Policy
from trueup.worlds import interface_of


def check_ready(job: Job, left: Sequence[Stage]) -> None:
    """Refuse what the stages that are left to do could not use.

    A robot of one's own is not connected to; a rehearsal robot is started once, and let go.
    """
    settings, names = job.settings, {stage.name for stage in left}
    policy = _policy(job, trained="train" not in names)
    if "record" in names and settings.episodes:
        _check_episodes(Path(settings.episodes))
    if any(stage.precious for stage in left):
        _check_robot(job, policy)


def _policy(job: Job, *, trained: bool) -> Policy | None:
    """What will be tried on the robot, where it is there already."""
    if trained:
        return job.policy("train/policy")
    return given(job) if job.settings.policy else None


def _check_episodes(folder: Path) -> None:
    if not len(Dataset.open(folder)):
        raise TrueupError(
            f"{folder} has no episodes to identify from.",
            fix="Give --episodes a dataset with recordings, or none to record the robot.",
        )


def _check_robot(job: Job, policy: Policy | None) -> None:
    robot = _found(job)
    try:
        if policy is not None:
            policy.check(robot.interface, of=robot.name)
        else:
            world = f"the world {job.settings.world!r}"
            interface_of(job.world).check(robot.interface, policy=world, of=robot.name)
    except TrueupError as error:
        raise TrueupError(
            f"The robot {job.settings.robot} is not one for {job.settings.world}. {error.what}",
            fix=f"Give one that is, such as --robot rehearsal:benign@{job.settings.world}.",
        ) from error
    finally:
        robot.disconnect()


def _found(job: Job) -> Robot:
    try:
        return job.robot()
    except TrueupError as error:
        if job.settings.robot != f"rehearsal:{REALITY}@{job.settings.world}":
            raise
        fitting = [name for name in realities() if read_reality(name).fits(job.world)]
        raise TrueupError(
            f"The usual reality {REALITY!r} is one of {read_reality(REALITY).world}, and does not "
            f"fit {job.settings.world}: {error.what}",
            fix=f"Choose one with --reality; these fit: {', '.join(fitting) or 'none'}. Or give a "
            "file of your own.",
        ) from error
