"""Clouds find what a straight line would, stay honest where nothing is smooth, and tell no more."""

import numpy as np
import pytest

from trueup.identify.probing.cloud import Belief, settle
from trueup.identify.problem import Residual

WIDE = Belief(mean=np.full(3, 0.5), covariance=np.diag(np.full(3, 0.3**2)))


class Readings:
    """Forty readings in units of their noise, straight in two of three parameters or with jumps."""

    def __init__(self, seed: int, *, jumps: float = 0.0) -> None:
        self.generator = np.random.default_rng(seed)
        self.slopes = 20.0 * self.generator.standard_normal((3, 40))
        self.slopes[2] = 0.0
        self.jumps = jumps
        self.truth = self.generator.uniform(0.2, 0.8, 3)
        self.measured = self._simulated(self.truth[None])[0] + self.generator.standard_normal(40)

    def residual(self, u: np.ndarray) -> Residual:
        zeros = np.zeros(40, int)
        return Residual(values=self._simulated(u) - self.measured, column=zeros, episode=zeros)

    def exact(self, prior: Belief) -> Belief:
        """The posterior of a straight problem."""
        precision = self.slopes @ self.slopes.T + np.linalg.inv(prior.covariance)
        pull = self.slopes @ self.measured + np.linalg.solve(prior.covariance, prior.mean)
        return Belief(mean=np.linalg.solve(precision, pull), covariance=np.linalg.inv(precision))

    def _simulated(self, u: np.ndarray) -> np.ndarray:
        smooth = u @ self.slopes
        return smooth + self.jumps * np.sign(np.sin(40.0 * smooth))


@pytest.mark.parametrize("seed", range(3))
def test_where_all_is_straight_it_is_the_exact_posterior(seed):
    readings = Readings(seed)
    found = settle(readings, WIDE, np.random.default_rng(seed)).belief
    exact = readings.exact(WIDE)
    assert (np.abs(found.mean - exact.mean)[:2] < exact.spread[:2]).all()
    assert found.spread[:2] == pytest.approx(exact.spread[:2], rel=0.5)


def test_what_no_reading_shows_stays_as_it_was_believed():
    found = settle(Readings(0), WIDE, np.random.default_rng(0)).belief
    assert found.spread[2] > 0.8 * WIDE.spread[2]
    assert abs(found.mean[2] - WIDE.mean[2]) < 0.5 * WIDE.spread[2]


def test_intervals_hold_where_a_slope_would_be_nonsense():
    """Jumps of three times the noise: a difference over 0.001 is off by hundreds."""
    inside = []
    for seed in range(30):
        readings = Readings(seed, jumps=3.0)
        found = settle(readings, WIDE, np.random.default_rng(seed)).belief
        inside += list((np.abs(found.mean - readings.truth) < 1.645 * found.spread)[:2])
        assert found.spread[:2].max() < 0.1
    assert np.mean(inside) > 0.75


def test_the_same_seed_gives_the_same_answer():
    one, two = (settle(Readings(1), WIDE, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one.belief.mean, two.belief.mean)
    assert one.points == two.points


def test_a_far_truth_is_found_from_a_prior_that_does_not_expect_it():
    readings = Readings(2)
    narrow = Belief(mean=np.full(3, 0.9), covariance=np.diag(np.full(3, 0.1**2)))
    found = settle(readings, narrow, np.random.default_rng(0)).belief
    assert np.abs(found.mean - readings.exact(narrow).mean)[:2].max() < 0.05
