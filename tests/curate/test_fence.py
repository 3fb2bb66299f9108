"""A fence keeps what is ordinary, whatever a third of the set does, and says what is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.curate.fence import FEWEST, Fence, Side

CHANCE = 1e-4


def fence(values, **how):
    made = Fence.around(np.asarray(values, float), **{"floor": 1e-3, "chance": CHANCE, **how})
    assert made is not None
    return made


@pytest.mark.parametrize("draw", ["normal", "laplace", "uniform"])
def test_ordinary_values_stay_inside(draw):
    rng = np.random.default_rng(0)
    inside = fence(getattr(rng, draw)(size=1000))
    fresh = getattr(rng, draw)(size=100_000)
    assert np.mean(inside.excess(fresh) > 1.0) <= 10 * CHANCE


@pytest.mark.parametrize("share", [0.0, 0.15, 0.3])
def test_a_third_of_bad_values_does_not_hide_itself(share):
    rng = np.random.default_rng(1)
    values = rng.normal(size=400)
    bad = np.arange(400) < share * 400
    values[bad] = rng.uniform(15, 30, bad.sum())
    assert np.array_equal(fence(values).excess(values) > 1.0, bad)


@given(st.floats(-100, 100), st.floats(0.1, 100), st.integers(0, 1000))
def test_shifting_and_stretching_changes_nothing(shift, stretch, seed):
    values = np.random.default_rng(seed).normal(size=60)
    plain = fence(values, floor=0.1).excess(values)
    moved = shift + stretch * values
    assert np.allclose(fence(moved, floor=0.1 * stretch).excess(moved), plain, atol=1e-6)


def test_sides():
    values = np.r_[np.random.default_rng(2).normal(size=100), -40.0, 40.0]
    for side, out in ((Side.ABOVE, [101]), (Side.BELOW, [100]), (Side.BOTH, [100, 101])):
        assert np.flatnonzero(fence(values, side=side).excess(values) > 1.0).tolist() == out


def test_what_many_do_is_a_way_to_do_it():
    rng = np.random.default_rng(3)
    values = np.r_[rng.normal(size=80), rng.normal(20.0, 1.0, 20), 90.0]
    assert np.flatnonzero(fence(values, rare=0.1).excess(values) > 1.0).tolist() == [100]
    assert (fence(values, rare=0.4).excess(values) > 1.0).sum() == 21


def test_a_spread_below_the_floor_means_nothing():
    values = np.r_[1e-6 * np.random.default_rng(4).normal(size=50), 1e-4]
    assert not (fence(values, floor=0.1).excess(values) > 1.0).any()


def test_few_values_say_nothing_and_missing_ones_neither():
    assert Fence.around(np.zeros(FEWEST - 1), floor=0.1, chance=CHANCE) is None
    values = np.r_[np.random.default_rng(5).normal(size=50), np.nan]
    assert fence(values).excess(values)[-1] == 0.0
