"""Measurements by hand become beliefs of a space."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.plan import entered, read_measured
from trueup.space import Normal, Space, Uniform
from trueup.worlds import World, get

MASS, SIDE, CLUTTER = "object/cube/mass", "object/cube/size_x", "environment/clutter/count"


@cache
def world() -> World:
    return get("so101/lift")


def test_a_value_and_a_range_are_believed_and_the_rest_stays(tmp_path):
    space = entered(world(), [f"{MASS}=0.034+-0.001", f"{SIDE}=0.02..0.03"])
    drawn = space.sample(np.random.default_rng(0), 2000)
    mass = drawn.values[:, space.index(MASS)]
    side = drawn.values[:, space.index(SIDE)]
    assert mass.mean() == pytest.approx(0.034, abs=1e-4)
    assert mass.std() == pytest.approx(0.001, rel=0.1)
    assert 0.02 <= side.min() < side.max() <= 0.03
    assert space.names == world().space.names
    space.save(tmp_path / "space.json")
    again = entered(world(), [f"{MASS}=0.05±0.002"], Space.load(tmp_path / "space.json"))
    assert again[MASS].belief == Normal(mean=0.05, std=0.002)
    assert again[SIDE].belief == Uniform(low=0.02, high=0.03)


def test_an_optional_parameter_is_added():
    assert CLUTTER not in world().space
    assert CLUTTER in entered(world(), [f"{CLUTTER}=1..3"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mass", "is no measurement"),
        ("object/cube/mas=1+-1", "Did you mean 'object/cube/mass'"),
        (f"{MASS}=0.03", "gives no error"),
        (f"{MASS}=34+-1", "outside the bounds"),
        (f"{MASS}=0.03+-0", "has the error 0"),
        (f"{MASS}=0.05..0.02", "has no width"),
    ],
)
def test_what_makes_no_sense_is_refused(text, words):
    with pytest.raises(TrueupError, match=words):
        read_measured(world(), [text])


def test_nothing_measured_is_refused():
    with pytest.raises(TrueupError, match="No measurement"):
        entered(world(), [])
