"""Somebody who shows a rehearsal robot how it is done. All of it is sim-to-sim.

The scripted expert with the eyes of an operator: it knows where the object really is and closes the
loop on what really happens, as a person who teleoperates does. What is recorded is what the robot
reads and was told, with all that is wrong with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trueup.episodes import Channel, Episode, Outcome
from trueup.generate import Shelf, scripted
from trueup.generate.attempts import Attempts
from trueup.generate.drivers import Expert
from trueup.hardware.reality import Reality
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.space import Points
from trueup.streams import seeds_from
from trueup.worlds import World

_SALT = 4242


def demonstrated(
    world: World, reality: Reality, folder: Path | str, episodes: int, *, seed: int, tries: int
) -> float:
    """Store demonstrations that an operator gave in a reality; the share of tries that succeeded.

    Args:
        world: The world as everybody knows it.
        reality: What it really is.
        folder: A dataset; of the successes, the first are stored.
        episodes: How many.
        seed: Same seed, same demonstrations.
        tries: How often the operator tries.
    """
    cells, rows, commands, seen = performed(world, reality, seed, tries)
    ends = np.array([len(commands) if not o.any() else int(o.argmax()) for o in rows.T])
    won = np.flatnonzero(cells.success)
    with Shelf(folder, robot_type=world.name.partition("/")[0]) as shelf:
        shelf.add([_episode(world, cells, seen, commands, i, int(ends[i])) for i in won[:episodes]])
    return len(won) / tries


def performed(
    world: World, reality: Reality, seed: int, n: int
) -> tuple[MujocoCells, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """n tries: the cells, (steps, n) whether each was over, commands and readings before it."""
    seeds = seeds_from(np.random.default_rng([seed, _SALT]), n)
    cells = MujocoCells(reality, world, n, threads=1)
    cells.power(True)
    everyone = np.arange(n)
    cells.reset(everyone, seeds)
    worlds = cells._worlds
    expert = Expert(worlds, [scripted(world)], knows="truth")
    points = Points(worlds.space.names, worlds.points)
    expert.begin(everyone, Attempts(numbers=everyone, points=points, seeds=seeds))
    over, told = [], []
    seen: dict[str, list[np.ndarray]] = {name: [] for name in cells.observation}
    command = cells.hold.copy()
    for step in range(world.steps):
        for name, values in cells.observation.items():
            seen[name].append(values.copy())
        wanted = expert.commands(np.full(n, step))
        command = np.where(cells.over[:, None], command, wanted)
        over.append(cells.over.copy())
        told.append(command)
        cells.command(command)
        cells.step()
    return cells, np.array(over), np.array(told), {k: np.array(v) for k, v in seen.items()}


def _episode(
    world: World,
    cells: MujocoCells,
    seen: dict[str, np.ndarray],
    commands: np.ndarray,
    i: int,
    steps: int,
) -> Episode:
    face = cells.interface
    units = {feature.name: feature.unit for feature in face.observations}
    time_s = face.period_s * np.arange(steps)
    parts: dict[str, tuple[np.ndarray, str, tuple[str, ...]]] = {
        name: (values, units[name], tuple(cells.columns[name])) for name, values in seen.items()
    }
    parts["command"] = (commands, face.unit[0], face.commands)
    origin: dict[str, Any] = {
        "robot": world.name.partition("/")[0],
        "kind": "demonstrated",
        "real": False,
        "label": "sim-to-sim",
        "world": world.name,
    }
    return Episode(
        signals={
            name: Channel(
                values=values[:steps, i].astype(np.float32), time_s=time_s, unit=unit, names=names
            )
            for name, (values, unit, names) in parts.items()
        },
        period_s=face.period_s,
        task=world.summary,
        outcome=Outcome.SUCCESS,
        origin=origin,
    )
