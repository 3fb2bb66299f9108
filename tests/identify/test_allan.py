"""Noise of known strength is found again, and what cannot be known is said."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.identify.allan import allan_noise, allan_variance, noise

RATE = 100.0


def judged(strengths, n, seed=0):
    generator = np.random.default_rng(seed)
    log = noise(strengths, n, RATE, generator)
    return allan_noise(log, RATE, unit="rad/s", generator=generator).strengths


def test_white_noise_is_found_with_an_interval_that_holds_it():
    hits = 0
    for seed in range(20):
        white = judged({"white": 0.01}, 5000, seed)["white"]
        assert white.value == pytest.approx(0.01, rel=0.05)
        hits += white.low <= 0.01 <= white.high
    assert hits >= 15


def test_all_kinds_are_told_apart_by_a_long_log():
    planted = {"white": 0.01, "instability": 0.01, "walk": 0.003}
    found = judged(planted, 200_000)
    for kind, value in planted.items():
        assert found[kind].seen
        assert found[kind].value == pytest.approx(value, rel=0.35), kind
    assert not found["quantization"].value > 1e-4


def test_a_short_log_says_that_it_is_too_short_for_the_slow_kinds():
    found = judged({"white": 0.01}, 5000)
    for kind in ("instability", "walk"):
        assert not found[kind].seen
        assert "Leave the sensor still" in found[kind].sentence
        assert found[kind].high > 0.0


def test_the_flicker_floor_is_where_the_standard_puts_it():
    log = noise({"instability": 1.0}, 2**17, RATE, np.random.default_rng(1))
    tau, variance, _ = allan_variance(log, RATE)
    middle = (tau > 0.1) & (tau < 20)
    assert np.sqrt(variance[middle]).mean() == pytest.approx(
        np.sqrt(2 * np.log(2) / np.pi), rel=0.1
    )


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (np.zeros(1000), "frozen"),
        (np.arange(50.0), "at least 200"),
        (np.full(1000, np.nan), "no numbers"),
    ],
)
def test_a_useless_log_is_refused_with_a_reason(log, words):
    with pytest.raises(TrueupError, match=words):
        allan_noise(log, RATE, unit="1", generator=np.random.default_rng(0))


def test_a_real_imu_has_the_noise_its_readme_states():
    root = os.environ.get("TRUEUP_DATA") or Path(__file__).parents[3] / "shared" / "data"
    file = Path(root) / "imu-real" / "xsens_gyro.mat.gz"
    if not file.exists():
        pytest.skip("no recordings of a real IMU: TRUEUP_DATA names their folder")
    with gzip.open(file) as text:
        rows = np.loadtxt(text)[:5000]
    for axis, std in zip((1, 2, 3), (26.6, 26.8, 27.5), strict=True):
        log = rows[:, axis]
        found = allan_noise(log, RATE, unit="count", generator=np.random.default_rng(0)).strengths
        assert found["white"].value == pytest.approx(std / np.sqrt(RATE), rel=0.1)
