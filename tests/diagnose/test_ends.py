"""Ends of intervals: around the middle, further up than down, and never beyond what can be lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.diagnose.ends import ends

part = st.floats(-1.0, 1.0)


def one(middle, low, high, most=1.0, **sides):
    found = ends(np.array([middle]), np.array([low]), np.array([high]), most, **sides)
    return tuple(float(end[0]) for end in found)


@given(part, part, part, st.floats(0.0, 1.0))
def test_the_middle_is_inside_and_nothing_that_draws_leave_open_above_it_is_lost(
    middle, low, high, most
):
    bottom, top = one(middle, low, high, most)
    assert bottom <= middle <= top
    assert top >= high


def test_ends_as_they_were_drawn_stay():
    assert one(0.3, 0.1, 0.6, below=1.0, above=1.0) == pytest.approx((0.1, 0.6))


def test_ends_move_by_what_is_open_on_their_own_side():
    low, high = one(0.3, 0.1, 0.5, below=0.5, above=2.0)
    assert (low, high) == pytest.approx((0.2, 0.7))


def test_an_interval_does_not_grow_beyond_what_the_policy_can_lose():
    assert one(0.6, 0.4, 0.8, most=0.9, above=3.0)[1] == pytest.approx(0.9)
    assert one(0.6, 0.4, 0.95, most=0.9, above=3.0)[1] == pytest.approx(0.95)


def test_what_lies_above_the_middle_is_missed_oftener_so_that_end_is_further_out():
    low, high = one(0.4, 0.2, 0.6)
    assert high - 0.4 > 0.4 - low > 0.0
