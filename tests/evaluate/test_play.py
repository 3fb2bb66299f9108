"""Episodes by the thousand: each the same in any batch, and each ending in one way."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.pendulum import Pendulum, damping, mass
from trueup.effects.sensing import sensing
from trueup.errors import TrueupError
from trueup.evaluate import Evaluation, evaluate, trials
from trueup.simulate import CpuWorlds, Rollout, Worlds
from trueup.space import Point, Points
from trueup.streams import Streams
from trueup.worlds import Compiled

DAMPING = "actuation/swing/damping"
ARRAYS = ("seeds", "success", "failure", "timeout", "diverged", "return_", "time_s", "steps")


class Tripwire(Pendulum):
    """A pendulum that must not swing back."""

    name = "test/tripwire"

    def failure(self, s):
        return s["swing_position"][:, 0] < -0.3


WORLD = Tripwire(damping(low=-1000.0), mass(), *sensing())


def spring(worlds: Worlds):
    """A feedback that differs from episode to episode: some swing out, some back, some nowhere."""
    goal = 2.4 * Streams(worlds.seeds, salt=7).uniform(1) - 1.2
    return lambda k, observation: goal + 0.3 * (goal - observation["position"])


def same(a: Evaluation, b: Evaluation) -> None:
    assert a.points == b.points
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.fixture(scope="module")
def whole() -> Evaluation:
    return evaluate(WORLD, spring, *trials(WORLD.space, 50, 3))


def test_every_way_to_end_happens_and_only_one_at_a_time(whole):
    ends = np.stack([whole.success, whole.failure, whole.timeout, whole.diverged])
    assert (ends.sum(axis=0) == 1).all()
    assert ends[:3].any(axis=1).all()


@pytest.mark.parametrize("batch", [1, 7, 49, 50, 64])
def test_an_episode_does_not_depend_on_its_batch(whole, batch):
    points, seeds = trials(WORLD.space, 50, 3)
    same(evaluate(WORLD, spring, points, seeds, batch=batch, threads=1), whole)


def test_an_episode_does_not_depend_on_its_neighbours(whole):
    points, seeds = trials(WORLD.space, 50, 3)
    order = np.random.default_rng(0).permutation(50)[:20]
    same(evaluate(WORLD, spring, points[order], seeds[order], batch=6), whole.subset(order))


def test_what_is_counted_is_what_a_rollout_records(whole):
    points, seeds = trials(WORLD.space, 50, 3)
    worlds = CpuWorlds(Compiled(WORLD), 50)
    worlds.reset(points, seeds)
    run = Rollout(worlds, record=("position",)).run(spring(worlds), WORLD.steps)
    np.testing.assert_array_equal(run.success, whole.success)
    np.testing.assert_array_equal(run.end + 1, whole.steps)
    for i in range(50):
        np.testing.assert_allclose(run.reward[: run.end[i] + 1, i].sum(), whole.return_[i])
    when = run.time_s[run.end, np.arange(50)]
    np.testing.assert_array_equal(whole.time_s, np.where(run.success, when, np.nan))


def test_one_engine_plays_batches_of_one_size():
    seen = []

    def begin(worlds):
        seen.append((id(worlds), worlds.n))
        return spring(worlds)

    evaluate(WORLD, begin, *trials(WORLD.space, 10, 0), batch=4)
    assert seen == [(seen[0][0], 4)] * 3


def test_a_batch_ends_with_its_last_episode():
    calls = []

    def begin(worlds):
        out = np.full((worlds.n, 1), 1.5)
        return lambda k, observation: calls.append(k) or out

    done = evaluate(WORLD, begin, *trials(WORLD.space, 6, 0))
    assert done.success.all()
    assert len(calls) == done.steps.max() < WORLD.steps


def test_progress_counts_every_episode_once():
    told = []
    evaluate(WORLD, spring, *trials(WORLD.space, 11, 0), batch=4, on_progress=told.append)
    assert sum(told) == 11


def broken(n: int, *rows: int) -> Points:
    """Nominal worlds, but for some whose physics breaks down."""
    values = np.full((n, 1), 0.2)
    values[list(rows)] = -1000.0
    return Points((DAMPING,), values)


def test_a_divergence_is_told_with_its_episode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo's log
    done = evaluate(WORLD, spring, broken(9, 2, 7), np.arange(9), batch=3)
    assert np.flatnonzero(done.diverged).tolist() == [2, 7]
    assert [(d.world, d.seed, d.point[DAMPING]) for d in done.divergences] == [
        (2, 2, -1000.0),
        (7, 7, -1000.0),
    ]
    assert not (done.success & done.diverged).any()


def test_an_episode_that_is_over_is_asked_for_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def begin(worlds):
        lost = worlds.points[:, :1] < 0  # as a network would answer readings that are not finite
        return lambda k, o: np.where(lost & (k > 10), np.nan, 0.0)

    done = evaluate(WORLD, begin, broken(5, 1), np.arange(5))
    assert np.flatnonzero(done.diverged).tolist() == [1]
    assert done.steps[1] <= 10
    assert done.timeout.sum() == 4


def test_a_command_that_is_no_number_is_told_with_its_episode():
    def begin(worlds):
        bad = worlds.seeds[:, None] == 15
        return lambda k, o: np.where(bad & (k == 3), np.nan, 0.0)

    words = r"'swing' in episode 5 \(seed 15\) became nan after 0.06 s"
    with pytest.raises(TrueupError, match=words):
        evaluate(WORLD, begin, Point({}), np.arange(10, 20), batch=4)


def test_one_point_for_all_and_none_named():
    nominal = evaluate(WORLD, spring, Point({}), np.arange(6))
    named = evaluate(WORLD, spring, WORLD.space.nominal(), np.arange(6))
    np.testing.assert_array_equal(nominal.return_, named.return_)
    assert nominal.points.names == ()


@pytest.mark.parametrize(
    ("points", "seeds", "options", "words"),
    [
        (broken(3), np.arange(4), {}, "3 points were to be evaluated with 4 seeds"),
        (Point({}), [], {}, "0 points were to be evaluated with 0 seeds"),
        (Point({}), [1], {"batch": 0}, "A batch of 0 cannot be played"),
        (Point({"actuation/swing/dampin": 1.0}), [1], {}, "Did you mean 'actuation/swing/damping'"),
        (Point({DAMPING: 11.0}), [1], {}, "out of its bounds"),
        (Point({}), [-1], {}, "1 seeds of type int64"),
    ],
)
def test_what_cannot_be_played_is_refused(points, seeds, options, words):
    with pytest.raises(TrueupError, match=words):
        evaluate(WORLD, spring, points, seeds, **options)


def test_a_wrong_shape_is_told_by_the_engine():
    with pytest.raises(TrueupError, match=r"A command of shape \(1, 2\)"):
        evaluate(WORLD, lambda worlds: lambda k, o: np.zeros((1, 2)), Point({}), [1])
