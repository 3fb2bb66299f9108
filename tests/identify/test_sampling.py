"""Weighted draws say what a distribution is, and when they say nothing."""

import numpy as np
import pytest

from trueup.identify.sampling import sampled

D = 6


def normal(mean: float, size: float):
    return lambda points: 0.5 * (((points - mean) / size) ** 2).sum(axis=1)


def drawn(cost, *, mean: float = 0.0, size: float = 1.0, draws: int = 400, seed: int = 0):
    generator = np.random.default_rng(seed)
    covariance = size**2 * np.eye(D)
    return sampled(cost, np.full(D, mean), covariance, generator=generator, draws=draws)


def test_a_right_approximation_is_worth_nearly_all_its_draws():
    found = drawn(normal(0.0, 1.0))
    assert found.draws == 400
    assert found.effective > 300
    assert np.abs(found.mean).max() < 0.2
    assert np.diag(found.covariance) == pytest.approx(np.ones(D), rel=0.3)


@pytest.mark.parametrize(("mean", "size"), [(0.6, 1.0), (0.0, 1.4), (-0.3, 0.7)])
def test_a_wrong_approximation_is_set_right(mean, size):
    found = drawn(normal(mean, size), draws=2000)
    assert found.enough
    assert found.mean == pytest.approx(np.full(D, mean), abs=0.15)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(np.full(D, size), rel=0.15)


def test_a_bound_cuts_off_what_lies_beyond():
    inside = normal(0.0, 1.0)
    found = drawn(lambda points: np.where((points[:, 0] > 0), inside(points), np.inf), draws=4000)
    assert found.mean[0] == pytest.approx(np.sqrt(2.0 / np.pi), abs=0.08)
    assert np.abs(found.mean[1:]).max() < 0.1


def test_draws_that_all_miss_say_that_they_say_nothing():
    found = drawn(normal(9.0, 0.05))
    assert not found.enough
    assert found.draws == 800  # there was a second round
    assert found.effective < 10


def test_the_same_seed_gives_the_same_draws():
    one, two = (drawn(normal(0.3, 1.1), seed=7) for _ in range(2))
    assert np.array_equal(one.mean, two.mean)
    assert one.effective == two.effective


def test_draws_none_of_which_is_possible_say_nothing():
    """As at the end of bounds, all of it outside."""
    found = drawn(lambda points: np.full(len(points), np.inf))
    assert found.effective == 0.0 and not found.enough
    assert np.isfinite(found.mean).all() and np.isfinite(found.covariance).all()
