"""Trials on the robot, before and after, and of the controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trueup.deploy import Deployment, NotArmed, Preflight, Series, deploy, preflight
from trueup.deploy.terminal import KEYS, Terminal
from trueup.diagnose import GapReport
from trueup.evaluate import Evaluation
from trueup.files import whole
from trueup.loop.counted import counted
from trueup.loop.job import Job
from trueup.policies import Policy


def before(job: Job) -> str:
    """The starting policy on the robot."""
    found = tried(job, "train/policy", "before", check=True)
    simulated = Evaluation.load(job.path("train/evaluation.npz"))
    return f"{told(found)}; it was {100 * simulated.success_share:.0f} % in simulation"


def after(job: Job) -> str:
    """The retrained policy on the robot: the same starts as before."""
    found = tried(job, "retrain/policy", "after", check=False)
    _left(job, found).save(job.path("after/gaps.json"))
    was = json.loads(job.path("before/result.json").read_text(encoding="utf-8"))
    return f"{told(found)}; it was {100 * was['success_share']:.0f} % before"


def tried(job: Job, policy_name: str, into: str, *, check: bool) -> dict[str, Any]:
    """Try a policy, and keep every trial; trials that are there already are not repeated."""
    policy, settings = job.policy(policy_name), job.settings
    series = Series(trials=settings.trials, seed=settings.seed, address=settings.robot)
    if check:
        _checked(job, policy, job.path(into) / "preflight.json")
    with job.robot(cells=settings.trials) as robot, Terminal(robot, job.say) as terminal:
        if robot.real:
            job.say(KEYS)
        deployment = deploy(
            policy,
            robot,
            job.world,
            series,
            job.path(into) / "episodes",
            armed=job.arm,
            check=False,
            operator=terminal,
        )
        if robot.real:
            terminal.release()
    found = _result(job, policy_name, deployment)
    _write(job.path(into) / "result.json", found)
    return found


def told(found: dict[str, Any]) -> str:
    """Success on the robot, as people say it."""
    where = "on the robot" if found["label"] == "real" else "on the rehearsal robot, sim-to-sim"
    return f"{100 * found['success_share']:.0f} % ({found['success']} of {found['trials']}) {where}"


def _left(job: Job, found: dict[str, Any]) -> GapReport:
    """What is lost now between the trued-up simulator and the robot."""
    return counted(
        Evaluation.load(job.path("retrain/evaluation.npz")),
        found,
        policy="retrain/policy",
        note="What is left was not split by gap: `trueup diagnose` does, for the new policy.",
    )


def _checked(job: Job, policy: Policy, file: Path) -> Preflight:
    """Preflight of one body; a robot that is not as the policy needs it is refused here."""
    with job.robot() as robot, Terminal(robot, job.say) as terminal:
        if robot.real and not job.arm:
            raise NotArmed(robot)
        found = preflight(
            policy, robot, job.world, move=True, sweep=robot.real, on_turn=terminal.preflight_turn
        )
        if robot.real:
            terminal.release()
    _write(file, found.to_json())
    found.refuse()
    return found


def _result(job: Job, policy: str, deployment: Deployment) -> dict[str, Any]:
    return {
        "policy": policy,
        "world": job.world.name,
        **deployment.to_json(),
        "seed": job.settings.seed,
    }


def _write(path: Path, data: dict[str, Any]) -> None:
    with whole(path) as partial:
        partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
