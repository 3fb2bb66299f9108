"""The terms of a training, read off the model: leads, rates, and who measures the joints."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from tests.train.swing import LIMITED, Swing
from tests.worlds.pendulum import MJCF
from trueup.policies import Contract
from trueup.train.terms import contract_for, servo_lead, servo_rate
from trueup.worlds import get


def model(mjcf: str, old: str = "", new: str = "") -> mujoco.MjModel:
    assert old in mjcf
    return mujoco.MjSpec.from_string(mjcf.replace(old, new)).compile()


@pytest.mark.parametrize(
    ("old", "new", "lead"),
    [
        ('kp="20"', 'kp="20"', 9.0 / 20.0),
        ('kp="20"', 'kp="100"', 9.0 / 100.0),
        ('forcerange="-9 9"', 'forcerange="-3 3"', 3.0 / 20.0),
        ('forcerange="-9 9"', 'forcerange="-9 2"', 2.0 / 20.0),  # the weaker side
        (' forcerange="-9 9"', "", 0.05 * 4.0),  # of the range from -2 to 2
    ],
    ids=str,
)
def test_a_lead_pulls_with_all_the_servo_has(old, new, lead):
    np.testing.assert_allclose(servo_lead(model(LIMITED, old, new)), [lead])


def test_a_servo_without_any_limit_has_a_lead_all_the_same():
    np.testing.assert_allclose(servo_lead(model(MJCF, ' forcerange="-9 9"', "")), [0.2])


@pytest.mark.parametrize(
    ("old", "new", "rate"),
    [
        ('damping="0.2"', 'damping="0.2"', 9.0 / 0.2),
        ('damping="0.2"', 'damping="3"', 9.0 / 3.0),
        ('kp="20"', 'kp="20" kv="1"', 9.0 / 1.2),  # the servo's own damping counts too
        ('damping="0.2"', "", 2.0 * 0.45 / 0.5),
    ],
    ids=str,
)
def test_a_rate_is_what_the_servo_can_turn(old, new, rate):
    found = model(LIMITED, old, new)
    np.testing.assert_allclose(servo_rate(found, servo_lead(found)), [rate])


@pytest.mark.parametrize("name", ["so101/reach", "so101/push", "so101/lift", "so101/place"])
def test_the_terms_of_our_worlds_can_be_stored(name):
    world = get(name)
    contract = contract_for(world, world.space, history=2)
    assert Contract.from_json(contract.to_json()) == contract
    assert contract.interface.measured == "joint_position"
    assert min(contract.lead) > 0.01 and max(contract.rate) < 20.0


def test_the_terms_name_world_and_task():
    world = Swing()
    contract = contract_for(world, world.space.select("object"), history=3)
    assert (contract.world, contract.task) == (world.name, world.summary)
    assert contract.inputs == 3 * (3 + 1)
    assert contract.space.names == ("object/arm/mass",)
