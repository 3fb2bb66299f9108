"""How long the command line takes until it answers, beside a bare Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.measure import Effort, Measure, Target, Turns

_WHAT = "`trueup --help`"


def measure(effort: Effort) -> list[Measure]:
    command = [str(Path(sys.executable).with_name("trueup")), "--help"]
    tried = _run(command)
    if tried is None or tried.returncode:
        reason = "not installed" if tried is None else tried.stderr.strip().splitlines()[-1]
        return [Measure(what=_WHAT, value=None, note=f"the command does not run: {reason}")]
    sides = {"help": command, "python": [sys.executable, "-c", "pass"]}
    turns = Turns()
    for _ in range(effort.turns(20)):
        for name, line in sides.items():
            with turns.of(name):
                _run(line)
        turns.end()
    python = float(np.median(turns.seconds("python")))
    return [
        Measure.of(
            _WHAT,
            turns.seconds("help"),
            unit="s",
            target=Target(side="<", value=0.5),
            note=f"a bare Python takes {python:.3f} s",
            details={"python_s": python},
        )
    ]


def _run(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
