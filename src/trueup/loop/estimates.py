"""What recordings of a run said, as stored."""

from __future__ import annotations

from trueup.identify import Estimate
from trueup.loop.job import Job

ARM = "identify/estimate.json"
CONTACT = "identify/contact.json"
HAND_EYE = "identify/hand_eye.json"
ESTIMATES = (ARM, CONTACT, HAND_EYE)


def estimates(job: Job) -> tuple[Estimate, ...]:
    """Of the arm, of what it touches, and of hand and eye; the last of them counts."""
    return tuple(Estimate.load(job.path(n)) for n in ESTIMATES if job.path(n).exists())
