"""Episodes to replay: simulated ones whose truth is known, and motions of a real arm."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trueup import worlds
from trueup.episodes import Channel, Episode, Take
from trueup.episodes.episode import COMMAND
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.worlds import Compiled, World
from trueup.worlds.scripted import ScriptedLift
from trueup.worlds.so101 import JOINTS

SIGNALS = {"joint_position": "rad", "joint_velocity": "rad/s", "joint_force": "N·m"}
OBJECT = {"true_cube_position": "m", "true_cube_orientation": "1", "true_cube_velocity": "m/s"}
PLACE = ("x", "y", "z")
NAMES = {
    "true_cube_position": PLACE,
    "true_cube_orientation": ("w", *PLACE),
    "true_cube_velocity": PLACE,
}


def stirred(world: World, start: np.ndarray, k: int, *, seed: int = 0) -> np.ndarray:
    """Command k (nu,) of a smooth motion about a pose."""
    generator = np.random.default_rng(seed)
    rate, phase = generator.uniform(1.0, 6.0, start.shape), generator.uniform(0, 6.3, start.shape)
    t = k * world.control_period_s
    return start + 0.3 * (np.sin(rate * t + phase) - np.sin(phase))


def simulated_episode(
    name: str = "so101/arm",
    values: Mapping[str, float] | None = None,
    *,
    seconds: float = 4.0,
    seed: int = 0,
    script: bool = False,
) -> Episode:
    """An episode of a world at a point, recorded as a robot would be: readings, then a command."""
    world, values = worlds.get(name), dict(values or {})
    space = Space(tuple(world.catalogue[n] for n in values))
    batch = CpuWorlds(Compiled(world, space), 1, threads=1)
    batch.reset(space.point(values), seed)
    take = Take(world.control_period_s)
    objects = OBJECT if "cube" in str(world.observations) else {}
    for signal, unit in {COMMAND: "rad", **SIGNALS, **objects}.items():
        take.declare(signal, unit, NAMES.get(signal, JOINTS))
    hand = ScriptedLift(world, batch.observation) if script else None
    start = batch.hold[0]
    for k in range(round(seconds / world.control_period_s)):
        now = float(batch.time_s[0])
        for signal, reading in {**batch.observation, **batch.privileged}.items():
            if signal in SIGNALS or signal in objects:
                take.add(signal, now, reading[0])
        command = stirred(world, start, k) if hand is None else hand(k, batch.observation)[0]
        take.add(COMMAND, now, command)
        batch.step(np.reshape(command, (1, -1)))
    return take.episode()


def real_episode(motion: Path, *, seconds: float) -> Episode:
    """A motion of the real arm; its jaw comes as a share of the model's range."""
    low, high = worlds.get("so101/arm").model.joint("gripper").range

    def read(name: str, column: str, unit: str) -> Channel:
        with gzip.open(motion / name, "rt") as lines:
            rows = list(csv.DictReader(lines))
        time_s = np.array([float(row["timestamp"]) for row in rows]) * 1e-6
        values = np.array([json.loads(row[column]) for row in rows])
        values[:, 5] = low + values[:, 5] * (high - low) if unit == "rad" else np.nan
        kept = time_s < seconds
        return Channel(values=values[kept], time_s=time_s[kept], unit=unit, names=JOINTS)

    return Episode(
        signals={
            COMMAND: read("control.csv.gz", "positions", "rad"),
            "joint_position": read("state_motor.csv.gz", "positions", "rad"),
            "joint_velocity": read("state_motor.csv.gz", "velocities", "rad/s"),
        },
        period_s=0.02,
    )
