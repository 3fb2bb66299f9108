"""Recordings of an arm whose truth is known."""

import numpy as np

from trueup.episodes import Episode, Take
from trueup.simulate import CpuWorlds
from trueup.worlds import Compiled, get

WORLD = get("so101/arm")
QUANTUM = 2 * np.pi / 4096


def recorded(
    truth: dict[str, float],
    *,
    seconds: float = 12.0,
    seed: int = 0,
    moved_s: float = np.inf,
    quantum: float = QUANTUM,
) -> Episode:
    """A multisine on all joints for so long, read with the encoders of a real SO-101."""
    values = {**truth, "sensing/encoder/quantum": quantum}
    space = WORLD.catalogue.select(*values)
    worlds = CpuWorlds(Compiled(WORLD, space), 1)
    worlds.reset(space.point(values), seeds=seed)
    take = Take(WORLD.control_period_s, origin={"real": False, "world": WORLD.name})
    for name, unit in (
        ("command", "rad"),
        ("joint_position", "rad"),
        ("joint_velocity", "rad/s"),
        ("joint_force", "N·m"),
    ):
        take.declare(name, unit, WORLD.commands)
    generator = np.random.default_rng(seed)
    phase = generator.uniform(0, 2 * np.pi, (6, 5))
    frequency = 2 * np.pi * np.array([0.3, 0.7, 1.3, 2.1, 3.3])
    home = worlds.hold[0]
    for _ in range(round(seconds / WORLD.control_period_s)):
        now = float(worlds.time_s[0])
        for name in ("joint_position", "joint_velocity", "joint_force"):
            take.add(name, now, worlds.observation[name][0])
        told = min(now, moved_s)
        wave = (np.sin(frequency * told + phase) - np.sin(phase)).sum(axis=1)
        command = home + 0.12 * min(1.0, told) * wave
        take.add("command", now, command)
        worlds.step(command[None])
    return take.episode()
