"""A policy in a world: it plays where its contract fits, and is refused elsewhere by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.evaluate.pilots import constant
from tests.worlds.pendulum import MJCF, Pendulum, damping
from trueup.errors import TrueupError
from trueup.evaluate import compared, evaluate, piloted, trials
from trueup.policies import Feature, Policy
from trueup.worlds import get, interface_of

WORLD = Pendulum(damping(), mjcf=MJCF.replace('kp="20"', 'kp="20" ctrlrange="-2 2"'))


def test_the_interface_of_a_world_is_what_it_shows():
    world = get("so101/lift")
    interface = interface_of(world)
    observed = world.sizes(world.observations)
    assert {f.name: f.size for f in interface.observations} == observed
    assert interface.commands == world.commands
    assert interface.measured == "joint_position"
    assert set(interface.unit) == {"rad"}
    assert interface.period_s == world.control_period_s
    np.testing.assert_array_equal(
        np.array([interface.low, interface.high]).T, world.model.actuator_ctrlrange
    )


def test_a_servo_without_limits_has_none():
    interface = interface_of(Pendulum())
    assert (interface.low, interface.high) == ((-np.inf,), (np.inf,))


def test_a_world_that_does_not_read_its_joints_says_so():
    class Blind(Pendulum):
        observations = Pendulum.observations[1:]

    assert interface_of(Pendulum()).measured == "position"
    assert interface_of(Blind()).measured is None


def test_a_policy_plays_the_same_in_any_batch_and_from_its_folder(tmp_path):
    policy = constant(WORLD, 0.75)
    points, seeds = trials(WORLD.space, 40, 0)
    whole = evaluate(WORLD, piloted(policy), points, seeds)
    assert whole.success_share > 0.0
    kept = Policy.load(policy.save(tmp_path / "policy").name)
    for batch in (1, 7, 33):
        again = evaluate(WORLD, piloted(kept), points, seeds, batch=batch)
        np.testing.assert_array_equal(again.return_, whole.return_)
        np.testing.assert_array_equal(again.steps, whole.steps)


def test_two_policies_are_told_apart():
    points, seeds = trials(WORLD.space, 40, 0)
    out, back = (
        evaluate(WORLD, piloted(constant(WORLD, answer)), points, seeds) for answer in (0.9, -0.9)
    )
    comparison = compared(out, back)
    assert comparison.told_apart
    assert comparison.difference == out.success_share > 0.9


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(commands=("elbow",)), r"commands elbow, the world 'test/pendulum' takes swing"),
        (dict(unit=("deg",)), r"commands in deg, the world 'test/pendulum' in rad"),
        (dict(period_s=0.04), r"trained at 25 Hz, the world 'test/pendulum' runs at 50 Hz"),
        (
            dict(
                observations=(Feature(name="torque", size=1, unit="N·m"),),
                measured=None,
            ),
            r"reads 'torque', the world 'test/pendulum' observes position, velocity, force only",
        ),
        (
            dict(
                observations=(Feature(name="position", size=1, unit="deg"),),
            ),
            r"reads 'position' as 1 × deg, the world 'test/pendulum' gives 1 × rad",
        ),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_a_policy_for_another_body_is_refused(changes, words):
    policy = replace(constant(WORLD, 0.0, **changes), name="mine")
    with pytest.raises(TrueupError, match=words) as told:
        evaluate(WORLD, piloted(policy), *trials(WORLD.space, 4, 0))
    assert "mine" in str(told.value)
