"""Problems that share unknowns are their parts, one below the other."""

import numpy as np

from tests.identify.planted import WORLD, recorded
from trueup.identify.probing.joined import Joined, part_of
from trueup.identify.problem import FINEST, Problem
from trueup.space import Space

KP, LIFT = "actuation/elbow_flex/kp", "actuation/shoulder_lift/kp"
FREE = WORLD.catalogue.select(KP, LIFT)
EPISODE = recorded({KP: 11.0}, seconds=3.0)


def problem(*names: str) -> Problem:
    return Problem(WORLD, [EPISODE], WORLD.catalogue.select(*names), threads=1)


def test_residuals_and_slopes_are_those_of_the_parts():
    both, one = problem(KP, LIFT), problem(KP)
    joined = Joined([part_of(both, FREE, [13, 13], "a/"), part_of(one, FREE, [13], "b/")], 2)
    u = FREE.encode(FREE.point({KP: 11.0, LIFT: 14.0}))
    here, slopes = joined.jacobian(u[0], exact=True)
    first, own = both.jacobian(u[0], exact=True)
    n = first.values.shape[1]
    np.testing.assert_allclose(here.values[:, :n], first.values)
    np.testing.assert_allclose(slopes[:n], own)
    at = [FREE.index(name) for name in one.space.names]
    np.testing.assert_allclose(here.values[:, n:], one.residual(u[:, at]).values)
    assert not slopes[n:, FREE.index(LIFT)].any()
    assert len(joined.columns) == len(np.unique(here.column)) == 12
    assert sorted(set(here.episode)) == [0, 1]


def test_what_is_held_is_held_where_it_was_told():
    both = problem(KP, LIFT)
    part = part_of(both, Space((FREE[KP],)), [{KP: 13.0, LIFT: 11.7}[n] for n in both.space.names])
    laid = part.lay(np.array([[0.25]]))
    values = WORLD.catalogue.select(KP, LIFT).decode(laid)
    assert np.isclose(values.column(LIFT)[0], 11.7)
    assert np.isclose(laid[0, part.problem.space.index(KP)], 0.25)


def test_the_scale_of_all_is_that_of_each():
    joined = Joined([part_of(problem(KP), FREE, [13]), part_of(problem(KP), FREE, [13])], 2)
    before = joined.residual(np.full((1, 2), 0.5)).values
    joined.weigh(np.arange(1.0, 13.0))
    after = joined.residual(np.full((1, 2), 0.5))
    np.testing.assert_allclose(after.values * joined.scale[after.column], before)


def test_no_column_is_weighed_as_finer_than_what_counts_as_exact():
    joined = Joined([part_of(problem(KP), FREE, [13]), part_of(problem(KP), FREE, [13])], 2)
    joined.residual(np.full((1, 2), 0.5))
    joined.weigh(np.zeros(12))
    assert (joined.scale == FINEST).all()
