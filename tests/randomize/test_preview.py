"""What a plan draws, in numbers, bars and pixels."""

import numpy as np
import pytest

from tests.randomize.spaces import name, space_of
from trueup.randomize import Automatic, FromPrior, marginals, previewed
from trueup.space import Parameter, Space


def test_rows_tell_what_was_drawn():
    space = space_of(1)
    (row,) = previewed(space.points(np.array([[-0.5], [-0.5], [0.0], [0.5]])), space, parts=4)
    assert (row.lowest, row.median, row.highest) == (-0.5, -0.25, 0.5)
    assert row.axis == (-0.5, 0.5)
    assert row.counts == (2, 0, 1, 1)
    assert row.bars == "█ ▄▄"


def test_bars_of_a_curriculum_go_over_all_it_may_reach():
    plan = Automatic(space_of(2), widest=2.0, start=0.1)
    rows = previewed(plan.draw(np.random.default_rng(0), 100), plan.full())
    assert {row.axis for row in rows} == {(-1.0, 1.0)}
    assert all(row.counts[:4] == (0, 0, 0, 0) and sum(row.counts) == 100 for row in rows)


def test_a_log_scale_has_even_bars_for_even_factors():
    p = Parameter(
        name="object/cube/mass", unit="kg", nominal=1.0, low=0.01, high=100.0, scale="log"
    )
    space = Space((p,))
    (row,) = previewed(FromPrior(space).draw(np.random.default_rng(0), 4000), space, parts=4)
    assert row.counts == pytest.approx((1000, 1000, 1000, 1000), abs=120)


def test_the_picture_has_bars_where_values_are():
    space = space_of(1)
    left, right = (
        marginals(previewed(space.points(np.full((5, 1), x)), space, parts=10)).astype(int)
        for x in (-0.45, 0.45)
    )
    assert left.shape == right.shape
    coloured = [(picture.max(axis=2) - picture.min(axis=2))[50:] > 100 for picture in (left, right)]
    columns = [np.flatnonzero(where.any(axis=0)) for where in coloured]
    assert columns[0].max() < columns[1].min()


def test_a_held_parameter_is_drawn_too():
    space = space_of(2).pinned({name(0): 0.3})
    rows = previewed(FromPrior(space).draw(np.random.default_rng(0), 8), space)
    assert rows[0].lowest == rows[0].highest == 0.3
    assert marginals(rows).shape[2] == 3
