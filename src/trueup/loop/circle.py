"""The stages in their order. A new one is a function and a row here."""

from __future__ import annotations

from trueup.errors import UnknownName
from trueup.loop.estimates import ESTIMATES, RESIDUAL
from trueup.loop.settings import Settings
from trueup.loop.stage import Stage
from trueup.loop.stages import (
    controlling,
    identifying,
    reading,
    recording,
    reporting,
    training,
    trying,
)

_BEFORE = ("before/episodes", "before/result.json")
_ROBOT = ("robot", "trials", "seed")

CIRCLE = (
    Stage(
        name="train",
        inputs=(),
        outputs=("train/policy", "train/evaluation.npz"),
        reads=("world", "policy", "start", "simulated", "seed"),
        do=training.start,
    ),
    Stage(
        name="before",
        inputs=("train/policy", "train/evaluation.npz"),
        outputs=(*_BEFORE, "before/preflight.json"),
        reads=_ROBOT,
        do=trying.before,
        resumes=True,
        precious=True,
    ),
    Stage(
        name="bank",
        inputs=("train/policy",),
        outputs=(reading.BANK,),
        reads=("bank",),
        do=reading.bank,
    ),
    Stage(
        name="look",
        inputs=("train/policy", *_BEFORE, reading.BANK),
        outputs=("look/gaps.json",),
        reads=(),
        do=reading.look,
    ),
    Stage(
        name="plan",
        inputs=("look/gaps.json",),
        outputs=("plan/protocol.json",),
        reads=(),
        do=recording.plan,
    ),
    Stage(
        name="record",
        inputs=("plan/protocol.json",),
        outputs=(recording.DATA,),
        reads=("robot", "episodes", "motions", "seconds", "seed"),
        do=recording.record,
        resumes=True,
        precious=True,
    ),
    Stage(
        name="identify",
        inputs=(recording.DATA, "before/episodes"),
        outputs=(*ESTIMATES, RESIDUAL),
        reads=("fitted", "check"),
        do=identifying.identified,
    ),
    Stage(
        name="diagnose",
        inputs=("train/policy", *_BEFORE, reading.BANK, recording.DATA, *ESTIMATES, RESIDUAL),
        outputs=("diagnose/gaps.json",),
        reads=(),
        do=reading.diagnosed,
    ),
    Stage(
        name="narrow",
        inputs=("diagnose/gaps.json", recording.DATA, *ESTIMATES, RESIDUAL),
        outputs=("narrow/space.json", "narrow/why.json"),
        reads=(),
        do=identifying.narrowed,
    ),
    Stage(
        name="retrain",
        inputs=("train/policy", "narrow/space.json", RESIDUAL),
        outputs=("retrain/policy", "retrain/evaluation.npz"),
        reads=("tune",),
        do=training.retrain,
        scratch=("retrain",),
        resumes=True,
    ),
    Stage(
        name="after",
        inputs=("retrain/policy", "retrain/evaluation.npz", "before/result.json"),
        outputs=("after/episodes", "after/result.json", "after/gaps.json"),
        reads=(),
        do=trying.after,
        resumes=True,
        precious=True,
    ),
)

CONTROLS = tuple(
    Stage(
        name=f"control-{name}",
        inputs=("train/policy", "retrain/policy", *ESTIMATES, RESIDUAL),
        outputs=tuple(f"controls/{name}/{part}" for part in ("policy", "episodes", "result.json")),
        reads=(),
        do=controlling.of(name),
        scratch=(f"controls/{name}",),
        resumes=True,
        precious=True,
    )
    for name in controlling.CONTROLS
)


def stages(settings: Settings) -> tuple[Stage, ...]:
    """All that a run does; the report comes last."""
    found = (*CIRCLE, *(CONTROLS if settings.controls else ()))
    told = Stage(
        name="report",
        inputs=tuple(dict.fromkeys(name for stage in found for name in stage.outputs)),
        outputs=("report/report.html", "report/report.json", "report/report.md"),
        reads=(),
        do=reporting.report,
    )
    return (*found, told)


def index_of(name: str, settings: Settings) -> int:
    """Where a stage stands in the order."""
    names = [stage.name for stage in stages(settings)]
    if name not in names:
        raise UnknownName("stage", name, names, fix="Stages are: " + ", ".join(names) + ".")
    return names.index(name)
