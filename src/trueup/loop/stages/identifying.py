"""What the robot really is, and the space that follows from it."""

from __future__ import annotations

import json
from dataclasses import replace

from trueup.diagnose import GapReport
from trueup.episodes import Dataset
from trueup.files import whole
from trueup.identify import readable
from trueup.loop.estimates import FOLDER, estimates, heard_in, residual_of
from trueup.loop.identified import Identification
from trueup.loop.job import Job
from trueup.loop.stages.recording import DATA
from trueup.loop.truing import trued_up


def identified(job: Job) -> str:
    """Parameters from the recordings, and how sure."""
    recorded, unread = readable(Dataset.open(job.path(DATA)))
    trials = readable(Dataset.open(job.path("before/episodes")))[0]
    way = Identification(
        world=job.world,
        bare=job.bare,
        fitted=job.settings.fitted,
        check=job.settings.check,
        seed=job.settings.seed,
        threads=job.threads,
        tell=job.tell,
    )
    found = way.of(recorded, trials)
    if found.arm is not None:
        found = replace(found, arm=replace(found.arm, notes=(*unread, *found.arm.notes)))
    found.save(job.path(FOLDER))
    return found.told


def narrowed(job: Job) -> str:
    """The space to train in: what is known as it is known, what is blamed wider than usual."""
    found = trued_up(
        job.world,
        GapReport.load(job.path("diagnose/gaps.json")),
        estimates(job),
        heard_in(job),
        residual_of(job),
    )
    found.space.save(job.path("narrow/space.json"))
    with whole(job.path("narrow/why.json")) as partial:
        partial.write_text(json.dumps({"sentences": found.sentences}, indent=1) + "\n", "utf-8")
    return found.short
