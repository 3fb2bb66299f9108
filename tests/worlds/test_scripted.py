"""A script that sees the cube once lifts it in the nominal world, and misses it in others."""

from __future__ import annotations

import numpy as np
import pytest

from trueup import worlds
from trueup.simulate import CpuWorlds, Rollout
from trueup.worlds import Compiled
from trueup.worlds.scripted import ScriptedLift

N = 128


def lifted(values: dict[str, float], n: int = N) -> float:
    """Share of cubes that a script lifts in the nominal world but for some values."""
    world = worlds.get("so101/lift")
    batch = CpuWorlds(Compiled(world), n)
    observation = batch.reset(world.space.point(values), np.arange(n))
    done = Rollout(batch).run(ScriptedLift(world, observation))
    assert not done.diverged.any()
    return float(done.success.mean())


def test_lifts_nearly_every_cube():
    assert lifted({}) >= 0.98


@pytest.mark.parametrize(
    ("values", "at_most"),
    [
        ({"visual/camera/shift_y": 0.03}, 0.5),
        ({"actuation/shoulder_pan/zero_offset": 0.25}, 0.5),
    ],
    ids=["camera moved", "joint off"],
)
def test_fails_where_the_world_is_another(values, at_most):
    assert lifted(values, n=32) <= at_most


def test_commands_are_finite_and_within_limits():
    world = worlds.get("so101/lift")
    batch = CpuWorlds(Compiled(world), 16)
    script = ScriptedLift(world, batch.reset(world.space.nominal(), np.arange(16)))
    low, high = world.model.actuator_ctrlrange.T
    for k in range(150):
        command = script(k, {})
        assert command.shape == (16, 6)
        assert ((command >= low - 1e-9) & (command <= high + 1e-9)).all()


def test_begins_where_the_arm_stands():
    world = worlds.get("so101/lift")
    batch = CpuWorlds(Compiled(world), 4)
    observation = batch.reset(world.space.nominal(), np.arange(4))
    first = ScriptedLift(world, observation)(0, observation)
    assert np.abs(first - observation["joint_position"]).max() < 0.05
