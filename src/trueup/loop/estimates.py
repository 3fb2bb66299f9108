"""What recordings of a run said, as stored."""

from __future__ import annotations

from collections.abc import Mapping

from trueup.episodes import Dataset
from trueup.identify import Estimate, readable
from trueup.identify.heard import heard
from trueup.loop.job import Job
from trueup.space import Prior

DATA = "recordings"
ARM = "identify/estimate.json"
CONTACT = "identify/contact.json"
HAND_EYE = "identify/hand_eye.json"
ESTIMATES = (ARM, CONTACT, HAND_EYE)


def estimates(job: Job) -> tuple[Estimate, ...]:
    """Of the arm, of what it touches, and of hand and eye; the last of them counts."""
    return tuple(Estimate.load(job.path(n)) for n in ESTIMATES if job.path(n).exists())


def heard_in(job: Job) -> Mapping[str, Prior]:
    """Noise of sensors and clocks, and what shakes commands."""
    arm = Estimate.load(job.path(ARM)) if job.path(ARM).exists() else None
    episodes, _ = readable(Dataset.open(job.path(DATA)))
    return heard(job.world, job.bare, episodes, arm, threads=job.threads)
