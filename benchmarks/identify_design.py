"""Designed motions against a fixed chirp of equal seconds: which leaves less to doubt?

Hidden robots are drawn from a space. Each is first recorded for a few seconds and identified. From
that estimate motions are designed. The robot then plays these, and, in the same time with all ways
counted, the chirp of the library. Both recordings are fitted in the same way, each together with
the first. A smaller posterior volume wins. Sim-to-sim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.hidden_robots import PERIOD_S, WORLD, hidden_robot, recorded
from benchmarks.measure import Effort, Measure, Target
from trueup.episodes import Episode
from trueup.identify import identify
from trueup.identify.design import designed
from trueup.identify.design.safety import Safety
from trueup.identify.problem import Problem
from trueup.identify.target import prior_spread
from trueup.record import Body, Excitation, Motion, Series
from trueup.record import get as get_motions
from trueup.space import Point, Space
from trueup.worlds import World, get

_ROBOTS = 20
_FIRST_S, _FIRST_SIZE, _SECONDS = 3.0, 0.4, 10.0
_JOINTS = ("shoulder_lift", "elbow_flex", "wrist_flex")
_STEPS = 3  # of a fit that begins near its end
_FAR = 6.0  # of the usual residual: from there on a reading counts less
_KINDS = ("kp", "damping", "frictionloss", "armature")


def measure(effort: Effort) -> list[Measure]:
    world = get(WORLD)
    names = [f"actuation/{joint}/{kind}" for joint in _JOINTS for kind in _KINDS]
    space = world.catalogue.select(*names, "latency/action_delay")
    rows = [_compared(world, space, number) for number in range(4 if effort.quick else _ROBOTS)]
    note = f"sim-to-sim, {len(rows)} hidden robots, {len(space)} parameters"
    found = []
    for column, chirp in enumerate(("chirp of equal seconds", "chirp whose ways count nothing")):
        ahead = np.array([row[column] for row in rows])
        found += [
            Measure(
                what=f"robots that {_SECONDS:g} designed seconds know better than a {chirp}",
                value=100.0 * float((ahead > 0).mean()),
                unit="%",
                target=Target(side="≥", value=80.0) if column == 0 else None,
                note=note,
                details={"log_volume_ahead": ahead.tolist()},
            ),
            Measure.of(
                f"how many times narrower intervals are than by a {chirp}",
                np.exp(ahead / len(space)),
                note="geometric mean over the parameters, sim-to-sim",
            ),
        ]
    return found


def _compared(world: World, space: Space, number: int) -> tuple[float, float]:
    """How much smaller the logarithm of the volume is by design than by either chirp.

    One chirp takes as long as the design with the way there and back, the other without.
    """
    robot = hidden_robot(space, number)
    start = replace(_usual("multisine"), duration_s=_FIRST_S, lines=1).scaled(_FIRST_SIZE)
    first = recorded(robot, _only(start))
    estimate = identify(world, first, space, threads=1)
    design = designed(
        world,
        estimate,
        seconds=_SECONDS,
        generator=np.random.default_rng(number),
        period_s=PERIOD_S,
        rounds=1,
        threads=1,
    )
    chirps = (_chirp(world, _SECONDS - _ways_s(world)), _chirp(world, _SECONDS))
    volumes = [
        _volume(world, space, [*first, *recorded(robot, motions)], estimate.point)
        for motions in (design.series, *map(_only, chirps))
    ]
    return volumes[1] - volumes[0], volumes[2] - volumes[0]


def _usual(name: str) -> Excitation:
    (motion,) = get_motions(name).motions
    assert isinstance(motion, Excitation)
    return motion


def _chirp(world: World, seconds: float) -> Motion:
    """The chirp of the library that lasts so long, as large as is safe."""
    chirp = replace(_usual("chirp"), duration_s=round(seconds, 2))
    fitted = Safety(world, Body.of(world), PERIOD_S).fitted(chirp)
    assert fitted is not None
    return fitted


def _ways_s(world: World) -> float:
    """How long it takes from the ready pose to where that chirp begins, and back."""
    body = Body.of(world)
    centre = np.array(_usual("chirp").center_rad)
    return 2.0 * Safety(world, body, PERIOD_S).way_s(np.array(body.ready), centre)


def _only(motion: Motion) -> Series:
    return Series(motions=(motion,))


def _volume(world: World, space: Space, episodes: Sequence[Episode], start: Point) -> float:
    """Logarithm of the volume of the posterior that all these episodes leave together.

    Laplace's, at the best fit: Gauss-Newton from the first estimate, with the prior. Nothing is
    kept out, so that both sides use all of their seconds. An arm that still swings when a motion
    begins is not where it was read; readings that lie far outside count less.
    """
    problem = Problem(world, episodes, space, threads=1)
    centre, prior = space.encode(space.nominal())[0], np.diag(1.0 / prior_spread(space) ** 2)
    u, precision = space.encode(space.point(start))[0], prior
    for _ in range(_STEPS):
        here, slopes = problem.jacobian(u)
        r = here.values[0]
        columns = [np.abs(r[here.column == c]) for c in range(len(problem.columns))]
        noise = np.array([1.4826 * np.median(sizes) for sizes in columns])[here.column]
        weight = 1.0 / (noise**2 + (r / _FAR) ** 2)
        precision = (slopes * weight[:, None]).T @ slopes + prior
        step = np.linalg.solve(precision, slopes.T @ (weight * r) + prior @ (u - centre))
        u = np.clip(u - step, 0.0, 1.0)
    return -0.5 * float(np.linalg.slogdet(precision)[1])
