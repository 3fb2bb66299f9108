"""Where a control step's time goes: in MuJoCo, or in Python around it.

The share outside MuJoCo is timed; which function it goes to is profiled in a separate pass, since a
profiler slows what it watches.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from pathlib import Path

import numpy as np

import trueup
from benchmarks.measure import Effort, Measure
from benchmarks.new_points import timed_calls
from benchmarks.workload import Commands, randomized, spaces
from trueup.simulate import CpuWorlds
from trueup.space import Space

_PACKAGE = Path(trueup.__file__).parent
_SHOWN = 4


def measure(effort: Effort) -> list[Measure]:
    return [_line(name, space, effort) for name, space in spaces().items()]


def _line(name: str, space: Space, effort: Effort) -> Measure:
    worlds = randomized(space, effort.worlds)
    commands = Commands(worlds)
    shares, outside_s = [], []
    for k in range(effort.turns(30)):
        action = commands(k)
        with timed_calls("step") as spent:
            start = time.perf_counter()
            worlds.step(action)
            whole_s = time.perf_counter() - start
        outside_s.append(whole_s - spent["step"])
        shares.append(100.0 * outside_s[-1] / whole_s)
    parts = _profile(worlds, commands, steps=effort.turns(30))
    largest = list(parts.items())[:_SHOWN]
    return Measure.of(
        f"share of a control step outside MuJoCo, {name}",
        shares,
        unit="%",
        note=f"{1e3 * np.median(outside_s):.2f} ms; of that "
        + ", ".join(f"{part} {share:.0f} %" for part, share in largest),
        details={"worlds": effort.worlds, "parts_percent": parts},
    )


def _profile(worlds: CpuWorlds, commands: Commands, *, steps: int) -> dict[str, float]:
    """Percent of the time outside MuJoCo that each of our functions takes.

    A function's time holds that of numpy and of whatever else it calls outside the package.
    """
    profile = cProfile.Profile()
    for k in range(steps):
        action = commands(k)
        profile.enable()
        worlds.step(action)
        profile.disable()
    stats: dict = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    own = {where: s for where, s in stats.items() if Path(where[0]).is_relative_to(_PACKAGE)}
    parts: dict[str, float] = {}
    for where, (_, _, alone, _, _) in own.items():
        parts[_label(where)] = parts.get(_label(where), 0.0) + alone
    for where, (_, _, _, _, callers) in stats.items():
        if where in own or "_batch" in where[2]:
            continue
        for caller, (_, _, _, cumulative) in callers.items():
            if caller in own:
                parts[_label(caller)] += cumulative
    inside = sum(s[3] for where, s in stats.items() if "_batch.step" in where[2])
    advance = next(label for label in parts if label.endswith("_failures"))
    parts[advance] = max(parts[advance] - inside, 0.0)
    total = sum(parts.values())
    shares = {part: 100.0 * seconds / total for part, seconds in parts.items()}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _label(where: tuple[str, int, str]) -> str:
    file, line, function = where
    return f"{Path(file).relative_to(_PACKAGE).with_suffix('')}:{line} {function}"
