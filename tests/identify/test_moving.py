"""What is usual of a joint is what is left of it while it moves, however long it rests."""

from __future__ import annotations

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify.descent import usual_size, weights
from trueup.identify.fitting import fitted
from trueup.identify.moving import moving, stir
from trueup.identify.problem import Problem, Residual

PERIOD_S = 0.02


def rested(seconds: float, moved_s: float = 2.0) -> np.ndarray:
    """(m,) a joint that swings for a while and then rests."""
    time_s = np.arange(0.0, seconds, PERIOD_S)
    return np.where(time_s < moved_s, np.sin(2 * np.pi * time_s), 0.0)


def residual_of(rest_s: float) -> Residual:
    """Errors of 0.02 in motion and of nothing at rest."""
    read = rested(2.0 + rest_s)
    time_s = PERIOD_S * np.arange(len(read))
    column = np.zeros(len(read), int)
    values = 0.02 * np.sin(40.0 * time_s) * (time_s < 2.0)
    return Residual(
        values=values[None],
        column=column,
        episode=column,
        moves=moving(stir(read, time_s), read, column),
    )


def test_a_joint_moves_where_its_readings_change_and_not_a_second_later():
    read = rested(10.0)
    time_s = PERIOD_S * np.arange(len(read))
    moves = moving(stir(read, time_s), read, np.zeros(len(read), int))
    assert moves[time_s < 2.0].all()
    assert not moves[time_s > 3.0].any()


def test_a_column_that_never_moves_counts_as_a_whole():
    read = np.zeros(500)
    assert moving(stir(read, PERIOD_S * np.arange(500)), read, np.zeros(500, int)).all()


def test_resting_longer_changes_neither_what_is_usual_nor_what_motion_weighs():
    short, long = residual_of(0.0), residual_of(60.0)
    assert usual_size(long)[0, 0] == pytest.approx(usual_size(short)[0, 0], rel=0.3)
    moved = slice(0, 100)
    assert weights(long)[0, moved].min() > 0.9


def test_where_nobody_knows_what_moves_all_readings_say_what_is_usual():
    found = residual_of(60.0)
    blind = Residual(values=found.values, column=found.column, episode=found.episode)
    assert usual_size(blind)[0, 0] < 1e-6 < usual_size(found)[0, 0]


def test_what_is_planted_in_a_joint_that_rests_most_of_the_time_is_found_again():
    truth = {
        "actuation/elbow_flex/kp": 10.4,
        "actuation/elbow_flex/damping": 1.4,
        "actuation/elbow_flex/frictionloss": 0.15,
    }
    episodes = [recorded(truth, seconds=12.0, seed=s, moved_s=1.5) for s in range(2)]
    space = WORLD.catalogue.select(*truth)
    found = space.decode(fitted(Problem(WORLD, episodes, space, threads=1), print).u[None])[0]
    for name, value in truth.items():
        assert found[name] == pytest.approx(value, rel=0.02), name
