"""Where two engines disagree when all their parameters are equal: MuJoCo and PyBullet.

The same arm, servos, objects and commands in both: a free motion, a push, and the scripted lift.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Effort, Measure
from trueup.hardware.bullet import BulletWorlds
from trueup.simulate import CpuWorlds
from trueup.space import Points, Space
from trueup.worlds import Compiled, World, get
from trueup.worlds.scripted import ScriptedLift
from trueup.worlds.so101 import JOINTS

_NOWHERE = Space(())
_BESIDE_M = 0.032  # from the cube's middle to the hand's, on its left
_SWEEP_RAD = 0.3


def measure(effort: Effort) -> list[Measure]:
    n = 8 if effort.quick else 32
    return [*_free_motion(n), *_push(n), *_lift(n)]


def opened(world: World, n: int) -> dict[str, CpuWorlds]:
    """The same n episodes in both engines, begun."""
    both = {
        "MuJoCo": CpuWorlds(Compiled(world, _NOWHERE), n, threads=1),
        "PyBullet": BulletWorlds(Compiled(world, _NOWHERE), n, threads=1),
    }
    for worlds in both.values():
        worlds.reset(Points((), np.zeros((n, 0))), np.arange(n))
    return both


def _free_motion(n: int) -> list[Measure]:
    both = opened(get("so101/arm"), n)
    generator, hold = np.random.default_rng(0), both["MuJoCo"].hold
    rate, phase = generator.uniform(1.0, 6.0, hold.shape), generator.uniform(0.0, 6.3, hold.shape)
    apart = []
    for k in range(100):
        command = hold + 0.3 * (np.sin(rate * 0.04 * k + phase) - np.sin(phase))
        seen = [w.step(command).observation["joint_position"] for w in both.values()]
        apart.append(seen[1] - seen[0])
    rmse = np.sqrt(np.mean(np.square(apart), axis=(0, 1)))
    return [
        Measure(
            what="joint positions of MuJoCo and PyBullet apart, free motion of 4 s, RMSE",
            value=float(np.sqrt(np.mean(rmse**2))),
            unit="rad",
            spread=(float(rmse.min()), float(rmse.max())),
            note=", ".join(f"{j} {1e3 * e:.2f} mrad" for j, e in zip(JOINTS, rmse, strict=True)),
        )
    ]


def _push(n: int) -> list[Measure]:
    world = get("so101/push")
    both = opened(world, n)
    moved = {name: _pushed(world, worlds) for name, worlds in both.items()}
    apart = np.linalg.norm(moved["PyBullet"] - moved["MuJoCo"], axis=1)
    lengths = {name: np.linalg.norm(way, axis=1) for name, way in moved.items()}
    return [
        Measure.of(
            "places of a cube apart after a push, MuJoCo and PyBullet",
            1e3 * apart,
            unit="mm",
            note=", ".join(
                f"{name} moved it {1e3 * np.median(x):.0f} mm" for name, x in lengths.items()
            ),
            details={name: x.tolist() for name, x in lengths.items()},
        )
    ]


def _pushed(world: World, worlds: CpuWorlds) -> np.ndarray:
    """(n, 2) how far a cube went when a shut hand beside it swept towards it."""
    seen = worlds.observation
    cube = seen["cube_position"]
    radius = np.linalg.norm(cube[:, :2], axis=1, keepdims=True)
    left = np.stack([-cube[:, 1], cube[:, 0]], axis=1) / radius
    beside = cube.copy()
    beside[:, :2] += _BESIDE_M * left
    hand = ScriptedLift(world, {**seen, "cube_position": beside})
    for k in range(100):
        command = hand(min(k, 36), seen)
        command[:, 5] = 0.0
        sweep = np.clip((k - 45) / 40.0, 0.0, 1.0)
        command[:, 0] += _SWEEP_RAD * sweep
        worlds.step(command)
    return worlds.truth["truth/cube_position"][:, :2] - cube[:, :2]


def _lift(n: int) -> list[Measure]:
    world = get("so101/lift")
    found = []
    for name, worlds in opened(world, n).items():
        hand = ScriptedLift(world, worlds.observation)
        lifted, grip = np.zeros(n, bool), np.zeros(n)
        for k in range(100):
            step = worlds.step(hand(k, worlds.observation))
            lifted |= step.success
        grip = np.linalg.norm(step.privileged["grip_force"][:, :3], axis=1)
        found.append(
            Measure(
                what=f"cubes that the script lifts, {name}",
                value=100.0 * float(lifted.mean()),
                unit="%",
                note=f"{lifted.sum()} of {n}; grip {np.median(grip):.1f} N in the median",
            )
        )
    return found
