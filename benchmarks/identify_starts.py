"""Do several starts find the bottom, where the landscape is rough, or does it take a global search?

A delay shows nothing until it passes a physics step, backlash and stiction begin at nothing and act
in jumps. Robots with one of them planted anywhere between its bounds are fitted from several starts
alone, the way identification does it, and by scipy's differential evolution over the whole space
with a descent after it. The bottom is the lowest point that any of them reaches, or a descent from
the truth itself. Sim-to-sim.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution

from benchmarks.hidden_robots import WORLD, HiddenRobot, recorded
from benchmarks.measure import Effort, Measure, Target
from trueup.identify.cutting import shortened
from trueup.identify.fitting import fitted, gone_on
from trueup.identify.problem import Problem
from trueup.space import Space
from trueup.worlds import get

_JOINT = "actuation/elbow_flex"
_USUAL = tuple(f"{_JOINT}/{kind}" for kind in ("kp", "damping", "frictionloss"))
_ROUGH = {
    "delay": {"latency/action_delay": (0.005, 0.14)},
    "backlash": {f"{_JOINT}/backlash": (0.003, 0.05)},
    "stiction": {
        f"{_JOINT}/stribeck_torque": (0.03, 0.25),
        f"{_JOINT}/rest_friction": (0.02, 0.3),
    },
}
_SAID = {
    "starts": "a descent from several starts",
    "identify": "identification",
    "global": "differential evolution of everything",
}
_ROBOTS, _FEW = 6, 2
_SECONDS = 8.0
_ROUNDS, _CROWD = 12, 8  # of the global search: generations, and points for each parameter
_BOTTOM = 1.02  # times the lowest misfit: as good as there


def measure(effort: Effort) -> list[Measure]:
    robots = _FEW if effort.quick else _ROBOTS
    lines = []
    for kind in _ROUGH:
        rows = [_row(kind, number) for number in range(robots)]
        lines += _lines(kind, rows)
    return lines


def _row(kind: str, number: int) -> dict[str, Any]:
    """Misfit over that of the bottom, and seconds, of both ways to one robot."""
    world = get(WORLD)
    space = world.catalogue.select(*_USUAL, *_ROUGH[kind])
    generator = np.random.default_rng([570_000, number])
    truth = dict(next(iter(space.sample(generator, 1))))
    truth |= {name: float(generator.uniform(*ends)) for name, ends in _ROUGH[kind].items()}
    robot = HiddenRobot(number=number, truth=truth)
    episodes = [shortened(episode, _SECONDS) for episode in recorded(robot)]
    found = {}
    for name, way in _WAYS.items():
        began = perf_counter()
        u = way(Problem(world, episodes, space))
        found[name] = {"seconds": perf_counter() - began, "u": u}
    at = space.encode(space.point(truth))[0]
    there = gone_on(Problem(world, episodes, space), at, _silent).u
    every = np.stack([*(way["u"] for way in found.values()), there])
    misfit = np.sqrt((Problem(world, episodes, space).residual(every).values ** 2).mean(axis=1))
    for name, size in zip(found, misfit, strict=False):
        found[name] = {"seconds": found[name]["seconds"], "times": float(size / misfit.min())}
    told = {name: f"{way['times']:.3f} in {way['seconds']:.0f} s" for name, way in found.items()}
    print(f"{kind} {number}: {told}", file=sys.stderr, flush=True)
    return found


def _from_starts(problem: Problem) -> np.ndarray:
    return fitted(problem, _silent, search=False).u


def _as_identified(problem: Problem) -> np.ndarray:
    return fitted(problem, _silent).u


def _globally(problem: Problem) -> np.ndarray:
    """Differential evolution, each generation one batch of replays, and a descent from its best."""
    found = differential_evolution(
        lambda u: (problem.residual(np.atleast_2d(u.T)).values ** 2).mean(axis=1),
        [(0.0, 1.0)] * len(problem.space),
        maxiter=_ROUNDS,
        popsize=_CROWD,
        tol=0.0,
        polish=False,
        vectorized=True,
        updating="deferred",
        x0=_nominal(problem.space),
        rng=np.random.default_rng(0),
    )
    return gone_on(problem, found.x, _silent).u


_WAYS = {"starts": _from_starts, "identify": _as_identified, "global": _globally}


def _nominal(space: Space) -> np.ndarray:
    return space.encode(space.nominal())[0]


def _lines(kind: str, rows: list[dict[str, Any]]) -> list[Measure]:
    lines = []
    for name, what in _SAID.items():
        times = np.array([row[name]["times"] for row in rows])
        seconds = np.median([row[name]["seconds"] for row in rows])
        lines.append(
            Measure(
                what=f"planted {kind}: robots in which {what} gets to the bottom",
                value=100.0 * float((times < _BOTTOM).mean()),
                unit="%",
                target=Target(side="≥", value=95.0) if name == "identify" else None,
                note=f"{len(rows)} robots, worst {times.max():.2f} times the lowest misfit; "
                f"{seconds:.0f} s each; sim-to-sim",
                details={"times": times.tolist()},
            )
        )
    return lines


def _silent(line: str) -> None:
    """Nobody is told how it stands."""
