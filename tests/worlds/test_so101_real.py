"""The nominal arm against recordings of a real one that it was not chosen on."""

from __future__ import annotations

import numpy as np

from benchmarks.nominal import SETS, replay_error, unseen_motions


def test_nominal_gains_follow_the_real_arm_closer_than_published_ones(real_data):
    folder = real_data / "so101-real-motions"
    motions = unseen_motions(folder)
    assert len(motions) >= 10
    error = {
        name: np.mean([replay_error(folder / m, seconds=20.0, **numbers) for m in motions])
        for name, numbers in SETS.items()
    }
    assert error["ours"] < 0.02
    assert error["ours"] < 0.7 * error["the stock model"]
    assert error["ours"] < error["a published servo model"]
    assert error["ours"] < error["a published bench fit"]
