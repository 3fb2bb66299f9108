"""Replays that nothing is drawn for run through, and say the same."""

import numpy as np

from tests.identify.planted import WORLD, recorded
from trueup.identify.problem import Problem
from trueup.identify.steady import steady
from trueup.replay import Replayer

LATE = {"latency/action_delay": 0.0331, "latency/elbow_flex/delay": 0.004}
SPACE = WORLD.catalogue.select(*LATE)


def test_a_fit_replays_what_any_replay_says_to_the_last_bit():
    episode = recorded(LATE, seconds=2.0)
    problem = Problem(WORLD, [episode], SPACE, threads=1)
    assert not problem.replayer.compiled.step_elements
    plain = Replayer(WORLD, [episode], SPACE, signals=["joint_position"], threads=1)
    assert plain.compiled.step_elements
    points = SPACE.decode(np.array([[0.2, 0.1], [0.01, 0.0], [0.5, 0.5]]))
    ours, theirs = (r(points).tracks[0]["joint_position"] for r in (problem.replayer, plain))
    assert np.array_equal(ours.simulated, theirs.simulated)


def test_where_jitter_is_fitted_a_world_stays_as_it_is():
    space = WORLD.catalogue.select("latency/action_delay", "latency/action_jitter")
    assert steady(WORLD, space) is WORLD
    assert steady(WORLD, SPACE).catalogue == WORLD.catalogue
