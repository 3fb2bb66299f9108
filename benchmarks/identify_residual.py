"""What a learnt residual brings: on robots with a hidden effect, on clean ones, and in speed.

Every robot is a rehearsal robot whose motions are identified first, so that the residual gets only
what identification leaves. All of it is sim-to-sim.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.hidden_robots import HiddenRobot, recorded
from benchmarks.measure import Effort, Measure, Target, Turns
from benchmarks.workload import Commands
from trueup.identify import identify
from trueup.identify.residual import Lesson, ResidualEffect, learn_residual, world_with
from trueup.identify.residual.effect import SHARE
from trueup.identify.residual.history import OWN
from trueup.identify.residual.network import drawn
from trueup.record import Series
from trueup.record import get as get_motions
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.worlds import Compiled, get

_WORLD = "so101/arm"
_FREE = (
    "actuation/*/kp",
    "actuation/*/damping",
    "actuation/*/frictionloss",
    "latency/action_delay",
)
_HIDDEN: Mapping[str, Mapping[str, Any]] = {
    "gear teeth": {"effect": "gear_ripple", "joints": "*", "torque": 0.1, "teeth": 28},
    "another friction law": {
        "effect": "friction_law",
        "joints": "*",
        "square": 0.3,
        "creep_torque": 0.15,
        "creep_rad": 0.05,
    },
    "a cable": {"effect": "cable_drag", "joints": "shoulder_lift", "tied_rad": 0.3, "pull": 0.8},
}


def measure(effort: Effort) -> list[Measure]:
    kinds = list(_HIDDEN)[:1] if effort.quick else list(_HIDDEN)
    clean = 1 if effort.quick else 4
    return [
        *(_learnt(kind, number) for number, kind in enumerate(kinds)),
        _refused(clean),
        _cost(effort),
    ]


def _learnt(kind: str, number: int) -> Measure:
    lesson, seconds = _lesson(HiddenRobot(number=number, truth={}, beyond=_HIDDEN[kind]))
    found = lesson.judgement
    return Measure.of(
        f"error on unseen motions that a learnt residual takes away, {kind}, after a fit",
        100.0 * found.gains,
        unit="%",
        target=Target(side=">", value=5.0),
        note=f"{'kept' if found.accepted else 'refused'}; from {np.mean(found.plain):.5f} to "
        f"{np.mean(found.corrected):.5f} rad, {seconds:.0f} s to learn",
        details=found.to_json(),
    )


def _refused(robots: int) -> Measure:
    lessons = [_lesson(HiddenRobot(number=10 + k, truth={}))[0] for k in range(robots)]
    return Measure(
        what=f"clean robots whose residual is refused, of {robots}",
        value=float(sum(lesson.residual is None for lesson in lessons)),
        target=Target(side="≥", value=float(robots)),
        details={"gains": [lesson.judgement.gain for lesson in lessons]},
    )


def _lesson(robot: HiddenRobot) -> tuple[Lesson, float]:
    """What is learnt of a robot after it was identified, and the seconds that learning took."""
    world = get(_WORLD)
    standard, steps = get_motions("standard"), get_motions("steps")
    episodes = recorded(robot, Series(name="all", motions=(*standard.motions, *steps.motions)))
    estimate = identify(world, episodes, world.catalogue.select(*_FREE))
    began = time.perf_counter()
    return learn_residual(world, episodes, estimate.point), time.perf_counter() - began


def _cost(effort: Effort) -> Measure:
    """Control steps a second with a residual, as a share of those without."""
    plain = get(_WORLD)
    network = drawn(
        plain.commands,
        np.random.default_rng(0).standard_normal((100, plain.model.nu, OWN + plain.model.nu)),
        np.random.default_rng(0),
    )
    with_it = world_with(plain, ResidualEffect(network=network))
    spaces: Sequence[Space] = (Space(()), with_it.catalogue.select(SHARE))
    sides = {}
    for name, world, space in zip(("plain", "residual"), (plain, with_it), spaces, strict=True):
        worlds = CpuWorlds(Compiled(world, space), effort.worlds, threads=1)
        worlds.reset(space.sample(np.random.default_rng(0), effort.worlds), seeds=0)
        sides[name] = (worlds, Commands(worlds))
    turns = Turns()
    for k in range(effort.turns(15)):
        for name, (worlds, commands) in sides.items():
            with turns.of(name):
                worlds.step(commands(k))
        turns.end()
    return Measure.of(
        f"control steps/s with a residual against without, {effort.worlds:,} worlds, 1 thread",
        turns.ratio("plain", "residual"),
        unit="of plain",
    )
