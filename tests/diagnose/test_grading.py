"""Bends are as strong as they need to be: costly ones are weakened to where they cost half."""

from __future__ import annotations

import numpy as np

from trueup.diagnose.grading import costly, graded
from trueup.diagnose.planted import GAPS, Bends
from trueup.diagnose.playing import Player
from trueup.worlds import get
from trueup.worlds.scripted import ScriptedLift

WORLD = get("so101/lift")
SPACE = WORLD.catalogue.select("visual/camera/shift_x", "visual/camera/shift_y")
NOMINAL = SPACE.encode(SPACE.nominal())[0]


def begin(worlds):
    return ScriptedLift(worlds.world, worlds.observation)


def shifted(count: int) -> Bends:
    """Cameras that are off by all that the space allows."""
    u = np.tile(NOMINAL, (count, 1))
    u[:, 0] = 1.0
    return Bends(space=SPACE, u=u, gap=np.full(count, GAPS.index("visual")))


def test_a_weaker_bend_lies_on_the_way_to_nominal():
    drawn = shifted(3)
    weak = drawn.weakened(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(weak.u[0], NOMINAL)
    np.testing.assert_allclose(weak.u[1], 0.5 * (NOMINAL + drawn.u[1]))
    np.testing.assert_allclose(weak.u[2], drawn.u[2])


def test_most_bends_that_cost_everything_come_to_cost_a_part_of_it():
    generator, drawn = np.random.default_rng(0), shifted(10)
    player = Player(WORLD, begin, SPACE, generator, 0)
    assert player.success(drawn.u, 4).mean() < 0.1
    weaker = graded(player, drawn, np.ones(10), 1.0, generator)
    strength = (weaker.u[:, 0] - NOMINAL[0]) / (1.0 - NOMINAL[0])
    assert 0.4 < (strength < 1.0).mean() < 1.0, "some stay as they were drawn"
    won = player.success(weaker.u[strength < 1.0], 12)
    assert 0.15 < won.mean() < 0.85 and (won > 0.0).any() and (won < 1.0).any()


def test_bends_that_cost_little_stay_as_they_were_drawn():
    generator, drawn = np.random.default_rng(0), shifted(4)
    player = Player(WORLD, begin, SPACE, generator, 0)
    lost = np.array([0.0, 0.1, 0.3, 0.45])
    assert not costly(lost, 1.0).any()
    np.testing.assert_array_equal(graded(player, drawn, lost, 1.0, generator).u, drawn.u)
