"""Memory that one more world costs, and whether it grows while episodes are played.

Each number comes from a fresh process, which runs this module and prints what it holds.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import psutil

from benchmarks.measure import Effort, Measure, Target
from benchmarks.workload import Commands, randomized, spaces

_FEW, _MANY = 512, 4096
_PLAYED, _EPISODES = 256, 5
_SETTLED_STEPS = 5  # after these every buffer is in use


def measure(effort: Effort) -> list[Measure]:
    names = ("nominal", "default space", "whole catalogue")
    slopes = [_slope(name) for name in names]
    episodes = 2 if effort.quick else _EPISODES
    first, last = _probe("default space", _PLAYED, episodes)
    growth = Measure(
        what=f"resident memory after {episodes} episodes against after 1, {_PLAYED} worlds",
        value=last / first,
        unit="×",
        target=Target(side="<", value=1.02),
        note=f"{first / 2**20:.1f} MiB, then {last / 2**20:.1f} MiB",
        details={"worlds": _PLAYED, "bytes": [first, last]},
    )
    return [*slopes, growth]


def _slope(name: str) -> Measure:
    few, many = (_probe(name, n, 0)[0] for n in (_FEW, _MANY))
    return Measure(
        what=f"memory per additional world, {name}",
        value=(many - few) / (_MANY - _FEW) / 1024,
        unit="KiB",
        note=f"{few / 2**20:.0f} MiB with {_FEW}, {many / 2**20:.0f} MiB with {_MANY:,} worlds",
        details={"bytes": {_FEW: few, _MANY: many}},
    )


def _probe(name: str, n: int, episodes: int) -> tuple[int, int]:
    """Resident bytes of a fresh process: at first (after one episode, if any), and at the end."""
    arguments = [sys.executable, "-m", "benchmarks.memory", name, str(n), str(episodes)]
    done = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
    return tuple(json.loads(done.stdout))


def _hold(name: str, n: int, episodes: int) -> list[int]:
    space = spaces()["default space"].pinned() if name == "nominal" else spaces()[name]
    worlds, generator = randomized(space, n), np.random.default_rng(4)
    commands = Commands(worlds)
    steps = round(worlds.world.episode_s / worlds.world.control_period_s)
    for k in range(_SETTLED_STEPS):
        worlds.step(commands(k))
    held = [_resident()]
    for _ in range(episodes):
        worlds.resample(generator)
        for k in range(steps):
            worlds.step(commands(k))
        held.append(_resident())
    return [held[min(1, episodes)], held[-1]]


def _resident() -> int:
    return psutil.Process().memory_info().rss


if __name__ == "__main__":
    print(json.dumps(_hold(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
