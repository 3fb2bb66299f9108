"""Two sides that differ: every difference is told, and both sides are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trueup.errors import TrueupError
from trueup.policies import Feature, Interface

ARM = Interface(
    observations=(
        Feature(name="joint_position", size=2, unit="rad"),
        Feature(name="cube_position", size=3, unit="m"),
    ),
    commands=("shoulder", "elbow"),
    unit=("rad", "rad"),
    low=(-1.0, -2.0),
    high=(1.0, 2.0),
    period_s=0.04,
    measured="joint_position",
)
TORQUE = Feature(name="torque", size=2, unit="N·m")


def told(body: Interface, policy: Interface = ARM) -> str:
    with pytest.raises(TrueupError) as error:
        policy.check(body, policy="policy out/a", of="the robot")
    assert error.value.what.startswith("Policy out/a does not fit the robot: ")
    assert error.value.fix
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            dict(commands=("elbow", "shoulder")),
            "policy out/a commands shoulder, elbow, the robot takes elbow, shoulder (the same "
            "joints in another order)",
        ),
        (
            dict(commands=("shoulder", "wrist")),
            "policy out/a commands shoulder, elbow, the robot takes shoulder, wrist;",
        ),
        (
            dict(unit=("deg", "deg")),
            "policy out/a commands in rad, rad, the robot in deg, deg",
        ),
        (
            dict(period_s=0.02),
            "policy out/a was trained at 25 Hz, the robot runs at 50 Hz",
        ),
        (
            dict(observations=ARM.observations[:1]),
            "policy out/a reads 'cube_position', the robot observes joint_position only",
        ),
        (
            dict(
                observations=(ARM.observations[0], Feature(name="cube_position", size=7, unit="m"))
            ),
            "policy out/a reads 'cube_position' as 3 × m, the robot gives 7 × m",
        ),
        (
            dict(
                observations=(ARM.observations[0], Feature(name="cube_position", size=3, unit="mm"))
            ),
            "policy out/a reads 'cube_position' as 3 × m, the robot gives 3 × mm",
        ),
        (
            dict(low=(-1.0, -1.5)),
            "policy out/a moves 'elbow' from -2 to 2, the robot allows -1.5 to 2",
        ),
        (
            dict(high=(0.5, 2.0)),
            "policy out/a moves 'shoulder' from -1 to 1, the robot allows -1 to 0.5",
        ),
        (
            dict(measured=None),
            "policy out/a moves its joints from what 'joint_position' reads, the robot measures "
            "them nowhere",
        ),
        (
            dict(measured="encoder"),
            "policy out/a moves its joints from what 'joint_position' reads, the robot measures "
            "them as 'encoder'",
        ),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, dict) else "",
)
def test_a_difference_names_both_sides(changes, words):
    said = told(replace(ARM, **changes))
    assert words.rstrip(";") in said
    assert ("in another order" in said) == ("in another order" in words)


def test_all_differences_are_told_at_once():
    said = told(replace(ARM, unit=("deg", "deg"), period_s=0.02, observations=(TORQUE,)))
    for words in ("in deg, deg", "50 Hz", "'joint_position'", "'cube_position'"):
        assert words in said


def test_a_body_may_offer_more():
    ARM.check(ARM)
    ARM.check(replace(ARM, observations=(TORQUE, *reversed(ARM.observations))))
    ARM.check(replace(ARM, low=(-3.0, -3.0), high=(3.0, 3.0)))
    ARM.check(replace(ARM, period_s=0.0401))
    replace(ARM, measured=None).check(ARM)


def test_a_policy_without_limits_is_too_much_for_a_body_with_some():
    free = replace(ARM, low=(-float("inf"), -2.0))
    assert "moves 'shoulder' from -inf to 1, the robot allows -1 to 1" in told(ARM, free)
