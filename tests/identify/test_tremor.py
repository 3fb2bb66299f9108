"""A hand that trembles is heard in all joints at once, and told from what was commanded."""

from __future__ import annotations

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.episodes import Episode
from trueup.identify import identify
from trueup.identify.check import checked
from trueup.identify.cutting import settled
from trueup.identify.trembling import trembling
from trueup.identify.tremor import Tremor, tremor_readings
from trueup.space import Point, Uniform

SHAKEN = {"human/tremor_amplitude": 0.03, "human/tremor_frequency": 7.3}
NOMINAL = Point({"actuation/elbow_flex/kp": WORLD.catalogue["actuation/elbow_flex/kp"].nominal})


def heard(episode: Episode, at: Point = NOMINAL) -> Tremor:
    found = checked(WORLD, [episode], at).tremor
    assert found is not None
    return found


def test_a_tremor_is_heard_and_measured():
    episode = recorded(SHAKEN)
    tremor = heard(episode)
    assert tremor.told and tremor.mostly
    assert tremor.frequency_hz == pytest.approx(7.3, abs=0.1)
    found = tremor_readings(WORLD, [episode], NOMINAL)
    for name, true in SHAKEN.items():
        prior = found[name]
        assert isinstance(prior, Uniform)
        low, high = prior.support(0.0, 20.0)
        assert low <= true <= high


def test_a_tremor_is_heard_where_the_first_second_was_left_out():
    episode = settled(recorded(SHAKEN), 1.0)
    assert heard(episode).told
    found = tremor_readings(WORLD, [episode], NOMINAL)
    prior = found["human/tremor_amplitude"]
    assert isinstance(prior, Uniform)
    low, high = prior.support(0.0, 20.0)
    assert low <= SHAKEN["human/tremor_amplitude"] <= high


def test_it_is_no_doubt_about_the_model():
    check = checked(WORLD, [recorded(SHAKEN)], NOMINAL)
    assert not check.inside and check.random
    assert any("trembles" in sentence for sentence in check.sentences)


def test_soft_servos_that_answer_to_a_multisine_do_not_tremble():
    episode = recorded({"actuation/elbow_flex/kp": 7.0, "actuation/shoulder_lift/kp": 8.0})
    tremor = heard(episode)
    assert not tremor.told
    found = tremor_readings(WORLD, [episode], NOMINAL)
    assert [*found] == ["human/tremor_amplitude"]
    prior = found["human/tremor_amplitude"]
    assert isinstance(prior, Uniform) and prior.support(0.0, 1.0)[1] < 0.03


def test_an_arm_that_a_tremor_shakes_is_found_better_where_the_tremor_is_known():
    episode = recorded({"human/tremor_amplitude": 0.1, "human/tremor_frequency": 6.0})
    space = WORLD.catalogue.select(*(f"actuation/*/{n}" for n in ("kp", "damping", "frictionloss")))
    heard = tremor_readings(WORLD, [episode], NOMINAL)

    def off(world, kind: str) -> float:
        found = identify(world, [episode], space, check=False).point
        some = [v / space[n].nominal for n, v in found.items() if n.endswith(kind)]
        return abs(float(np.log(np.median(some))))

    shaken = trembling(WORLD, space, heard)
    for kind in ("damping", "frictionloss"):
        assert off(shaken, kind) < 0.8 * off(WORLD, kind)


def test_a_hand_that_is_steady_leaves_the_world_as_it_is():
    space = WORLD.catalogue.select("actuation/*/frictionloss")
    assert trembling(WORLD, space, {}) is WORLD


def test_what_a_check_heard_is_stored():
    check = checked(WORLD, [recorded(SHAKEN, seconds=6.0)], NOMINAL)
    assert type(check).from_json(check.to_json()) == check
    assert np.isfinite(check.tremor.clear if check.tremor else np.nan)
