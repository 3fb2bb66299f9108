"""Automatic domain randomization finds a planted edge, and does not go beyond."""

import json

import numpy as np
import pytest

from tests.randomize.spaces import failing_beyond, name, space_of, trained
from trueup.errors import TrueupError
from trueup.randomize import Automatic
from trueup.randomize.ledger import Ledger
from trueup.space import JointSamples, LogUniform, Normal, Parameter, Space, Uniform

ALL = 128


def test_ranges_stop_at_planted_edges_and_are_full_elsewhere():
    generator = np.random.default_rng(0)
    edges = {3: 0.15, 40: 0.3, 77: 0.4, 120: 0.2}  # of 0.5; the last on its only side
    plan = Automatic(space_of(ALL, one_sided=20))
    trained(plan, failing_beyond(edges, generator), generator, episodes=20_000)
    shares = plan.shares
    for column, edge in edges.items():
        sides = shares[column] if column < 108 else shares[column, 1:]
        assert (sides <= 2 * edge + plan.step + 1e-9).all(), "beyond the edge by more than a step"
        assert (sides >= 2 * edge - 3 * plan.step - 1e-9).all(), "well short of the edge"
    harmless = np.delete(shares, list(edges), axis=0)
    assert harmless[harmless > 0].mean() > 0.97
    assert (shares[108:, 0] == 0).all()  # nothing lies below a nominal value at its lower end


def test_a_policy_that_fails_everywhere_gets_narrower_worlds():
    generator = np.random.default_rng(1)
    plan = Automatic(space_of(30), start=0.5)
    trained(plan, failing_beyond({}, generator, skill=0.3), generator, episodes=6_000)
    assert plan.shares.mean() < 0.1


def test_a_policy_that_becomes_worse_is_followed_back():
    generator = np.random.default_rng(2)
    plan = Automatic(space_of(10))
    trained(plan, failing_beyond({}, generator), generator, episodes=10_000)
    assert (plan.shares == 1.0).all()
    trained(plan, failing_beyond({4: 0.25}, generator), generator, episodes=8_000)
    assert (plan.shares[4] <= 0.5 + plan.step).all()
    assert np.delete(plan.shares, 4, axis=0).mean() > 0.9


def test_many_edges_at_once_do_not_hide_each_other():
    generator = np.random.default_rng(3)
    edges = dict.fromkeys(range(0, 60, 3), 0.25)
    plan = Automatic(space_of(60))
    trained(plan, failing_beyond(edges, generator), generator, episodes=24_000)
    assert plan.shares[list(edges)].max() <= 0.5 + 2 * plan.step
    assert plan.shares[list(edges)].mean() > 0.35
    assert np.delete(plan.shares, list(edges), axis=0).mean() > 0.8


def test_draws_stay_in_the_ranges_and_boundary_episodes_touch_them():
    plan = Automatic(space_of(40), start=0.2, boundary=0.5)
    values = plan.draw(np.random.default_rng(0), 2000).values
    assert np.abs(values).max() <= 0.1 + 1e-12
    touching = (np.abs(values) >= 0.1 - 1e-12).mean(axis=1)
    boundary = touching > 0
    assert abs(boundary.mean() - 0.5) < 0.05
    assert abs(touching[boundary].mean() - 0.25) < 0.03


def test_ends_that_have_arrived_are_only_watched():
    """Else most worlds would be harder than any that will come."""
    plan = Automatic(space_of(40), start=1.0, boundary=0.5)
    values = plan.draw(np.random.default_rng(0), 4000).values
    boundary = (np.abs(values) >= 0.5 - 1e-12).any(axis=1)
    assert 0.05 < boundary.mean() < 0.15
    generator = np.random.default_rng(1)
    for _ in range(4):
        points = plan.draw(generator, 100).values
        plan.learn(points, np.zeros(100, bool))
    assert plan.shares.min() > 0.2
    ends = 0.5 * plan.shares[:, 1]
    values = plan.draw(generator, 4000).values
    blamed = (np.abs(values) >= ends - 1e-12).any(axis=1)
    assert blamed.mean() > 0.4  # nothing succeeds: somebody must be to blame


def test_the_distribution_is_what_plain_episodes_come_from():
    mass, usual = "object/cube/mass", LogUniform(0.5, 2.0)
    log = Parameter(name=mass, unit="kg", nominal=1.0, low=0.25, high=4.0, scale="log", prior=usual)
    normal = Parameter(name=name(0), unit="1", nominal=0.0, low=-9.0, high=9.0, prior=Normal(0, 1))
    plan = Automatic(Space((log, normal)), start=0.5)
    belief = plan.distribution()
    weight, gain = (p.belief for p in belief)
    assert isinstance(weight, LogUniform)
    assert weight.support(0.25, 4.0) == pytest.approx((2**-0.5, 2**0.5))
    assert isinstance(gain, Uniform)
    assert gain.support(-9.0, 9.0) == pytest.approx((-1.545, 1.545), abs=1e-3)  # half of 3.09
    assert plan.full()[mass].quantile(np.array([0.0, 1.0])) == pytest.approx([0.5, 2])


def test_widest_stretches_up_to_the_bounds():
    for widest, end in ((2.0, 1.0), (9.0, 1.0), (1.5, 0.75)):
        full = Automatic(space_of(1), widest=widest).full()
        assert full[name(0)].belief == Uniform(-end, end)


def test_measured_parameters_are_drawn_as_they_are():
    rows = np.array([[0.3, 0.3], [0.4, 0.4]])
    space = space_of(4).narrowed(JointSamples((name(0), name(1)), rows))
    plan = Automatic(space, start=0.1)
    values = plan.draw(np.random.default_rng(0), 50).values
    assert (values[:, 0] == values[:, 1]).all()
    assert set(values[:, 0]) == {0.3, 0.4}
    assert np.abs(values[:, 2:]).max() <= 0.05 + 1e-12
    assert plan.distribution().joints == space.joints


def test_a_prior_that_excludes_the_nominal_begins_at_its_median():
    space = space_of(1).narrowed({name(0): Uniform(0.2, 0.4)})
    values = Automatic(space, start=0.1).draw(np.random.default_rng(0), 100).values
    assert np.abs(values - 0.3).max() <= 0.01 + 1e-12


def test_outcomes_of_other_points_change_nothing():
    plan = Automatic(space_of(3), trials=1)
    before = json.dumps(plan.state())
    plan.learn(np.full((50, 3), 0.01), np.ones(50, bool))
    assert json.dumps(plan.state()) == before


def test_a_resumed_curriculum_learns_the_same():
    generator = np.random.default_rng(5)
    plan, again = Automatic(space_of(12)), Automatic(space_of(12))
    trained(plan, failing_beyond({2: 0.2}, generator), generator, episodes=3_000)
    again.restore(json.loads(json.dumps(plan.state())))
    for one, seed in ((plan, 9), (again, 9)):
        twin = np.random.default_rng(seed)
        trained(one, failing_beyond({2: 0.2}, twin), twin, episodes=3_000)
    np.testing.assert_array_equal(plan.shares, again.shares)
    assert plan.state() == again.state()
    assert plan.summary() == again.summary()


def test_the_summary_names_the_narrowest():
    generator = np.random.default_rng(0)
    plan = Automatic(space_of(10))
    trained(plan, failing_beyond({6: 0.1}, generator), generator, episodes=8_000)
    assert f"narrowest: {name(6)} " in plan.summary()
    assert plan.summary().startswith("10 parameters at ")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"low": 0.9, "high": 0.8}, "low is 0.9"),
        ({"step": 0.0}, "step is 0"),
        ({"boundary": 1.5}, "boundary is 1.5"),
        ({"widest": 0.0}, "no width"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(TrueupError, match=words):
        Automatic(space_of(2), **settings)


def test_outcomes_of_a_wrong_shape_are_refused():
    with pytest.raises(TrueupError, match=r"points of shape \(m, 2\)"):
        Automatic(space_of(2)).learn(np.zeros((3, 2)), np.ones(4, bool))


def test_a_policy_that_learns_late_is_followed_out():
    generator = np.random.default_rng(6)
    plan = Automatic(space_of(20))
    trained(plan, failing_beyond({}, generator, skill=0.0), generator, episodes=4_000)
    narrow = plan.shares.mean()
    trained(plan, failing_beyond({}, generator), generator, episodes=12_000)
    assert narrow < 0.1
    assert plan.shares.min() == 1.0


def test_equal_points_are_told_apart_by_their_order():
    ledger = Ledger()
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    ledger.write(rows, ["a", "b", "c"])
    again = Ledger()
    again.restore(json.loads(json.dumps(ledger.state())))
    for one in (ledger, again):
        taken = one.take(rows[[2, 0, 0, 0]].astype(np.float32))
        assert taken == ["c", "a", "b", None]
        assert one.state() == {}
