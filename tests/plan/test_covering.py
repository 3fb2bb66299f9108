"""Covering arrays: every pair is met, in few rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import TrueupError
from trueup.plan import covering_array, uncovered

# levels of each factor, and the fewest rows that are known to do
KNOWN = [((3, 3, 3), 9), ((3, 3, 3, 3), 9), ((2,) * 10, 6), ((4, 3, 3, 2), 12), ((3,) * 5, 11)]


def factors(*sizes: int) -> dict[str, list[str]]:
    return {f"factor{i}": [f"level{k}" for k in range(n)] for i, n in enumerate(sizes)}


@settings(max_examples=10)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_every_pair_is_met(sizes):
    wanted = factors(*sizes)
    assert uncovered(covering_array(wanted), wanted) == []


@pytest.mark.parametrize(("sizes", "fewest"), KNOWN)
def test_the_size_is_near_the_best_known(sizes, fewest):
    rows = covering_array(factors(*sizes))
    assert fewest <= len(rows) <= fewest + 2


def test_no_row_is_needless_and_the_same_seed_gives_the_same_rows():
    wanted = factors(3, 3, 2, 2)
    rows = covering_array(wanted, seed=4)
    assert rows == covering_array(wanted, seed=4)
    for row in rows:
        assert uncovered([other for other in rows if other is not row], wanted)


def test_a_missing_pair_is_found():
    wanted = factors(2, 2)
    rows = covering_array(wanted)
    assert len(uncovered(rows[1:], wanted)) == 1


def test_one_factor_gives_a_row_a_level_and_bad_levels_are_refused():
    assert covering_array({"light": ["dim", "bright"]}) == ({"light": "dim"}, {"light": "bright"})
    for levels in ([], ["dim", "dim"]):
        with pytest.raises(TrueupError, match="'light' has the levels"):
            covering_array({"light": levels, "clutter": ["none"]})
