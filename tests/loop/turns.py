"""What the tests of this folder share: a whole turn of the loop, as small as it can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trueup import train
from trueup.diagnose import GapReport, Size
from trueup.identify import Estimate
from trueup.loop import Job, Settings
from trueup.plan import Protocol

REACH = "so101/reach"
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
_LITTLE: dict[str, Any] = {
    "worlds": 32,
    "check_episodes": 16,
    "confirm_episodes": 16,
    "keep_every": 4,
    "critic_first": 2,
}
TINY = Settings(
    world=REACH,
    robot=f"rehearsal:slow-bus@{REACH}",
    trials=6,
    target=1.0,
    start=train.Settings(steps=6_000, target=1.0, target_nominal=1.0, **_LITTLE),
    tune=train.Settings(steps=32 * 24 * 8, target=1.0, target_nominal=1.0, **_LITTLE),
    simulated=40,
    bank=Size(screened=2, kept=1, pairs=2, triples=0, trials=5, nominal=10),
    motions=("prbs",),
    seconds=15.0,
    fitted=("latency/action_delay",),
    check=False,
    films=0,
    insist=True,
)


def job(folder: Path, settings: Settings = TINY, **more: Any) -> Job:
    """A run in a folder of a test; what runs share lies beside it."""
    return Job(folder=folder / "run", settings=settings, threads=1, cache=folder / "cache", **more)


def without_plan(made: Job) -> None:
    """Have a run record what it always does, and nothing beside it."""
    nothing = Protocol(
        world=REACH,
        policy="",
        real=False,
        loss=0.0,
        report_sha256="",
        items=(),
        stop=(),
        sentences=(),
    )
    nothing.save(made.path("plan/protocol.json"))


def numbers(run: Path) -> dict[str, Any]:
    """All that a run found, without the times that it took."""
    estimate = Estimate.load(run / "identify" / "estimate.json")
    outcomes = {
        name: json.loads((run / name / "result.json").read_text())["outcomes"]
        for name in ("before", "after")
    }
    gaps = [GapReport.load(run / name / "gaps.json") for name in ("look", "diagnose", "after")]
    return {
        "networks": [
            (run / name / "policy" / "policy.onnx").read_bytes() for name in ("train", "retrain")
        ],
        "outcomes": outcomes,
        "shares": [(report.shares, report.unexplained) for report in gaps],
        "estimate": estimate.belief.to_json(),
        "space": (run / "narrow" / "space.json").read_text(),
        "plan": json.loads((run / "plan" / "protocol.json").read_text())["items"],
    }
