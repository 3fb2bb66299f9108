"""A world whose physics breaks down is ended, told and left behind; the others go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.pendulum import WELDED, Pendulum, Refused, damping
from trueup.simulate import CpuWorlds, Divergence
from trueup.space import Point
from trueup.worlds import Compiled

N = 4
ROOT = Path(__file__).parents[2]
WILD = {"actuation/swing/damping": -1000.0}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its log where the process stands."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def compiled() -> Compiled:
    return Compiled(Pendulum(damping(low=-1000.0)))


def batch_of(compiled: Compiled, wild: int | None = None) -> CpuWorlds:
    batch = CpuWorlds(compiled, N)
    points = [WILD if i == wild else {} for i in range(N)]
    batch.reset(compiled.space.points(points), 10 + np.arange(N))
    return batch


def run(batch: CpuWorlds, steps: int = 15):
    return [batch.step(batch.hold + 0.1) for _ in range(steps)]


def test_the_world_is_ended_and_told(compiled):
    batch = batch_of(compiled, wild=2)
    steps = run(batch)
    assert steps[-1].diverged.tolist() == [False, False, True, False]
    assert steps[-1].done[2]
    assert not steps[-1].success[2]
    assert steps[-1].reward[2] == 0.0
    (told,) = batch.divergences
    assert isinstance(told, Divergence)
    assert (told.world, told.seed) == (2, 12)
    assert told.point == compiled.space.point(WILD)
    assert "became NaN or huge" in told.reason
    assert str(told).startswith("world 2 (seed 12) at ")


def test_it_is_told_when_it_happened(compiled):
    batch = batch_of(compiled)
    for _ in range(5):
        batch.step(batch.hold)
    batch.batch.bind("qpos")[1] = np.nan
    batch.step(batch.hold)
    (told,) = batch.divergences
    assert told.time_s == pytest.approx(0.10, abs=0.021)  # within the control step after 0.10 s


def test_the_others_do_not_notice(compiled):
    results = []
    for wild in (None, 2):
        batch = batch_of(compiled, wild)
        steps = run(batch)
        others = [0, 1, 3]
        results.append(
            [step.observation["position"][others].tobytes() for step in steps]
            + [step.reward[others].tobytes() for step in steps]
        )
    assert results[0] == results[1]


def test_it_is_told_once_and_stands_still(compiled):
    batch = batch_of(compiled, wild=0)
    run(batch)
    before = batch.observation["position"][0].copy()
    run(batch, 5)
    assert len(batch.divergences) == 1
    np.testing.assert_array_equal(batch.observation["position"][0], before)


def test_seed_and_point_show_it_again(compiled):
    batch = batch_of(compiled, wild=2)
    run(batch)
    (told,) = batch.divergences
    stored = json.loads(json.dumps({"seed": told.seed, "point": told.point.to_json()}))
    again = CpuWorlds(compiled, 1)
    again.reset(Point.from_json(stored["point"]), stored["seed"])
    run(again)
    assert [d.reason for d in again.divergences] == [told.reason]
    assert again.divergences[0].time_s == told.time_s


def test_a_reset_revives_it(compiled):
    batch = batch_of(compiled, wild=2)
    run(batch)
    batch.reset(compiled.space.nominal(), 12, [2])
    steps = run(batch, 5)
    assert not steps[-1].diverged.any()
    healthy = CpuWorlds(compiled, 1)
    healthy.reset(compiled.space.nominal(), 12)
    last = run(healthy, 5)[-1]
    np.testing.assert_array_equal(
        last.observation["position"][0], steps[-1].observation["position"][2]
    )


def test_all_worlds_may_end(compiled):
    batch = CpuWorlds(compiled, N)
    batch.reset(compiled.space.point(WILD), np.arange(N))
    steps = run(batch)
    assert steps[-1].diverged.all()
    assert sorted(told.world for told in batch.divergences) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("qpos", np.nan, "positions"),
        ("qpos", 1e12, "positions"),
        ("qvel", np.nan, "velocities"),
        ("qvel", 1e12, "velocities"),
    ],
)
def test_a_planted_state_is_found(compiled, field, value, words):
    batch = batch_of(compiled)
    run(batch, 3)
    batch.batch.bind(field)[1] = value
    step = batch.step(batch.hold)
    assert step.diverged.tolist() == [False, True, False, False]
    assert batch.divergences[0].reason == f"{words} became NaN or huge"


class TestAWorldThatMujocoRefuses:
    @pytest.fixture
    def compiled(self) -> Compiled:
        return Compiled(Pendulum(Refused(), mjcf=WELDED))

    def started(self, compiled: Compiled, refused: int | None) -> CpuWorlds:
        batch = CpuWorlds(compiled, N)
        points = [{"environment/constraint/kind": 99.0 * (i == refused)} for i in range(N)]
        batch.reset(compiled.space.points(points), np.arange(N))
        return batch

    def test_is_told_with_mujocos_reason(self, compiled):
        batch = self.started(compiled, 1)
        (told,) = batch.divergences
        assert told.world == 1
        assert told.point["environment/constraint/kind"] == 99.0
        assert "constraint type" in told.reason
        assert batch.step(batch.hold).diverged.tolist() == [False, True, False, False]

    def test_comes_back_with_a_reset(self, compiled):
        batch = self.started(compiled, 1)
        batch.step(batch.hold)
        batch.reset(compiled.space.nominal(), 1, [1])
        assert not batch.step(batch.hold).diverged.any()

    def test_leaves_the_others_alone(self, compiled):
        results = []
        for refused in (None, 1):
            batch = self.started(compiled, refused)
            last = [batch.step(batch.hold + 0.1) for _ in range(5)][-1]
            results.append(np.delete(last.observation["position"], 1, axis=0).tobytes())
        assert results[0] == results[1]

    def test_may_be_refused_in_the_middle_of_an_episode(self, compiled):
        batch = self.started(compiled, None)
        batch.step(batch.hold)
        batch._fields["eq_type"][2] = 99
        assert batch.step(batch.hold).diverged.tolist() == [False, False, True, False]
        assert "constraint type" in batch.divergences[0].reason


def test_nothing_is_written_where_the_user_works(tmp_path):
    """MuJoCo's own habit is MUJOCO_LOG.TXT in the working folder, and lines on stderr."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.simulate.test_divergence import *\n"
        "made = Compiled(Pendulum(damping(low=-1000.0)))\n"
        "batch = batch_of(made, wild=2)\n"
        "run(batch)\n"
        "assert len(batch.divergences) == 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == []
    assert done.stderr == ""
