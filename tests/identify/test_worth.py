"""Errors that last count as few, and hold what was believed only where readings are silent."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.identify.descent import _cost
from trueup.identify.problem import Residual
from trueup.identify.worth import lasting


def residual(values: np.ndarray, episodes: int = 1) -> Residual:
    episode = np.repeat(np.arange(episodes), len(values) // episodes)
    return Residual(values=values[None], column=np.zeros(len(values), int), episode=episode)


@pytest.mark.parametrize("held", [1, 5, 20])
def test_an_error_that_stays_for_some_readings_counts_once(held):
    noise = np.random.default_rng(0).standard_normal(40_000 // held)
    assert lasting(residual(np.repeat(noise, held)))[0] == pytest.approx(held, rel=0.2)


def test_errors_of_two_recordings_do_not_hang_together():
    values = np.concatenate([np.full(50, 1.0), np.full(50, -1.0)])
    joined, apart = lasting(residual(values)), lasting(residual(values, episodes=2))
    assert apart[0] > joined[0]


def test_between_its_ends_belief_costs_nothing_and_beyond_as_the_distance_squared():
    here = residual(np.zeros(10))
    ends = np.array([[0.2, 0.2], [0.6, 0.6]])
    u = np.array([[0.3, 0.5], [0.7, 0.5], [0.8, 0.5], [0.1, 0.1]])
    still = Residual(values=np.zeros((4, 10)), column=here.column, episode=here.episode)
    cost = _cost(still, u, ends, np.array([2.0, 2.0]), np.ones(1))
    assert cost == pytest.approx([0.0, 0.02, 0.08, 0.04])
