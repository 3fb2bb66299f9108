"""Rewards of any size: what the critic learns from does not depend on it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trueup.train.scaling import Scale

GAMMA = 0.9


def rewards(steps: int = 60, n: int = 8, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(0.3, 1.0, (steps, n))


def returns(rewards: np.ndarray) -> np.ndarray:
    """Discounted sums up to each step, worked out in the plainest way."""
    found, now = [], np.zeros(rewards.shape[1])
    for row in rewards:
        now = GAMMA * now + row
        found.append(now)
    return np.array(found)


def test_the_size_is_the_spread_of_the_returns():
    scale = Scale(8, GAMMA)
    for row in rewards():
        scale.scaled(row)
    assert scale.size == pytest.approx(returns(rewards()).std())


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
def test_the_unit_of_the_rewards_does_not_matter(factor):
    one, other = Scale(8, GAMMA), Scale(8, GAMMA)
    for row in rewards():
        np.testing.assert_allclose(other.scaled(factor * row), one.scaled(row), rtol=1e-6)


def test_an_end_cuts_the_return_of_its_row_alone():
    whole, cut = rewards(40), rewards(20, seed=1)
    scale, parts = Scale(8, GAMMA), []
    for row in whole:
        scale.scaled(row)
    parts.append(returns(whole))
    scale.end(np.array([2, 5]))
    last = parts[0][-1].copy()
    last[[2, 5]] = 0.0
    for row in cut:
        scale.scaled(row)
        last = GAMMA * last + row
        parts.append(last[None])
    assert scale.size == pytest.approx(np.concatenate(parts).std())


def test_rewards_that_never_differ_are_left_alone():
    scale = Scale(4, GAMMA)
    for _ in range(5):
        np.testing.assert_array_equal(scale.scaled(np.zeros(4)), np.zeros(4))
    assert scale.size == 1.0


def test_a_rare_huge_reward_is_clipped():
    scale = Scale(8, GAMMA)
    for row in rewards():
        scale.scaled(row)
    assert scale.scaled(np.array([1e6] + [0.0] * 7))[0] <= 10.0


def test_it_goes_on_from_its_state():
    scale = Scale(8, GAMMA)
    for row in rewards():
        scale.scaled(row)
    scale.end(np.arange(8))  # worlds restart where a training goes on
    again = Scale(8, GAMMA)
    again.restore(json.loads(json.dumps(scale.state())))
    for row in rewards(seed=3):
        np.testing.assert_array_equal(again.scaled(row), scale.scaled(row))
