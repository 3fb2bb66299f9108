"""Slopes by forward mode through MJX, beside finite differences on `mujoco.batch`.

The same problem for both: gain, damping, friction and armature of six joints, eight seconds of a
simulated arm in windows of half a second, double precision. All windows and parameters go through
MJX side by side, which is its best case on a CPU. What slopes should be is taken from central
differences in small steps. Compilation counts apart: a fit pays it once for each shape of data.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.measure import Effort, Measure, Turns
from trueup import worlds
from trueup.episodes import Episode, Take
from trueup.errors import TrueupError
from trueup.identify.gradients import MjxProblem
from trueup.identify.problem import Problem
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.worlds import Compiled, World

_WORLD = "so101/arm"
_FREE = ("kp", "damping", "frictionloss", "armature")
_SECONDS, _WINDOW_S = 8.0, 0.5
_FINE = 1e-4  # of the unit cube
_WHAT = "slopes of 24 parameters, 8 s in windows of 0.5 s"


def measure(effort: Effort) -> list[Measure]:
    world = worlds.get(_WORLD)
    space = world.catalogue.select(*(f"actuation/*/{quantity}" for quantity in _FREE))
    episodes = [_swung(world)]
    u = np.random.default_rng(0).uniform(0.4, 0.6, len(space))
    differences = Problem(world, episodes, space, window_s=_WINDOW_S)
    begin = time.perf_counter()
    try:
        derivatives = MjxProblem(world, episodes, space, window_s=_WINDOW_S)
    except TrueupError as error:
        return [
            Measure(what=f"{_WHAT}, MJX against finite differences", value=None, note=error.what)
        ]
    ours, found = differences.jacobian(u)[1], derivatives.jacobian(u)[1]
    first_s, turns = time.perf_counter() - begin, Turns()
    if derivatives.notes:
        raise TrueupError(derivatives.notes[0])
    for _ in range(effort.turns(5)):
        with turns.of("finite differences"):
            differences.jacobian(u, exact=True)
        with turns.of("mjx"):
            derivatives.jacobian(u)
        turns.end()
    return _lines(turns, first_s, _apart(found, ours, _central(differences, u)), space)


def _swung(world: World) -> Episode:
    """Smooth swings of all joints in free air, at the nominal point."""
    simulated = CpuWorlds(Compiled(world, Space(())), 1)
    simulated.reset(Space(()).point(), seeds=0)
    take = Take(world.control_period_s, origin={"real": False, "world": world.name})
    for name, unit in (("command", "rad"), ("joint_position", "rad"), ("joint_velocity", "rad/s")):
        take.declare(name, unit, world.commands)
    home, rate = simulated.hold[0], 2.0 * np.pi * np.array([0.5, 0.7, 0.9, 1.1, 1.3, 0.6])
    for _ in range(round(_SECONDS / world.control_period_s)):
        now = float(simulated.time_s[0])
        for name in ("joint_position", "joint_velocity"):
            take.add(name, now, simulated.observation[name][0])
        command = home + 0.25 * np.sin(rate * now)
        take.add("command", now, command)
        simulated.step(command[None])
    return take.episode()


def _central(problem: Problem, u: np.ndarray) -> np.ndarray:
    """(N, d) slopes by central differences in small steps."""
    steps = _FINE * np.eye(len(u))
    above, below = problem.residual(u + steps).values, problem.residual(u - steps).values
    return (above - below).T / (2.0 * _FINE)


def _apart(found: np.ndarray, ours: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """(d,) how far slopes are from what they should be, as a share of their size."""
    size = np.sqrt((right**2).mean(axis=0))
    return {
        "mjx": np.sqrt(((found - right) ** 2).mean(axis=0)) / size,
        "finite differences": np.sqrt(((ours - right) ** 2).mean(axis=0)) / size,
    }


def _lines(
    turns: Turns, first_s: float, apart: dict[str, np.ndarray], space: Space
) -> list[Measure]:
    seconds = {side: np.median(turns.seconds(side)) for side in ("mjx", "finite differences")}
    cores = {side: turns.cores(side) for side in seconds}
    return [
        Measure.of(
            f"{_WHAT}: time of MJX on the CPU over that of finite differences, once compiled",
            turns.ratio("mjx", "finite differences"),
            unit="×",
            note="{:.2f} against {:.3f} s; got {:.2f} and {:.2f} cores".format(
                *seconds.values(), *cores.values()
            ),
        ),
        Measure(
            what=f"{_WHAT}: the first ones by MJX, compilation included",
            value=first_s,
            unit="s",
            note=f"as long as {first_s / seconds['finite differences']:,.0f} by finite differences",
        ),
        *(
            Measure.of(
                f"{_WHAT}: {side}, distance from central differences in steps of 1e-4",
                100.0 * values,
                unit="%",
                note=f"most: {100.0 * values.max():.2g} % in {space.names[int(values.argmax())]}",
                details=dict(zip(space.names, values.tolist(), strict=True)),
            )
            for side, values in apart.items()
        ),
    ]
