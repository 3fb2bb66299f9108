"""Runs of a second, and what they leave in their folders."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.train.rigs import QUICK
from tests.train.swing import Swing
from trueup.randomize import plan_named
from trueup.train import Run

NEVER: dict[str, Any] = dict(target=1.0)  # no interval of finitely many episodes reaches it
# every 4 updates while little succeeds
OFTEN: dict[str, Any] = dict(check_every=1, check_episodes=16, keep_every=1, **NEVER)


def run_of(folder: Path, plan: str = "prior", **options: Any) -> Run:
    world = Swing()
    parts = {name: options.pop(name) for name in ("start", "threads") if name in options}
    return Run(
        folder=folder,
        world=world,
        plan=plan_named(plan, world.space),
        settings=replace(QUICK, **options),
        **{"threads": 1, **parts},
    )


def steps(updates: int) -> int:
    return updates * QUICK.update


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def last_look(folder: Path) -> int:
    return [line["update"] for line in metrics(folder) if "success/look" in line][-1]


def scalars(folder: Path, name: str) -> dict[int, float]:
    """What TensorBoard shows of one curve: value by step."""
    board = EventAccumulator(str(folder / "logs"))
    board.Reload()
    return {event.step: event.value for event in board.Scalars(name)}
