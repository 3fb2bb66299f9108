"""The nominal arm over motions of a real one."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.nominal import replay_error, unseen_motions
from tests.replay.recordings import real_episode
from trueup.replay import errors_of, replayed
from trueup.worlds import get

ARM_JOINTS = 5
SECONDS = 20.0


@pytest.fixture(scope="module")
def motions(real_data):
    folder = real_data / "so101-real-motions"
    return {
        name: (folder / name, real_episode(folder / name, seconds=SECONDS))
        for name in unseen_motions(folder)[::3]
    }


def rmse(replay):
    return np.array(
        [
            np.sqrt(np.mean(tracks["joint_position"].residual[0, :, :ARM_JOINTS] ** 2))
            for tracks in replay.tracks
        ]
    )


def test_open_loop_is_what_the_benchmark_measures(motions):
    replay = replayed(get("so101/arm"), [episode for _, episode in motions.values()])
    found = rmse(replay)
    for (name, (folder, _)), error in zip(motions.items(), found, strict=True):
        assert error == pytest.approx(replay_error(folder, seconds=SECONDS), rel=0.02), name
    assert 0.005 < found.mean() < 0.02
    assert not replay.broken.any()


def test_teacher_forcing_leaves_less(motions):
    episodes = [episode for _, episode in motions.values()]
    whole, windows = (
        rmse(replayed(get("so101/arm"), episodes, window_s=w, signals=["joint_position"]))
        for w in (None, 0.2)
    )
    assert (windows < whole).mean() > 0.9
    assert windows.mean() < 0.8 * whole.mean()


def test_what_moves_goes_along(motions):
    replay = replayed(get("so101/arm"), [motions["actuator_bandwidth"][1]])
    errors = errors_of(replay.tracks[0]["joint_position"])
    moving = [c for c in errors.columns.values() if c.correlation is not None]
    assert len(moving) >= 4
    assert min(c.correlation or 0.0 for c in moving) > 0.95
    assert abs(np.median([c.lag_s or 0.0 for c in moving])) < 0.1
