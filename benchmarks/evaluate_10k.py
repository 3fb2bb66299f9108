"""`trueup evaluate POLICY --points 10000` as its user runs it: wall time and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Effort, Measure, Target
from benchmarks.workload import WORLD
from trueup.errors import TrueupError

_POINTS = 10_000
_LIMIT_S = 240.0


def measure(effort: Effort) -> list[Measure]:
    points = _POINTS // 10 if effort.quick else _POINTS
    command = [
        str(Path(sys.executable).with_name("trueup")),
        *("evaluate", effort.policy, f"--points={points}", f"--world={WORLD}", "--json"),
    ]
    seconds, usage, result = _run(command)
    speed = result["speed"]
    cores = (usage.ru_utime + usage.ru_stime) / seconds
    what = f"`trueup evaluate {_short(effort.policy)} --points {points}` on {WORLD}"
    kept = ("success_share", "success_interval_95", "speed", "peak_memory_mib", "versions")
    details = {"policy": effort.policy, "points": points, **{name: result[name] for name in kept}}
    return [
        Measure(
            what=what,
            value=seconds,
            unit="s",
            target=Target(side="≤", value=_LIMIT_S) if points == _POINTS else None,
            note=f"{speed['episodes_per_s']:,.0f} episodes/s; success {_share(result)}; "
            f"got {cores:.2f} cores",
            details=details,
        ),
        Measure(
            what="peak memory of that process",
            value=usage.ru_maxrss / 1024,
            unit="MiB",
            details={"kib": usage.ru_maxrss},
        ),
    ]


def _run(command: list[str]) -> tuple[float, Any, dict[str, Any]]:
    """Seconds, resource usage and the printed result of a process of its own."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=errors, text=True)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise TrueupError(
                f"`{' '.join(command)}` ended with {process.returncode}: {errors.read().strip()}",
                fix="Run it by hand, or name another policy with --policy.",
            )
        out.seek(0)
        return seconds, usage, json.load(out)


def _share(result: dict[str, Any]) -> str:
    low, high = result["success_interval_95"]
    return f"{result['success_share']:.1%} ({low:.1%} – {high:.1%})"


def _short(policy: str) -> str:
    return policy if policy == "script" else "POLICY"
