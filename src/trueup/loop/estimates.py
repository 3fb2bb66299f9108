"""What recordings of a run said, as stored."""

from __future__ import annotations

from trueup.identify import Estimate
from trueup.loop.job import Job

ARM, CONTACT = "identify/estimate.json", "identify/contact.json"


def estimates(job: Job) -> tuple[Estimate, ...]:
    """Of the arm, and of what it touches where that was probed."""
    return tuple(Estimate.load(job.path(n)) for n in (ARM, CONTACT) if job.path(n).exists())
