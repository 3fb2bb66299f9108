"""Episodes from start to end, and what is kept of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.pendulum import Pendulum, damping
from trueup.errors import TrueupError, UnknownName
from trueup.simulate import CpuWorlds, Rollout
from trueup.worlds import Compiled

N = 4
STEPS = 20  # 0.4 s


@pytest.fixture
def batch() -> CpuWorlds:
    compiled = Compiled(Pendulum(damping(low=-1000.0)))
    batch = CpuWorlds(compiled, N)
    batch.reset(compiled.space.nominal(), np.arange(N))
    return batch


def still(batch: CpuWorlds):
    hold = batch.hold
    return lambda k, observation: hold


def swing(batch: CpuWorlds):
    """World 0 stays; the others swing out and succeed."""
    target = np.array([[0.0], [0.9], [0.9], [0.9]])
    return lambda k, observation: target


def test_runs_an_episode(batch):
    done = Rollout(batch).run(still(batch))
    assert done.end.tolist() == [STEPS - 1] * N
    assert not done.success.any()
    assert done.period_s == 0.02


def test_keeps_nothing_unless_asked(batch):
    done = Rollout(batch).run(still(batch))
    assert done.signals == {}
    assert done.action.size == done.time_s.size == done.reward.size == 0


def test_keeps_what_is_asked_for(batch):
    start = batch.observation["position"].copy()
    done = Rollout(batch, record=("position", "tip")).run(swing(batch))
    assert done.signals["position"].shape == (STEPS, N, 1)
    assert done.signals["tip"].shape == (STEPS, N, 3)
    assert done.action.shape == (STEPS, N, 1)
    assert done.reward.shape == (STEPS, N)
    np.testing.assert_allclose(done.time_s[:, 0], 0.02 * np.arange(1, STEPS + 1))
    np.testing.assert_array_equal(done.signals["position"][-1], batch.observation["position"])
    assert not np.array_equal(done.signals["position"][0], start)  # rows are after their step


def test_says_who_succeeded_and_when(batch):
    done = Rollout(batch, record=("position",)).run(swing(batch))
    assert done.success.tolist() == [False, True, True, True]
    for i in (1, 2, 3):
        reached = int(np.argmax(done.signals["position"][:, i, 0] > 0.5))
        assert done.end[i] == reached + 2  # success must last 0.06 s
    assert done.end[0] == STEPS - 1


def test_success_after_the_end_does_not_count(batch):
    late = lambda k, observation: np.full((N, 1), 0.0 if k < STEPS else 0.9)  # noqa: E731
    done = Rollout(batch).run(late, steps=3 * STEPS)
    assert not done.success.any()
    assert (done.end == STEPS - 1).all()


def test_says_who_diverged(batch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo's log
    batch.reset(batch.space.point({"actuation/swing/damping": -1000.0}), 3, [3])
    done = Rollout(batch).run(still(batch))
    assert done.diverged.tolist() == [False, False, False, True]
    assert not done.success[3]
    assert 0 <= done.end[3] < STEPS


def test_counts_steps_and_calls_back(batch):
    seen = []
    done = Rollout(batch, on_step=lambda k, step: seen.append((k, step.reward.shape))).run(
        still(batch), steps=3
    )
    assert seen == [(0, (N,)), (1, (N,)), (2, (N,))]
    assert done.end.tolist() == [-1] * N


def test_stops_when_every_episode_is_over(batch):
    seen = []
    batch.reset(batch.space.nominal(), 7)
    out = np.full((N, 1), 0.9)
    Rollout(batch, on_step=lambda k, step: seen.append(k)).run(lambda k, o: out)
    assert len(seen) < STEPS  # all succeeded before their time was over


def test_a_controller_sees_the_first_observation_first(batch):
    seen = []

    def controller(k, observation):
        seen.append(observation["position"].copy())
        return np.zeros((N, 1))

    first = batch.observation["position"].copy()
    done = Rollout(batch, record=("position",)).run(controller, steps=3)
    np.testing.assert_array_equal(seen[0], first)
    np.testing.assert_array_equal(seen[1:], done.signals["position"][:2])


def test_names_an_unknown_signal_before_it_starts(batch):
    with pytest.raises(UnknownName, match=r"no signal named 'positon'.*'position'"):
        Rollout(batch, record=("positon",)).run(still(batch))
    assert (batch.time_s == 0).all()


def test_is_kept_as_a_file_that_numpy_reads(batch, tmp_path):
    done = Rollout(batch, record=("position",)).run(swing(batch))
    path = tmp_path / "new" / "run.npz"
    done.save(path)
    assert [file.name for file in path.parent.iterdir()] == ["run.npz"]
    with np.load(path, allow_pickle=False) as kept:
        np.testing.assert_array_equal(kept["signal/position"], done.signals["position"])
        for name in ("time_s", "action", "reward", "success", "end", "diverged"):
            np.testing.assert_array_equal(kept[name], getattr(done, name))
        assert kept["period_s"] == 0.02


def test_a_failed_save_leaves_the_old_file(batch, tmp_path, monkeypatch):
    done = Rollout(batch, record=("position",)).run(swing(batch))
    path = tmp_path / "run.npz"
    done.save(path)
    before = path.read_bytes()

    def disk_full(stream, **_):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", disk_full)
    with pytest.raises(TrueupError, match="No space left on device"):
        done.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
