"""Loops that are killed at a random moment and gone on with: do they come to the same numbers?

Each run has a folder of its own, its starting policy included, so that a kill may fall anywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Effort, Measure, Target
from trueup.loop import Journal

KILLS = 20
_RUN = ("run", "so101/reach", "--reality", "slow-bus", "--small", "--insist", "--out", "run")
_NUMBERS = {
    "before/result.json": ("success", "outcomes"),
    "after/result.json": ("success", "outcomes"),
    "narrow/space.json": (),
}
"""What is compared of each: some of it, or all; how long things took is never the same."""


def measure(effort: Effort) -> list[Measure]:
    out = effort.out / "loop-kills"
    began = time.perf_counter()
    wanted = _numbers(_finished(out / "undisturbed"))
    whole_s = max(time.perf_counter() - began, 1.0)
    kills = 3 if effort.quick else KILLS
    moments = np.random.default_rng(0).uniform(0.02, 0.98, kills)
    where: list[str] = []
    same = 0
    for k, moment in enumerate(moments):
        folder = out / f"killed-{k}"
        where.append(_killed(folder, moment * whole_s))
        same += _numbers(_finished(folder)) == wanted
        shutil.rmtree(folder)
    shutil.rmtree(out / "undisturbed")
    hit = ", ".join(f"{where.count(name)} in {name}" for name in dict.fromkeys(where))
    return [
        Measure(
            what="loops that came to other numbers, or none, after SIGKILL",
            value=kills - same,
            target=Target(side="≤", value=0),
            note=f"{kills} kills: {hit}; sim-to-sim",
        )
    ]


def _started(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "trueup", *_RUN],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _finished(folder: Path) -> Path:
    """The run folder, after the run came to its end."""
    if _started(folder).wait() != 0:
        print(f"The run in {folder} failed.", file=sys.stderr)
    return folder / "run"


def _killed(folder: Path, after_s: float) -> str:
    """Begin a run and kill it, its robot included; in which stage it was."""
    process = _started(folder)
    try:
        process.wait(timeout=after_s)
        return "the end"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not (folder / "run" / "journal.json").exists():
        return "the beginning"
    stages = Journal.load(folder / "run").stages
    return next((name for name, e in stages.items() if e.state == "running"), "between stages")


def _numbers(run: Path) -> dict[str, Any]:
    """What a run found, without how long it took."""
    if not (run / "journal.json").exists():
        return {}
    stages = Journal.load(run).stages
    found: dict[str, Any] = {n: e.found for n, e in stages.items() if n != "report"}
    for name, keys in _NUMBERS.items():
        path = run / name
        read = json.loads(path.read_text()) if path.exists() else {}
        found[name] = {key: read.get(key) for key in keys} if keys else read
    return found
