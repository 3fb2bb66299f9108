"""The nominal arm against recordings of a real one: a test that is not circular."""

from __future__ import annotations

import pytest

from benchmarks.nominal import SETS, replay_error


@pytest.mark.parametrize("motion", ["prbs_excitation", "friction_gravity", "triangle_wave"])
def test_nominal_gains_follow_the_real_arm_closer_than_published_ones(real_data, motion):
    folder = real_data / "so101-real-motions" / motion
    error = {name: replay_error(folder, seconds=20.0, **numbers) for name, numbers in SETS.items()}
    assert error["ours"] < 0.02
    assert error["ours"] < 0.7 * error["the stock model"]
    assert error["ours"] < error["a published servo model"]
