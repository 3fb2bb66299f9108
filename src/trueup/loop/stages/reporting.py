"""The report of a run."""

from __future__ import annotations

from trueup.loop.job import Job


def report(job: Job) -> str:
    """Everything that was stored, told in one page."""
    from trueup.loop.telling import told  # drawing is slow to import, and only done here

    page = told(job).save(job.path("report"))
    return str(page)
