"""Rehearsal robots whose truth is drawn from a space, and what identification gets to see of them.

Each is a process of its own with its own reality file. It is recorded as any robot is, for less
than 30 s at 50 Hz, through the encoders of an SO-101: ticks of 2π/4096 and some white noise.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.hardware import open_robot
from trueup.record import Excitation, Series, record
from trueup.record import get as get_motions
from trueup.space import Space
from trueup.worlds import World, get

WORLD = "so101/arm"
PERIOD_S = 0.02
QUANTUM_RAD, NOISE_RAD = 2.0 * np.pi / 4096, 5e-4
_WAVE_S = 23.0  # and 6.6 s for the way there and back
_ARM = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")

BEYOND: tuple[dict[str, Any], ...] = (
    {"effect": "cable_drag", "joints": "shoulder_lift", "tied_rad": 0.3, "pull": 0.8},
    {"effect": "friction_law", "joints": "*", "square": 0.3},
    {"effect": "friction_law", "joints": "elbow_flex", "creep_torque": 0.2, "creep_rad": 0.05},
    {"effect": "gear_ripple", "joints": "*", "torque": 0.1, "teeth": 24},
    {"effect": "thermal_fade", "loss": 0.3, "minutes": 0.5},
    {"effect": "bus_hiccups", "per_minute": 12.0, "shortest_s": 0.06, "longest_s": 0.2},
    {"effect": "wobbly_mount", "stiffness": 12.0},
)
"""Effects outside the space, of the strength that the shipped realities have."""


@dataclass(frozen=True, kw_only=True)
class HiddenRobot:
    """What a robot really is.

    Attributes:
        number: Which; its truth follows from it.
        truth: Values of the space's parameters.
        beyond: An effect outside the space, or none.
        read: What its other sensors add to what they read; nothing by default.
    """

    number: int
    truth: Mapping[str, float]
    beyond: Mapping[str, Any] | None = None
    read: Mapping[str, float] = field(default_factory=dict)


def fitted_space(world: World) -> Space:
    """What is free in every fit: gain, damping, friction, armature and zero of the arm, delays.

    Not all of it can be told: the zero of shoulder_pan, which gravity does not load, leaves no
    trace.
    """
    kinds = ("kp", "damping", "frictionloss", "armature", "zero_offset")
    names = [f"actuation/{joint}/{kind}" for joint in _ARM for kind in kinds]
    return world.catalogue.select(*names, "latency/action_delay", "latency/encoder_delay")


def hidden_robot(space: Space, number: int, *, beyond: bool = False) -> HiddenRobot:
    """The robot of a number: drawn from the space, with an effect outside it if asked."""
    generator = np.random.default_rng([550_000, number])
    truth = dict(next(iter(space.sample(generator, 1))))
    hidden = BEYOND[number % len(BEYOND)] if beyond else None
    return HiddenRobot(number=number, truth=truth, beyond=hidden)


def recorded(robot: HiddenRobot, motions: Series | None = None) -> list[Episode]:
    """What the robot shows of itself in one multisine, or in other motions."""
    world = get(WORLD)
    chosen: Sequence[Any] = (motions or get_motions("multisine")).motions
    if motions is None:
        chosen = [replace(m, duration_s=_WAVE_S) for m in chosen if isinstance(m, Excitation)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reality.json"
        file.write_text(json.dumps(_reality(robot)), encoding="utf-8")
        address = f"rehearsal:{file}@{WORLD}"
        with open_robot(address, period_s=PERIOD_S, threads=1) as body:
            seeds = np.array([robot.number], np.uint64)
            return list(record(body, chosen, world=world, seeds=seeds).episodes)


def _reality(robot: HiddenRobot) -> dict[str, Any]:
    sensing = {"sensing/encoder/quantum": QUANTUM_RAD, "sensing/encoder/noise": NOISE_RAD}
    return {
        "trueup_reality": 1,
        "story": f"Hidden robot {robot.number}.",
        "world": WORLD,
        "values": {**robot.truth, **sensing, **robot.read},
        "beyond": [dict(robot.beyond)] if robot.beyond else [],
    }
