"""Trials: counted, recorded, resumed, and kept whatever goes wrong."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from tests.deploy.robots import REACH, still, world
from trueup.deploy import (
    Fault,
    Miswired,
    NotArmed,
    Operator,
    Outcomes,
    Series,
    attempt,
    deploy,
)
from trueup.episodes import Dataset, Outcome
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted
from trueup.evaluate import trials as drawn
from trueup.hardware import Robot, Stopped, open_robot


@pytest.fixture(scope="module")
def robot():
    with open_robot(f"rehearsal:benign@{REACH}", cells=3, threads=1) as robot:
        robot.enable()
        yield robot


class Wordless(Miswired):
    """A robot that is as it should be, but cannot tell how a trial went."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot, Fault(), world())

    def verdict(self):
        return None


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return still(tmp_path_factory.mktemp("policy"))


def test_trials_are_episodes_with_outcome_labels_and_origin(robot, policy, tmp_path):
    series = Series(trials=5, labels={"lighting": "dim"}, address="here")
    done = attempt(policy, robot, world(), series, tmp_path / "d")
    assert done.trials.tolist() == [0, 1, 2, 3, 4]
    data = Dataset.open(tmp_path / "d")
    assert len(data) == 5
    for k, episode in enumerate(data):
        assert episode.outcome in (Outcome.SUCCESS, Outcome.FAILURE)
        assert episode.labels["lighting"] == "dim"
        assert episode.origin["trial"] == k
        assert episode.origin["label"] == "sim-to-sim"
        assert episode.origin["seed"] == done.seeds[k]
    low, high = done.interval()
    assert low <= done.share <= high


def test_trials_begin_as_episodes_of_evaluate_do(robot, policy, tmp_path):
    """Seeds are shared with `trueup evaluate`, so that the two can be compared in pairs."""
    done = attempt(policy, robot, world(), Series(trials=4), tmp_path / "d")
    _, seeds = drawn(world().space, 4, seed=0)
    np.testing.assert_array_equal(done.seeds, seeds)
    simulated = evaluate(world(), piloted(policy), world().space.nominal(), seeds)
    assert simulated.success.shape == done.success.shape
    targets = [e["target_position"].values[0] for e in Dataset.open(tmp_path / "d")]
    assert len(np.unique(np.round(targets, 6), axis=0)) == 4


def test_a_series_goes_on_where_it_stopped(robot, policy, tmp_path):
    class Impatient(Operator):
        turns = 0

        def turn(self):
            self.turns += 1
            return "stop" if self.turns == world().steps + 10 else None

    series = Series(trials=6, address="here")
    with pytest.raises(Stopped, match="operator"):
        attempt(policy, robot, world(), series, tmp_path / "d", operator=Impatient())
    outcomes = [e.outcome for e in Dataset.open(tmp_path / "d")]
    assert outcomes.count(Outcome.ABORTED) == 3
    assert len(outcomes) == 6
    again = attempt(policy, robot, world(), series, tmp_path / "d")
    assert again.resumed == 3
    assert again.trials.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(Dataset.open(tmp_path / "d")) == 9
    once_more = attempt(policy, robot, world(), series, tmp_path / "d")
    assert once_more.resumed == 6
    np.testing.assert_array_equal(once_more.success, again.success)


def test_a_folder_of_another_series_is_refused(robot, policy, tmp_path):
    attempt(policy, robot, world(), Series(trials=1), tmp_path / "d")
    with pytest.raises(TrueupError, match="holds another series: its series_seed is 0"):
        attempt(policy, robot, world(), Series(trials=1, seed=5), tmp_path / "d")


def test_the_operator_judges_where_the_robot_cannot(robot, policy, tmp_path):
    mute = Wordless(robot)
    asked: list[int] = []

    class Present(Operator):
        present = True

        def verdict(self, trial):
            asked.append(trial)
            return "redo" if len(asked) == 1 else "success"

    series = Series(trials=3, seconds=0.4)
    done = attempt(policy, mute, world(), series, tmp_path / "d", operator=Present())
    assert asked == [0, 0]
    assert done.successes == 3
    kept = [e.outcome for e in Dataset.open(tmp_path / "d")]
    assert kept.count(Outcome.ABORTED) == 3  # what was done again is still on record
    with pytest.raises(TrueupError, match="Nobody is there"):  # told before anything moves
        attempt(policy, mute, world(), Series(trials=4, seconds=0.4), tmp_path / "d")
    assert len(Dataset.open(tmp_path / "d")) == 6


def test_a_verdict_that_never_comes_loses_nothing(robot, policy, tmp_path):
    class Leaving(Operator):
        present = True

    with pytest.raises(TrueupError, match="Nobody is there"):
        attempt(
            policy,
            Wordless(robot),
            world(),
            Series(trials=3, seconds=0.4),
            tmp_path / "d",
            operator=Leaving(),
        )
    assert [e.outcome for e in Dataset.open(tmp_path / "d")] == [Outcome.ABORTED] * 3


def test_a_real_robot_needs_leave(robot, policy, tmp_path):
    arm = Wordless(robot)
    arm.real = True
    with pytest.raises(NotArmed, match="nothing moves it without your say"):
        deploy(policy, arm, world(), Series(trials=1), tmp_path / "d", armed=False)
    assert not (tmp_path / "d").exists()


def test_a_stopped_robot_goes_back_where_that_is_asked(robot, policy, tmp_path):
    class Alarmed(Operator):
        def turn(self):
            return "stop"

    robot.reset(np.array([1, 2, 3]))
    home = robot.hold
    with pytest.raises(Stopped):
        deploy(
            policy,
            robot,
            world(),
            Series(trials=3),
            tmp_path / "d",
            armed=False,
            check=False,
            fallback="rest",
            operator=Alarmed(),
        )
    np.testing.assert_allclose(robot.hold, home)


def test_shadow_trials_are_not_judged(robot, policy, tmp_path):
    series = Series(trials=2, shadow=True, seconds=0.4)
    done = attempt(policy, robot, world(), series, tmp_path / "d")
    assert not done.success.any()
    assert [e.outcome for e in Dataset.open(tmp_path / "d")] == [None, None]
    assert "proposed" in Dataset.open(tmp_path / "d")[0].signals


def test_nothing_is_known_of_no_trials():
    none = Outcomes(
        success=np.zeros(0, bool),
        trials=np.zeros(0, int),
        seeds=np.zeros(0, np.uint64),
        stopped={},
        turns=(),
        resumed=0,
    )
    assert np.isnan(none.share)
    assert none.interval() == (0.0, 1.0)


FULL = dedent("""
    import json, resource, signal, sys
    from pathlib import Path
    from tests.deploy.robots import REACH, still, world
    from trueup.deploy import Series, attempt
    from trueup.errors import TrueupError
    from trueup.hardware import open_robot

    folder = Path(sys.argv[1])
    policy = still(folder)
    with open_robot(f"rehearsal:benign@{REACH}", cells=2, threads=1) as robot:
        robot.enable()
        attempt(policy, robot, world(), Series(trials=2), folder / "d")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
        try:
            attempt(policy, robot, world(), Series(trials=4), folder / "d")
        except TrueupError as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            print(json.dumps([error.what, error.fix]))
""")


def test_what_cannot_be_stored_in_its_place_is_stored_elsewhere(
    robot, policy, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = tmp_path / "d" / "data"

    class Clumsy(Operator):
        def turn(self):
            if data.is_dir():
                shutil.rmtree(data)
                data.write_text("a file in the way")
            return None

    attempt(policy, robot, world(), Series(trials=1), tmp_path / "d")
    with pytest.raises(TrueupError, match=r"3 trials are in .*rescued") as caught:
        attempt(policy, robot, world(), Series(trials=4), tmp_path / "d", operator=Clumsy())
    (rescued,) = tmp_path.glob("trueup-rescued-*")
    assert str(rescued) in caught.value.what
    assert [e.origin["trial"] for e in Dataset.open(rescued)] == [1, 2, 3]


def test_a_disk_that_fills_is_told_and_the_next_run_goes_on(tmp_path):
    """A limit on file size stands for a disk without room: every write beyond it fails."""
    assert hasattr(resource, "RLIMIT_FSIZE")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    what, fix = json.loads(done.stdout)
    assert "was not stored" in what
    assert "run the same command again" in fix
    assert len(Dataset.open(tmp_path / "d")) == 2
