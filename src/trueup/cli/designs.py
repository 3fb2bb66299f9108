"""A design for the command line: made for a robot, told before anything moves."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trueup.cli import show
from trueup.hardware import Robot
from trueup.identify import Estimate
from trueup.identify.design import Design, designed
from trueup.record import Body
from trueup.worlds import World

SECONDS = 20.0
"""How long a design takes where nothing else is asked for."""


def made(
    world: World,
    estimate: Path,
    *,
    robot: Robot | None,
    seconds: float | None,
    joints: tuple[str, ...],
    seeds: np.ndarray,
    objects: Mapping[str, np.ndarray],
    rate_hz: float | None,
    quiet: bool,
) -> Design:
    """What to record with a robot, or with the model's where there is none."""
    body, period_s = Body.of(world), 1.0 / rate_hz if rate_hz else world.control_period_s
    if robot is not None:
        body = body.fitted(robot.interface, name=robot.name)
        period_s = robot.interface.period_s
        objects = {**_seen(robot, world, seeds), **objects}
    return designed(
        world,
        Estimate.load(estimate),
        seconds=SECONDS if seconds is None else seconds,
        generator=np.random.default_rng(seeds[0]),
        body=body,
        period_s=period_s,
        joints=joints,
        objects=objects,
        on_progress=None if quiet else lambda line: print(line, file=sys.stderr, flush=True),
    )


def print_design(design: Design) -> None:
    """What will be done and why, for people."""
    for number, choice in enumerate(design.choices, 1):
        show.say(f"{number}. {choice.seconds:.1f} s of {choice}.")
    if design.helps:
        show.say(
            f"\nExpected of {design.seconds:.1f} s, ways included: intervals "
            f"{design.narrowing:.2g} times narrower in the mean; by a chirp of equal length "
            f"{design.chirp_narrowing:.2g} times."
        )
    else:
        show.say("No motion that was tried would narrow this estimate.")
    for sentence in design.untold:
        show.say(sentence)
    show.console().print()


def _seen(robot: Robot, world: World, seeds: np.ndarray) -> dict[str, np.ndarray]:
    """Poses (7,) of things that the robot sees, in its first cell."""
    names = {feature.name for feature in robot.interface.observations}
    things = [name.removesuffix("_orientation") for name in names if name.endswith("_orientation")]
    things = [t for t in things if f"{t}_position" in names and _is_body(world, t)]
    if not things:
        return {}
    if robot.kind == "rehearsal":
        robot.reset(seeds)
    seen = robot.observe()
    return {
        thing: np.concatenate([seen[f"{thing}_position"][0], seen[f"{thing}_orientation"][0]])
        for thing in things
    }


def _is_body(world: World, name: str) -> bool:
    return name in {world.model.body(i).name for i in range(world.model.nbody)}
