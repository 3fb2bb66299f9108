"""What cannot be told is named in the words that help."""

import numpy as np
import pytest

from trueup.identify.directions import Direction, unseen_of
from trueup.identify.target import prior_spread
from trueup.worlds import get

WORLD = get("so101/arm")
ROLL = [f"actuation/wrist_roll/{kind}" for kind in ("kp", "damping", "frictionloss", "armature")]


def unseen(names, along, *, seen: float = 0.05, speeds=None) -> list[Direction]:
    """Directions of a covariance that is narrow but for one way, in the parameters' scales."""
    space = WORLD.catalogue.select(*names)
    ways = dict(zip(names, along, strict=True))
    widths = [np.log(p.high / p.low) if p.scale == "log" else p.high - p.low for p in space]
    spread = prior_spread(space)
    way = np.array([ways[p.name] for p in space]) / widths / spread
    way /= np.linalg.norm(way)
    covariance = seen**2 * np.eye(len(space)) + (1.0 - seen**2) * np.outer(way, way)
    return list(unseen_of(space, covariance * np.outer(spread, spread), spread, speeds))


def test_one_factor_for_all_is_a_common_scale():
    (found,) = unseen(ROLL, [1, 1, 1, 1])
    assert found.kind == "scale"
    assert {name for name, _ in found.parts} == set(ROLL)
    assert "only up to a common scale" in str(found)
    assert "gravity hardly loads it" in str(found)


def test_more_of_one_delay_as_less_of_the_other_is_their_sum():
    names = ["latency/action_delay", "latency/encoder_delay"]
    (found,) = unseen(names, [1.0, -1.0])
    assert found.kind == "sum"
    assert "only the sum of" in str(found)
    assert "No motion does" in str(found)


def test_damping_against_friction_wants_other_speeds():
    names = ["actuation/elbow_flex/damping", "actuation/elbow_flex/frictionloss"]
    (found,) = unseen(names, [0.5, -1.0], speeds={"elbow_flex": 2.0})
    assert found.kind == "mixed"
    assert "Move elbow_flex slowly, and faster than 3 rad/s." in str(found)
    assert "%" in str(found)
    assert "cannot tell" in str(found)


def test_a_parameter_alone_is_said_alone():
    (found,) = unseen(["actuation/shoulder_pan/zero_offset", "actuation/elbow_flex/kp"], [1.0, 0.0])
    assert found.kind == "alone"
    assert found.left == pytest.approx(1.0, abs=0.01)
    assert "do not tell actuation/shoulder_pan/zero_offset: 100 % of" in str(found)


def test_what_the_data_tell_is_not_mentioned():
    space = WORLD.catalogue.select(*ROLL)
    spread = prior_spread(space)
    assert unseen_of(space, np.diag(0.25 * spread**2), spread) == ()


def test_directions_that_are_equally_unseen_are_not_mixed_up():
    """Two zeros that leave no trace are two statements, though any mixture leaves none either."""
    joints = ("shoulder_pan", "wrist_roll", "gripper")
    space = WORLD.catalogue.select(*(f"actuation/{joint}/zero_offset" for joint in joints))
    spread = prior_spread(space)
    found = unseen_of(space, np.diag(spread**2), spread)
    assert [direction.kind for direction in found] == ["alone"] * 3
    assert {direction.parts[0][0] for direction in found} == set(space.names)
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    mixed = turn @ np.diag([1.0, 0.99, 0.98]) @ turn.T * np.outer(spread, spread)
    assert [d.kind for d in unseen_of(space, mixed, spread)] == ["alone"] * 3
