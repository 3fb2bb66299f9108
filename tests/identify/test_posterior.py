"""A posterior holds the truth, says how it was checked, and takes nothing for granted."""

import numpy as np
import pytest

from tests.identify.planted import QUANTUM, WORLD, recorded
from trueup.identify.estimate import belief_of
from trueup.identify.fitting import fitted
from trueup.identify.posterior import (
    Posterior,
    approximated,
    believed,
    posterior_of,
    true_covariance,
)
from trueup.identify.problem import Problem, Residual
from trueup.identify.shares import shared
from trueup.identify.starts import starts_of
from trueup.identify.target import Target, delays_of
from trueup.replay import Replayer

TRUTH = {
    "actuation/elbow_flex/kp": 11.5,
    "actuation/elbow_flex/damping": 1.25,
    "actuation/elbow_flex/frictionloss": 0.24,
    "actuation/wrist_flex/kp": 14.5,
    "latency/action_delay": 0.023,
}
SPACE = WORLD.catalogue.select(*TRUTH)
AT = SPACE.encode(SPACE.point(TRUTH))[0]


@pytest.fixture(scope="module")
def problem() -> Problem:
    found = Problem(WORLD, [recorded(TRUTH, seconds=8.0)], SPACE, threads=1)
    found.residual(AT[None])  # learns its columns
    found.scale = np.full(len(found.columns), QUANTUM)
    return found


@pytest.fixture(scope="module")
def posterior(problem) -> Posterior:
    off = AT + 2e-3 * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    return believed(problem, off, draws=64)


def test_the_truth_is_as_likely_as_it_should_be(posterior):
    off = posterior.mean - AT
    assert off @ np.linalg.inv(posterior.covariance) @ off < 20.0  # chi², 5 degrees: 0.1 %
    assert posterior.shrink.max() < 0.3


def test_sampling_confirms_what_is_nearly_normal_and_says_so(posterior):
    assert "confirmed by sampling" in posterior.sentence
    assert posterior.effective > 30


def test_the_point_is_the_bottom_from_wherever_it_is_begun(problem, posterior):
    again = believed(problem, AT, draws=0)
    size = np.sqrt(np.diag(posterior.covariance))
    assert (np.abs(again.mean - posterior.mean) / size).max() < 0.5
    costs = Target(problem, again.mean).cost(np.stack([again.mean, AT]))
    assert costs[0] <= costs[1] + 0.1
    assert "unchecked" in again.sentence


def test_nothing_is_claimed_beyond_what_the_truth_allows(problem, posterior):
    best = np.sqrt(np.diag(true_covariance(problem, AT)))
    ratio = np.sqrt(np.diag(posterior.covariance)) / best
    assert ratio.min() > 0.8
    assert ratio.max() < 2.0


def test_what_draws_contradict_is_not_believed(problem, posterior):
    """A delay of the model's own making: twice too sure, and sampling sees it."""
    from trueup.identify.posterior import _judged
    from trueup.identify.sampling import Sampled

    ways = np.linalg.cholesky(posterior.covariance).T[:4]
    wide = Sampled(
        mean=np.array([1.5, 0.0, 0.0, 0.0]), covariance=4.0 * np.eye(4), effective=400.0, draws=600
    )
    found = _judged(problem, posterior, ways, wide)
    assert found.sentence.startswith("Importance sampling")
    assert found.mean == pytest.approx(posterior.mean + 1.5 * ways[0], rel=0.02)
    assert (np.diag(found.covariance) > np.diag(posterior.covariance)).all()


def test_the_quick_posterior_is_of_the_same_size(problem, posterior):
    here, slopes = problem.jacobian(posterior.mean, exact=True)
    quick = posterior_of(SPACE, here, slopes, problem.scale, posterior.mean)
    ratio = np.sqrt(np.diag(quick.covariance) / np.diag(posterior.covariance))
    assert ratio == pytest.approx(np.ones(len(SPACE)), rel=0.6)


@pytest.mark.parametrize("names", [["latency/action_delay"], ["actuation/wrist_flex/kp"]])
def test_delays_alone_and_none_at_all_are_fine_too(names):
    space = WORLD.catalogue.select(*names)
    some = Problem(WORLD, [recorded({"latency/action_delay": 0.02}, seconds=3.0)], space, threads=1)
    start = space.point({name: 0.021 for name in names if "delay" in name})
    found = believed(some, space.encode(start)[0], draws=16)
    assert found.shrink[0] < 0.5


def test_of_two_delays_only_the_sum_is_believed():
    truth = {"latency/action_delay": 0.023, "latency/encoder_delay": 0.0115}
    space = WORLD.catalogue.select(*truth, "actuation/elbow_flex/damping")
    some = Problem(WORLD, [recorded(truth, seconds=6.0)], space, threads=1)
    wrong = space.point({"latency/action_delay": 0.0305, "latency/encoder_delay": 0.004})
    found = believed(some, space.encode(wrong)[0], draws=0)
    point = space.decode(found.mean[None])[0]
    assert sum(point[name] for name in truth) == pytest.approx(0.0345, abs=2e-4)
    early, late = (space.index(name) for name in truth)
    size = np.sqrt(np.diag(found.covariance))
    off = found.mean - space.encode(space.point(truth))[0]
    assert np.abs(off / size).max() < 3.0
    assert 0.002 < size[late] * space.parameters[late].high < 0.006
    assert found.covariance[early, late] < -0.99 * size[early] * size[late]


def test_a_delay_below_a_physics_step_is_no_surer_than_that(problem):
    space = WORLD.catalogue.select("latency/action_delay", "actuation/elbow_flex/kp")
    nothing = Problem(WORLD, [recorded({}, seconds=4.0)], space, threads=1)
    found = believed(nothing, space.encode(space.nominal())[0], draws=0)
    late = space.index("latency/action_delay")
    std_s = np.sqrt(found.covariance[late, late]) * (space.parameters[late].high)
    assert 0.001 < std_s < 0.005


# Where recordings begin -------------------------------------------------------------------------


def test_a_nudged_replay_begins_as_far_off_as_it_was_nudged():
    episode = recorded({}, seconds=2.0)
    replayer = Replayer(WORLD, [episode], SPACE, signals=["joint_position"], threads=1)
    points = SPACE.points(SPACE.nominal(), 3)
    plain = replayer(points).tracks[0]["joint_position"].simulated
    with replayer.nudged(np.array([[0.0, 0.0], [0.01, 0.0], [0.0, 0.5]])):
        moved = replayer(points).tracks[0]["joint_position"].simulated
    assert np.array_equal(moved[0], plain[0])
    assert moved[1, 0] - plain[1, 0] == pytest.approx(np.full(6, 0.01), abs=1e-9)
    assert np.abs(moved[2, 0] - plain[2, 0]).max() < 1e-9
    assert (moved[2, 1] - plain[2, 1]).max() > 1e-4
    again = replayer(points).tracks[0]["joint_position"].simulated
    assert np.array_equal(again, plain)


def test_what_a_start_adds_is_taken_out_and_nothing_else(problem):
    noise = np.ones(len(problem.columns))
    starts = starts_of(problem, AT, noise)
    count = problem.residual(AT[None]).values.shape[1]
    for group in starts.groups:
        start = np.zeros((1, count))
        start[:, group.rows] = group.ways[:, 0]
        assert starts.freed(start) == pytest.approx(group.left[0] * start, abs=1e-12)
        other = np.random.default_rng(0).standard_normal(len(group.rows))
        other -= group.ways @ (group.ways.T @ other)
        start[:, group.rows] = other
        assert starts.freed(start) == pytest.approx(start, abs=1e-12)
    assert min(group.left.min() for group in starts.groups) < 0.4


def test_in_windows_no_one_start_is_looked_for():
    windows = Problem(WORLD, [recorded({}, seconds=3.0)], SPACE, window_s=0.5, threads=1)
    values = windows.residual(AT[None]).values
    starts = starts_of(windows, AT, np.ones(len(windows.columns)))
    assert np.array_equal(starts.freed(values), values)


def test_a_delay_that_may_be_all_of_one_kind_or_all_of_the_other_is_said_to_be_either():
    """Ten milliseconds of commands, or of readings: both ends of the sum are looked at."""
    space = WORLD.catalogue.select("latency/action_delay", "latency/encoder_delay")
    late = Problem(WORLD, [recorded({"latency/action_delay": 0.01}, seconds=4.0)], space, threads=1)
    truth, other = (space.encode(space.point(at))[0] for at in _EITHER)
    target = Target(late, other)
    (i,) = shared(target, other)
    shares = target.splits(other, i)
    for end in (truth, other):
        assert np.abs(shares - end).max(axis=1).min() < 1e-9
    found = believed(late, other, draws=0)
    reach = 1.645 * np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.mean - truth) < reach + 1e-9).all()


def test_delays_that_are_both_at_their_bounds_can_be_shared_out_one_way_only():
    space = WORLD.catalogue.select("latency/action_delay", "latency/encoder_delay")
    late = Problem(WORLD, [recorded({}, seconds=2.0)], space, threads=1)
    both = np.ones(2)
    target = Target(late, both)
    (i,) = shared(target, both)
    assert np.array_equal(target.splits(both, i), both[None])


_EITHER = (
    {"latency/action_delay": 0.01, "latency/encoder_delay": 0.0},
    {"latency/action_delay": 0.0, "latency/encoder_delay": 0.01},
)


FAR = {"latency/action_delay": 0.08, "latency/encoder_delay": 0.0}


def far_off(signals: tuple[str, ...] = ("joint_position",)) -> Problem:
    """Commands act 80 ms late, longer than is usual; readings are not late at all."""
    space = WORLD.catalogue.select(*FAR, "actuation/elbow_flex/kp", "actuation/elbow_flex/damping")
    episode = recorded(FAR, seconds=5.0)
    return Problem(WORLD, [episode], space, signals=signals, threads=1)


def test_the_wrong_end_of_a_sum_of_delays_is_not_called_pinned():
    """Slopes at one share seem to tell it; those at others seem to tell them as well."""
    late = far_off()
    wrong = {"latency/action_delay": 0.0, "latency/encoder_delay": 0.08}
    u = late.space.encode(late.space.point(wrong))[0]
    here, slopes = late.jacobian(u)
    action, encoder = (late.space.index(name) for name in FAR)
    assert posterior_of(late.space, here, slopes, late.scale, u).shrink[action] < 0.3
    found = approximated(late, u)
    assert found.shrink[action] > 0.4
    assert found.shrink[encoder] > 1.0  # wider than a prior that the sum shows to be wrong
    assert any(line.startswith("These data tell only the sum") for line in map(str, found.unseen))
    point = late.space.decode(found.mean[None])[0]
    assert sum(point[name] for name in FAR) == pytest.approx(0.08, abs=1e-3)


def test_a_second_sensor_tells_each_delay():
    late = far_off(("joint_position", "joint_force"))
    u = fitted(late, lambda line: None).u
    found = believed(late, u, draws=0)
    point = late.space.decode(found.mean[None])[0]
    for name, truth in FAR.items():
        assert point[name] == pytest.approx(truth, abs=2e-3)
        assert found.shrink[late.space.index(name)] < 0.3


def test_readings_without_any_error_leave_a_covariance_that_is_one():
    """A simulator replayed in itself: rounding alone would be left, and less than nothing."""
    space = WORLD.catalogue.select("actuation/elbow_flex/kp", "actuation/elbow_flex/damping")
    slopes = np.random.default_rng(0).standard_normal((400, 1)) * np.array([1.0, 1.0 + 1e-9])
    column = np.zeros(400, int)
    here = Residual(values=np.zeros((1, 400)), column=column, episode=column)
    found = posterior_of(space, here, slopes, np.ones(1))
    assert np.isfinite(found.shrink).all()
    np.linalg.cholesky(found.covariance)


def test_numbers_that_are_pinned_to_the_last_digit_still_are_a_belief():
    """Rounding leaves a covariance less than no variance in some direction: it is mended."""
    space = WORLD.catalogue.select("actuation/*/kp")
    generator = np.random.default_rng(0)
    ways = generator.standard_normal((len(space), 2))
    size = np.logspace(-7, -2, len(space))
    flat = (ways @ ways.T - 1e-9 * np.eye(len(space))) * np.outer(size, size)
    belief = belief_of(space, np.full(len(space), 0.5), flat)
    narrowed = space.narrowed(belief)
    drawn = narrowed.encode(narrowed.sample(generator, 200))
    np.testing.assert_allclose(drawn.std(axis=0), np.sqrt(np.diag(flat)), rtol=0.2)


def test_how_soon_rest_tells_in_friction_is_no_delay():
    """Twenty seconds of it, shared out by quarters of a physics step, would take hours."""
    space = WORLD.catalogue.select("latency/action_delay", "actuation/*/rest_time")
    assert [space.names[i] for i in delays_of(space)] == ["latency/action_delay"]


def test_an_arm_that_is_as_drawn_to_the_last_bit_is_known_and_no_better_than_that():
    space = WORLD.catalogue.select("actuation/*/kp")
    episode = recorded({}, seconds=3.0, quantum=0.0)
    exact = Problem(WORLD, [episode], space)
    found = believed(exact, space.encode(space.nominal())[0])
    assert np.isfinite(found.covariance).all() and (found.noise >= 1e-7).all()
    assert found.mean == pytest.approx(space.encode(space.nominal())[0], abs=1e-3)
