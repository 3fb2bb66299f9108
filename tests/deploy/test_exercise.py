"""Motions of preflight: inside the limits, clear of the table, and to both ends of each joint."""

from __future__ import annotations

import numpy as np
import pytest

from tests.deploy.robots import world
from trueup.deploy.wiring.clearance import Clearance
from trueup.deploy.wiring.exercise import (
    TRAVEL_SPEED,
    WIGGLE_RAD,
    WIGGLE_SPEED,
    sweeps,
    travelled,
    wiggle,
)
from trueup.deploy.wiring.gravity import Gravity
from trueup.worlds import get
from trueup.worlds.interface import interface_of
from trueup.worlds.so101 import HOME, JOINTS, KP
from trueup.worlds.tabletop import tcp_kinematics

HERE = np.array(HOME)


@pytest.fixture(scope="module")
def face():
    return interface_of(world())


@pytest.fixture(scope="module")
def clearance():
    return Clearance(world(), HERE)


@pytest.fixture(scope="module")
def planned(clearance, face):
    return sweeps(clearance, face, HERE)


def test_room_shrinks_towards_the_table_and_names_who_meets_it(clearance):
    down = HERE + np.array([0.0, 1.6, 0.0, 0.0, 0.0, 0.0])
    room, pair = clearance.room(down)
    assert clearance.room(HERE)[0] >= 0.0 > room
    assert "table" in pair
    assert tcp_kinematics(world())(down[None])[0, 2] < 0.0
    assert clearance.depth(down)[0] < -0.02 < clearance.depth(HERE)[0]


def test_a_model_without_a_floor_stands_on_one():
    bare = Clearance(get("so101/arm"), HERE)
    table = Clearance(world(), HERE)
    down = HERE + np.array([0.0, 1.6, 0.0, 0.0, 0.0, 0.0])
    depth, pair = bare.depth(down)
    assert "floor" in pair
    assert depth == pytest.approx(table.depth(down)[0], abs=1e-6)


def test_a_path_through_the_table_is_not_clear(clearance):
    through = HERE + np.array([0.0, 1.6, 0.0, 0.0, 0.0, 0.0])
    up = HERE - np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    assert clearance.path(HERE, [up])
    assert not clearance.path(HERE, [through, up])


def test_every_joint_reaches_both_its_limits(planned):
    for joint, name in enumerate(JOINTS):
        mine = [s for s in planned if s.joint == joint]
        assert any(s.at_low for s in mine), name
        assert any(s.at_high for s in mine), name


def test_sweeps_stay_clear_and_inside_the_limits(planned, clearance, face):
    for sweep in planned:
        way = np.concatenate([sweep.upwards(0.04), sweep.downwards(0.04)])
        assert (way >= np.array(face.low) - 1e-12).all()
        assert (way <= np.array(face.high) + 1e-12).all()
        assert clearance.clear(way[::6]).all()
        assert clearance.path(HERE, [sweep.at(sweep.entry)])
        steps = np.abs(np.diff(way, axis=0)).max()
        assert steps <= sweep.speed * 0.04 + 1e-12


@pytest.mark.parametrize("joint", range(6))
def test_a_wiggle_moves_one_joint_a_few_degrees_and_comes_back(joint, face):
    way = wiggle(HERE, joint, face)
    others = np.delete(way, joint, axis=1)
    np.testing.assert_array_equal(others, np.tile(np.delete(HERE, joint), (len(way), 1)))
    np.testing.assert_array_equal(way[0], HERE)
    np.testing.assert_array_equal(way[-1], HERE)
    assert np.abs(way[:, joint] - HERE[joint]).max() <= 2 * WIGGLE_RAD + 1e-9
    assert np.abs(np.diff(way[:, joint])).max() <= WIGGLE_SPEED * face.period_s + 1e-12


def test_a_wiggle_at_a_limit_goes_inwards(face):
    pose = HERE.copy()
    pose[3] = face.high[3]
    way = wiggle(pose, 3, face)[:, 3]
    assert way.max() <= face.high[3]
    assert np.ptp(way) == pytest.approx(2 * WIGGLE_RAD)


def test_travel_keeps_its_speed_and_arrives():
    way = travelled([HERE, HERE + 0.3, HERE], 0.04, TRAVEL_SPEED)
    assert np.abs(np.diff(way, axis=0)).max() <= TRAVEL_SPEED * 0.04 + 1e-12
    np.testing.assert_array_equal(way[-1], HERE)


def test_droop_is_weight_over_stiffness():
    gravity = Gravity(world())
    level = HERE.copy()
    level[[1, 2, 3]] = 0.0
    droop = gravity.droop(np.stack([HERE, level]))
    assert droop[0, 0] == pytest.approx(0.0, abs=1e-9)  # the first axis is vertical
    assert droop[1, 1] * KP == pytest.approx(_moment(level, 1), rel=1e-6)


def _moment(pose: np.ndarray, joint: int) -> float:
    """How fast the arm's potential energy rises with a joint, by differences."""
    import mujoco

    model = world().model
    data = mujoco.MjData(model)

    def energy(angle: float) -> float:
        data.qpos[:6] = pose
        data.qpos[joint] = angle
        mujoco.mj_forward(model, data)
        arm = range(1, model.body("moving_jaw_so101_v1").id + 1)
        return sum(9.81 * model.body_mass[b] * data.xipos[b, 2] for b in arm)

    return (energy(pose[joint] + 1e-5) - energy(pose[joint] - 1e-5)) / 2e-5
