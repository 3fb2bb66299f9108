"""Scripted experts: the arm they believe in, and what they do from wherever they are."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np
import pytest

from trueup import worlds
from trueup.errors import TrueupError
from trueup.simulate import CpuWorlds
from trueup.simulate.advice import advised, known
from trueup.worlds import Compiled
from trueup.worlds.scripted_arm import Arm
from trueup.worlds.scripted_expert import Advice, expert_of
from trueup.worlds.so101 import HOME, JOINTS

TASKS = ("so101/push", "so101/lift", "so101/place")


def expert(task: str) -> Advice:
    found = expert_of(worlds.get(task))
    assert found is not None
    return found


@cache
def begun(task: str, n: int = 24) -> CpuWorlds:
    """Nominal worlds at their beginning: do not step them."""
    world = worlds.get(task)
    batch = CpuWorlds(Compiled(world), n, threads=1)
    batch.reset(world.space.nominal(), np.arange(n))
    return batch


def played(
    task: str, seeds: np.ndarray, *, knock_at: int | None = None, at: dict[str, float] | None = None
) -> np.ndarray:
    """Which episodes an expert wins at a point, nominal by default; some are shaken on the way."""
    world, values = worlds.get(task), at or {}
    space = world.catalogue.select(*values) if values else world.space
    batch = CpuWorlds(Compiled(world, space), len(seeds), threads=1)
    batch.reset(space.point(values), seeds)
    hand, won = expert(task), np.zeros(len(seeds), bool)
    generator = np.random.default_rng(0)
    for k in range(world.steps):
        targets = hand(batch.observation, known(batch))
        if knock_at is not None and knock_at <= k < knock_at + 8:
            targets = targets + generator.normal(0.0, 0.4, targets.shape)
        won |= batch.step(targets).success
    return won


# The arm ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def poses() -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.8, 0.8, (6, 5))


@pytest.fixture(scope="module")
def arm() -> Arm:
    return Arm(worlds.get("so101/lift").model, "tcp", JOINTS[:5])


def at_rest(pose: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """MuJoCo's own answer, the gripper as drawn."""
    model = worlds.get("so101/lift").model
    data = mujoco.MjData(model)
    for joint, q in zip(JOINTS, pose, strict=False):
        data.joint(joint).qpos = q
    mujoco.mj_forward(model, data)
    return model, data


def test_the_arm_is_where_mujoco_has_it(arm, poses):
    found = arm.posture(poses)
    for i, pose in enumerate(poses):
        _, data = at_rest(pose)
        np.testing.assert_allclose(found.place[i], data.site("tcp").xpos, atol=1e-12)
        np.testing.assert_allclose(found.turn[i].ravel(), data.site("tcp").xmat, atol=1e-12)


def test_it_weighs_what_it_weighs_in_mujoco(arm, poses):
    found = arm.posture(poses)
    for i, pose in enumerate(poses):
        model, data = at_rest(pose)
        dofs = [int(model.joint(joint).dofadr[0]) for joint in JOINTS[:5]]
        np.testing.assert_allclose(found.torque[i], data.qfrc_bias[dofs], atol=1e-9)


def test_a_small_step_brings_the_hand_that_way(arm):
    q = np.tile(HOME[:5], (3, 1))
    at = arm.posture(q)
    way = 0.005 * np.eye(3)
    after = arm.posture(q + arm.moved(at, way, at.turn[:, :, 0]))
    moved = after.place - at.place
    assert (np.linalg.norm(moved - way, axis=1) < 0.0025).all()


# The experts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_they_do_their_task_in_the_nominal_world(task):
    assert played(task, np.arange(16)).mean() > 0.9


def test_they_go_on_from_wherever_a_knock_has_left_the_hand():
    """Shaken while it closes on the cube, it fetches the cube again."""
    assert played("so101/lift", np.arange(16), knock_at=20).mean() >= 0.75


@pytest.mark.parametrize("task", TASKS)
def test_they_have_no_memory_and_look_at_each_world_alone(task):
    batch, hand = begun(task), expert(task)
    all_at_once = hand(batch.observation, known(batch))
    np.testing.assert_array_equal(hand(batch.observation, known(batch)), all_at_once)
    one = slice(5, 6)
    seen, true = (
        {name: values[one] for name, values in signals.items()}
        for signals in (batch.observation, known(batch))
    )
    np.testing.assert_allclose(hand(seen, true), all_at_once[one], atol=1e-12)


def test_they_go_by_where_the_cube_is_and_not_by_where_it_is_seen():
    batch, hand = begun("so101/lift"), expert("so101/lift")
    told = hand(batch.observation, known(batch))
    wrong = {**batch.observation, "cube_position": batch.observation["cube_position"] + 0.05}
    np.testing.assert_array_equal(hand(wrong, known(batch)), told)
    moved = {
        **known(batch),
        "true_cube_position": known(batch)["true_cube_position"] + 0.05,
    }
    assert not np.allclose(hand(batch.observation, moved), told)


@pytest.mark.parametrize("number", ["sensing/{}/bias", "actuation/{}/zero_offset"])
def test_readings_that_are_off_do_not_lead_them_astray(number):
    at = {number.format(joint): 0.07 for joint in JOINTS}
    assert played("so101/lift", np.arange(16), at=at).mean() > 0.9


def test_they_know_how_soft_a_servo_is():
    at = {f"actuation/{joint}/kp": 7.0 for joint in JOINTS}
    assert played("so101/lift", np.arange(16), at=at).mean() > 0.9


def test_nonsense_is_not_passed_on():
    batch = begun("so101/lift")
    with pytest.raises(TrueupError, match=r"answered with nan; finite targets of shape \(24, 6\)"):
        advised(lambda seen, true: np.full((24, 6), np.nan), batch, fix="Think again.")


def test_a_world_without_one_has_none():
    assert expert_of(worlds.get("so101/reach")) is None
