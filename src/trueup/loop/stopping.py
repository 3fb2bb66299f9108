"""When a run stops by itself, and why: decided from stored artefacts alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from trueup.diagnose import GapReport
from trueup.evaluate import Evaluation
from trueup.loop.estimates import estimates
from trueup.loop.job import Job
from trueup.loop.truing import blamed
from trueup.plan import Protocol
from trueup.plan.protocol import in_points

_MOSTLY = 2 / 3  # of the loss
_SLACK = 0.05


class Why(StrEnum):
    """Reasons to stop."""

    TARGET = "target reached"
    WORTHLESS = "nothing is worth its cost"
    OUTSIDE = "the cause is outside the simulator"
    OPEN = "one turn is done"


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A reason, and the sentence that gives it."""

    why: Why
    words: str


def stop_after(stage: str, job: Job) -> Stop | None:
    """Whether to stop after a stage; nothing where there is no reason to."""
    rule = _RULES.get(stage)
    return rule(job) if rule else None


def success(job: Job, folder: str) -> tuple[int, int]:
    """Successes and trials, as stored."""
    found = json.loads(job.path(f"{folder}/result.json").read_text(encoding="utf-8"))
    return int(found["success"]), int(found["trials"])


def _reached(job: Job, folder: str) -> Stop | None:
    won, trials = success(job, folder)
    if trials and won / trials >= job.settings.target:
        return Stop(
            why=Why.TARGET,
            words=f"The target is reached: {won} of {trials} trials succeeded, "
            f"{100 * job.settings.target:.0f} % were wanted.",
        )
    return None


def _before(job: Job) -> Stop | None:
    return _reached(job, "before")


def _plan(job: Job) -> Stop | None:
    protocol = Protocol.load(job.path("plan/protocol.json"))
    report = GapReport.load(job.path("look/gaps.json"))
    if protocol.items or report.loss <= 0:
        return None if protocol.items else _no_loss(report)
    return Stop(
        why=Why.WORTHLESS,
        words=f"The loss is {in_points(report.loss)}, and nothing that can be recorded or done is "
        "expected to give back more than it costs.",
    )


def _no_loss(report: GapReport) -> Stop:
    return Stop(
        why=Why.WORTHLESS,
        words=f"The policy does as well on the robot ({report.measured}) as in simulation "
        f"({report.simulated}): a better policy is needed, not a better simulator.",
    )


def _diagnose(job: Job) -> Stop | None:
    """Most of the loss has no name, even now that recordings were heard.

    Numbers that were fitted to something unmodelled may do in its place: with them it is tried.
    """
    report = GapReport.load(job.path("diagnose/gaps.json"))
    known = estimates(job)
    differ = any(finding.differs for each in known for finding in each.findings)
    if report.loss <= 0 or blamed(report) or differ:
        return None
    if report.unexplained.low < _MOSTLY * report.loss:
        return None
    suspects = [s for e in known if e.check for s in e.check.sentences if not e.check.inside]
    return Stop(
        why=Why.OUTSIDE,
        words=f"{report.unexplained.points:.0f} of {report.loss:.0f} lost points have no cause in "
        f"the simulator: training in it cannot win them back. {' '.join(suspects[:2])}".strip(),
    )


def _after(job: Job) -> Stop | None:
    reached = _reached(job, "after")
    if reached:
        return replace(reached, words=f"{reached.words}{_luck(job)}")
    (was, of), (won, trials) = success(job, "before"), success(job, "after")
    said = (
        f"One turn is done, and {won} of {trials} trials succeed where "
        f"{100 * job.settings.target:.0f} % were wanted"
    )
    if trials and of and won / trials <= was / of:
        better = (
            f", no more than before ({was} of {of}). The new policy is no better: keep the one of "
            "before, and see in the report what stays unexplained."
        )
        return Stop(why=Why.OPEN, words=f"{said}{better}")
    return Stop(why=Why.OPEN, words=f"{said}. Begin the next turn with this policy.")


def _luck(job: Job) -> str:
    """A warning where few trials went better than the trued-up simulator promises."""
    path = job.path("retrain/evaluation.npz")
    promised = Evaluation.load(path).success_share if path.exists() else 1.0
    if promised >= job.settings.target - _SLACK:
        return ""
    return (
        f" The trued-up simulator promises only {100 * promised:.0f} %, so part of it may be luck: "
        "try more often before you believe it."
    )


_RULES: Mapping[str, Callable[[Job], Stop | None]] = {
    "before": _before,
    "plan": _plan,
    "diagnose": _diagnose,
    "after": _after,
}
