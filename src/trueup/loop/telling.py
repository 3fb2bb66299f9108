"""The report of a run folder: which artefact goes into which section."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trueup.diagnose import GapReport, Rate
from trueup.diagnose.failures import analysed
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.evaluate import Comparison, Evaluation
from trueup.identify import readable
from trueup.identify.probing.probes import moves_freely
from trueup.loop.counted import counted
from trueup.loop.estimates import estimates, identified_in
from trueup.loop.folder import Origin
from trueup.loop.job import Job
from trueup.loop.journal import Journal
from trueup.loop.stages.controlling import CONTROLS
from trueup.loop.stages.recording import DATA
from trueup.plan import Protocol
from trueup.report import (
    Control,
    Difference,
    Material,
    Recorded,
    Report,
    Section,
    films_of,
    overlaid,
    reported,
)
from trueup.report.blocks import Listing, Prose


def told(job: Job) -> Report:
    """The report of all that a run has stored so far."""
    report = reported(_material(job))
    sections = list(report.sections)
    place = 1 + next(i for i, section in enumerate(sections) if section.key == "parameters")
    return replace(report, sections=(*sections[:place], _why(job), *sections[place:]))


def _material(job: Job) -> Material:
    journal, result = Journal.load(job.folder), _json(job, "before/result.json")
    trials = list(Dataset.open(job.path("before/episodes")))
    films, unfilmed = (), ""
    if job.settings.films:
        films, unfilmed = films_of(job.world, trials, most=job.settings.films)
    before = _before(job, result)
    return Material(
        title=f"{job.settings.world}: from simulation to the robot",
        before=before,
        look=_gaps(job, "look/gaps.json"),
        after=_gaps(job, "after/gaps.json"),
        estimates=estimates(job),
        identified=journal.stages["identify"].found if journal.done("identify") else "",
        failures=before.failures or _failures(job, trials),
        failures_after=_failures(job, _episodes(job, "after/episodes")),
        films=films,
        unfilmed=unfilmed,
        latency=result.get("latency_budget"),
        protocol=_protocol(job),
        controls=_controls(job),
        steps=job.policy("retrain/policy").provenance.steps if _there(job, "retrain") else None,
        stopped=journal.ended[1] if journal.ended else "",
        provenance=_provenance(job, journal),
        **_recorded(job),
    )


def _before(job: Job, result: Mapping[str, Any]) -> GapReport:
    """By the best evidence there is: recordings, trials, or mere counting."""
    found = _gaps(job, "diagnose/gaps.json") or _gaps(job, "look/gaps.json")
    return found or counted(
        Evaluation.load(job.path("train/evaluation.npz")),
        result,
        policy="train/policy",
        note="The loss was not split by gap: there was no need.",
    )


def _gaps(job: Job, name: str) -> GapReport | None:
    return GapReport.load(job.path(name)) if job.path(name).exists() else None


def _protocol(job: Job) -> Protocol | None:
    path = job.path("plan/protocol.json")
    return Protocol.load(path) if path.exists() else None


def _there(job: Job, name: str) -> bool:
    return job.path(name).joinpath("policy").is_dir()


def _episodes(job: Job, name: str) -> list[Episode]:
    return list(Dataset.open(job.path(name))) if job.path(name).is_dir() else []


def _failures(job: Job, trials: list[Episode]) -> Mapping[str, Any] | None:
    try:
        return analysed(job.world, trials).to_json() if trials else None
    except TrueupError:  # nothing that tells how; the section says so
        return None


def _recorded(job: Job) -> dict[str, Any]:
    """What was recorded, and a motion of it over the simulator."""
    if not job.path(DATA).is_dir():
        return {}
    data = Dataset.open(job.path(DATA))
    found: dict[str, Any] = {"recorded": Recorded.of(data)}
    motion = shown_motion(data)
    if estimates(job) and motion is not None:
        world, point = identified_in(job, job.bare)
        found["overlays"] = overlaid(world, motion, point, threads=job.threads)
    return found


def shown_motion(data: Dataset) -> Episode | None:
    """The last motion in which nothing was touched: the bare arm has no table, and no thing."""
    free = [episode for episode in readable(data)[0] if moves_freely(episode)]
    return free[-1] if free else None


def _controls(job: Job) -> tuple[Control, ...]:
    found = []
    for name, (words, _) in CONTROLS.items():
        if not job.path(f"controls/{name}/result.json").exists():
            continue
        result = _json(job, f"controls/{name}/result.json")
        control = Control(
            name=name,
            what=words,
            rate=Rate(successes=result["success"], trials=result["trials"]),
            steps=job.policy(f"controls/{name}/policy").provenance.steps,
            behind=Difference.of(_paired(_json(job, "after/result.json"), result)),
        )
        found.append(control)
    return tuple(found)


def _paired(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Comparison:
    """Trials that began alike."""
    a, b = ({row["trial"]: row["success"] for row in side["outcomes"]} for side in (ours, theirs))
    pairs = [(a[k], b[k]) for k in a if k in b]
    return Comparison(
        both=sum(x and y for x, y in pairs),
        only_a=sum(x and not y for x, y in pairs),
        only_b=sum(y and not x for x, y in pairs),
        neither=sum(not x and not y for x, y in pairs),
    )


def _why(job: Job) -> Section:
    path = job.path("narrow/why.json")
    lines = json.loads(path.read_text("utf-8"))["sentences"] if path.exists() else []
    block = (
        Listing(items=tuple(lines))
        if lines
        else Prose(text="The simulator was not trued up, so no space was drawn from anew.")
    )
    return Section(
        key="space",
        title="What the new policy was trained for",
        blocks=(block,),
        data={"sentences": lines},
    )


def _provenance(job: Job, journal: Journal) -> dict[str, Any]:
    origin = Origin.load(job.folder)
    return {
        "robot": job.settings.robot,
        "seed": job.settings.seed,
        "started": origin.started,
        "versions": origin.versions,
        "seconds": {n: e.seconds for n, e in journal.stages.items() if e.seconds},
        "changed by hand": ", ".join(journal.accepted) or None,
        "policies": {
            name: str(job.policy(f"{name}/policy").provenance.files["policy.onnx"]["sha256"])
            for name in ("train", "retrain")
            if _there(job, name)
        },
        "commands": list(dict.fromkeys(command for command in origin.commands if command)),
    }


def _json(job: Job, name: str) -> dict[str, Any]:
    return json.loads(job.path(name).read_text(encoding="utf-8"))
