"""Errors that hang together are worth less, by as much as a thousand repetitions say."""

import numpy as np
import pytest

from trueup.identify.problem import Residual
from trueup.identify.sandwich import hanging_together, independent, inflation
from trueup.identify.target import Slopes

N, D = 1200, 3
SPREAD = np.full(D, 100.0)
TIME = np.arange(N) / 50.0
SLOPES = np.stack([np.sin(TIME), np.cos(0.7 * TIME), np.ones(N)], axis=1)


def errors(generator, share: float) -> np.ndarray:
    """White noise where `share` is 0; each error mostly the last one again where it is near 1."""
    found, white = np.zeros(N), generator.standard_normal(N)
    for t in range(1, N):
        found[t] = share * found[t - 1] + np.sqrt(1.0 - share**2) * white[t]
    return found


def residual(values: np.ndarray) -> Residual:
    return Residual(
        values=values[None], column=np.zeros(N, int), episode=(np.arange(N) >= N // 2).astype(int)
    )


def covariances(share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    values = errors(np.random.default_rng(seed), share)
    seen = Slopes(values=values / values.std(), slopes=SLOPES / values.std())
    return independent(seen, SPREAD), hanging_together(seen, residual(values), SPREAD)


@pytest.mark.parametrize("share", [0.0, 0.6, 0.9])
def test_the_spread_is_that_of_repeated_fits(share):
    generator = np.random.default_rng(3)
    fits = [np.linalg.lstsq(SLOPES, errors(generator, share), rcond=None)[0] for _ in range(300)]
    told = np.mean([np.sqrt(np.diag(covariances(share, seed)[1])) for seed in range(20)], axis=0)
    assert told == pytest.approx(np.std(fits, axis=0), rel=0.3)


def test_white_errors_are_left_alone():
    alone, together = covariances(0.0, 1)
    assert np.diag(together) == pytest.approx(np.diag(alone), rel=0.1)


def test_no_error_makes_readings_worth_more_than_independent_ones():
    values = errors(np.random.default_rng(0), 0.0) * np.where(np.arange(N) % 2, 1.0, -1.0)
    seen = Slopes(values=values, slopes=SLOPES)
    wider = hanging_together(seen, residual(values), SPREAD) - independent(seen, SPREAD)
    assert np.linalg.eigvalsh(wider).min() > -1e-9


def test_a_direction_without_a_trace_keeps_its_prior():
    seen = Slopes(values=errors(np.random.default_rng(0), 0.9), slopes=SLOPES * [1.0, 1.0, 0.0])
    found = hanging_together(seen, residual(seen.values), np.ones(D))
    assert found[2, 2] == pytest.approx(1.0, rel=1e-4)
    assert np.diag(found).max() <= 1.0 + 1e-9


def test_a_change_that_lasts_tells_less_where_errors_last_too():
    lasting, brief = np.sin(TIME), np.sin(40.0 * TIME)
    white = errors(np.random.default_rng(2), 0.0)
    slow = errors(np.random.default_rng(2), 0.9)
    assert inflation(white, lasting, residual(white)) < 1.3
    assert inflation(slow, lasting, residual(slow)) == pytest.approx(1.9 / 0.1, rel=0.5)
    assert inflation(slow, brief, residual(slow)) < 2.0
    assert inflation(slow, np.zeros(N), residual(slow)) == 1.0


def test_readings_of_no_error_at_all_leave_a_covariance():
    """A simulator replayed in itself, in units of a noise that is next to nothing."""
    alike = SLOPES[:, :1] * [1.0, 1.0, 1.0 + 1e-12]
    values = errors(np.random.default_rng(0), 0.6)
    for slopes in (1e24 * SLOPES, 1e24 * alike, SLOPES * [1e12, 1e3, 1e-6]):
        seen = Slopes(values=values, slopes=slopes)
        for found in (independent(seen, SPREAD), hanging_together(seen, residual(values), SPREAD)):
            assert np.isfinite(found).all()
            assert (np.diag(found) >= 0.0).all() and (np.diag(found) <= 1.001 * SPREAD**2).all()
            assert np.linalg.eigvalsh(found).min() >= -1e-9 * np.diag(found).max()
