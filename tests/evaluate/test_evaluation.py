"""What came of many episodes: shares, failures, parts, and files that are whole or refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.evaluate.planted import SPACE, planted
from tests.evaluate.test_play import ARRAYS, WORLD, broken, spring
from trueup.errors import TrueupError
from trueup.evaluate import Evaluation, evaluate, exact, jeffreys, wilson


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Evaluation:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("log"))  # MuJoCo's
        return evaluate(WORLD, spring, broken(30, 4, 20), np.arange(100, 130), batch=8)


def test_the_share_comes_with_its_interval(played):
    k, n = int(played.success.sum()), 30
    assert played.success_share == k / n
    assert played.interval() == wilson(k, n)
    assert played.interval("jeffreys") == jeffreys(k, n)
    assert played.interval("exact", confidence=0.8) == exact(k, n, 0.8)


def test_every_failure_can_be_played_again(played):
    failures = played.failures
    assert [f.episode for f in failures] == np.flatnonzero(~played.success).tolist()
    assert {f.end for f in failures} == {"failure", "timeout", "diverged"}
    for failure in (failures[0], failures[-1]):
        again = evaluate(WORLD, spring, failure.point, [failure.seed])
        assert again.end(0) == failure.end
        assert again.return_[0] == failure.return_


def test_parts_keep_their_divergences(played):
    part = played.subset([20, 3, 4])
    assert len(part) == 3
    assert sorted((d.world, d.seed) for d in part.divergences) == [(0, 120), (2, 104)]
    assert part.diverged.tolist() == [True, False, True]
    mask = played.subset(played.success)
    assert mask.success.all() and not mask.divergences
    assert played.subset(slice(5)).points == played.points[:5]


def test_a_saved_evaluation_is_the_same(played, tmp_path):
    file = tmp_path / "new" / "evaluation.npz"
    played.save(file)
    assert [path.name for path in file.parent.iterdir()] == ["evaluation.npz"]
    read = Evaluation.load(file)
    assert read.world == played.world
    assert read.points == played.points
    assert read.divergences == played.divergences
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(read, name), getattr(played, name))
        assert getattr(read, name).dtype == getattr(played, name).dtype


def test_an_evaluation_without_parameters_is_kept(tmp_path):
    from trueup.space import Point

    done = evaluate(WORLD, spring, Point({}), np.arange(3))
    done.save(tmp_path / "e.npz")
    read = Evaluation.load(tmp_path / "e.npz")
    assert read.points == done.points
    assert len(read) == 3


def test_a_truncated_file_is_refused(played, tmp_path):
    file = tmp_path / "evaluation.npz"
    played.save(file)
    data = file.read_bytes()
    for size in (0, 10, len(data) // 2, len(data) - 5):
        file.write_bytes(data[:size])
        with pytest.raises(TrueupError, match=r"evaluation\.npz could not be read"):
            Evaluation.load(file)


def test_a_file_with_a_changed_byte_is_refused_or_the_same(played, tmp_path):
    file = tmp_path / "evaluation.npz"
    played.save(file)
    good, refused = file.read_bytes(), 0
    for place in range(0, len(good), 97):
        data = bytearray(good)
        data[place] ^= 0xFF
        file.write_bytes(data)
        try:
            read = Evaluation.load(file)
        except TrueupError:
            refused += 1
        else:
            np.testing.assert_array_equal(read.return_, played.return_)
            assert read.points == played.points
    assert refused > 10


def test_other_files_are_refused(tmp_path):
    with pytest.raises(TrueupError, match=r"There is no evaluation at .*none\.npz"):
        Evaluation.load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", x=np.arange(3))
    with pytest.raises(TrueupError, match="This is not an evaluation: its format is 'None'"):
        Evaluation.load(tmp_path / "other.npz")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    with pytest.raises(TrueupError, match="could not be read"):
        Evaluation.load(tmp_path / "objects.npy")
    with pytest.raises(TrueupError, match="could not be read"):
        Evaluation.load(tmp_path)


def test_nothing_in_a_file_is_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return print, ("executed",)

    np.savez(tmp_path / "trap.npz", allow_pickle=True, format=np.array([Trap()], dtype=object))
    with pytest.raises(TrueupError, match="could not be read"):
        Evaluation.load(tmp_path / "trap.npz")


def test_an_episode_ends_in_one_way():
    good = planted(lambda points: np.array(0.5), 10, space=SPACE)
    with pytest.raises(TrueupError, match="Episode 0 of this evaluation ended in 2 ways"):
        Evaluation(**{**vars(good), "failure": np.ones(10, bool)})
    with pytest.raises(TrueupError, match=r"'steps' of shape \(9,\)"):
        Evaluation(**{**vars(good), "steps": np.zeros(9, int)})
