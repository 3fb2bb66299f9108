"""Reading trials: the bank, the first look, and the diagnosis with what was identified."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np

from trueup.diagnose import Bank, GapReport, built, diagnose, judged
from trueup.diagnose.bank import FORMAT, WAY
from trueup.diagnose.hearing import with_failures
from trueup.episodes import Dataset
from trueup.evaluate import piloted
from trueup.files import whole
from trueup.loop.estimates import known_of
from trueup.loop.job import Job
from trueup.loop.known import Known
from trueup.loop.lock import locked
from trueup.policies import Policy
from trueup.versions import versions

BANK = "diagnose/bank.npz"


def bank(job: Job) -> str:
    """What the starting policy does in many bent worlds: made once for a policy, and kept."""
    policy = job.policy("train/policy")
    mark = mark_of(policy)
    made = versions("mujoco", "numpy")
    known = [FORMAT, WAY, mark, asdict(job.settings.bank), job.settings.seed, made]
    key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]
    path = job.cache / f"bank-{key}" / "bank.npz"
    with locked(path.parent, wait=job.tell):  # another run may be making the same one
        if not path.exists():
            _built(job, policy, mark).save(path)
    with whole(job.path(BANK)) as partial:
        shutil.copyfile(path, partial)
    return f"{len(Bank.load(path))} bent worlds to read the trials against"


def _built(job: Job, policy: Policy, mark: str) -> Bank:
    return built(
        job.world,
        piloted(policy),
        job.world.catalogue,
        np.random.default_rng([job.settings.seed, 5]),
        policy=mark,
        size=job.settings.bank,
        threads=job.threads,
        on_progress=job.tell,
    )


def look(job: Job) -> str:
    """Which gap costs the success, from trials alone."""
    report = report_of(job, Known(), job.path(BANK))
    report.save(job.path("look/gaps.json"))
    return blamed(report)


def diagnosed(job: Job) -> str:
    """Which gap costs the success, now that recordings were heard."""
    report = report_of(job, known_of(job), job.path(BANK))
    report.save(job.path("diagnose/gaps.json"))
    return blamed(report)


def mark_of(policy: Policy) -> str:
    """The hash of a policy's network."""
    return str(policy.provenance.files.get("policy.onnx", {}).get("sha256", ""))


def report_of(job: Job, known: Known, bank: Path) -> GapReport:
    """What costs the success of the first trials, with what is known, read against a bank."""
    policy, world = job.policy("train/policy"), job.world
    trials = judged(list(Dataset.open(job.path("before/episodes"))), world, mark_of(policy))
    case = known.case(world, policy, trials, Bank.load(bank), name="train/policy")
    report = diagnose(case, seed=job.settings.seed, threads=job.threads, on_progress=job.tell)
    return with_failures(report, world, trials)


def blamed(report: GapReport) -> str:
    """The most costly gaps, in a few words."""
    if report.loss <= 0:
        return "nothing was lost"
    told = [f"{s.gap} {s.points:.0f}" for s in report.ranked if s.points >= 1.0][:3]
    return f"{report.loss:.0f} points lost: {', '.join(told)}" if told else "no gap stands out"
