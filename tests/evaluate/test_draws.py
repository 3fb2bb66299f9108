"""Common random numbers: the same trial whatever stands beside it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.pendulum import Pendulum, damping, mass
from trueup.cli.copies import drawn
from trueup.cli.options import Chosen
from trueup.errors import TrueupError
from trueup.evaluate import trials
from trueup.worlds import get

SPACE = Pendulum(damping(), mass()).space


def test_a_trial_does_not_depend_on_how_many_there_are():
    few, many = trials(SPACE, 5, 1), trials(SPACE, 50, 1)
    assert few[0] == many[0][:5]
    np.testing.assert_array_equal(few[1], many[1][:5])


def test_episodes_begin_alike_in_every_space():
    wide, narrow = trials(SPACE, 9, 4), trials(SPACE.select("object"), 9, 4)
    np.testing.assert_array_equal(wide[1], narrow[1])


def test_another_seed_is_another_draw():
    a, b = trials(SPACE, 20, 0), trials(SPACE, 20, 1)
    assert not np.isin(a[1], b[1]).any()
    assert not np.isin(a[0].values, b[0].values).any()


def test_the_command_line_draws_the_same():
    world = get("so101/lift")
    copies = drawn(world, Chosen(seed=6), 4)
    points, seeds = trials(world.space, 4, 6)
    assert copies.points == points
    np.testing.assert_array_equal(copies.seeds, seeds)


@pytest.mark.parametrize(("n", "seed"), [(0, 0), (3, -1)])
def test_what_cannot_be_drawn_is_refused(n, seed):
    with pytest.raises(TrueupError):
        trials(SPACE, n, seed)
