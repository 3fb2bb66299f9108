"""Plans that do not move: each keeps priors and joints, and goes on where it was."""

import json

import numpy as np
import pytest

from tests.randomize.spaces import name, space_of
from trueup.errors import TrueupError, UnknownName
from trueup.randomize import PLANS, FromPrior, Grid, LatinHypercube, Plan, Sobol, plan_named
from trueup.space import Fixed, JointNormal, JointSamples, Normal, Space

ROWS = np.array([[-0.4, 0.1], [0.0, 0.0], [0.4, -0.1]])
SPREADING = [FromPrior, Sobol, LatinHypercube]


def believing() -> Space:
    """Six parameters: a normal, a held one, two tied by samples, two uniform."""
    space = space_of(6).narrowed({name(0): Normal(0.2, 0.05), name(1): Fixed(0.3)})
    return space.narrowed(JointSamples((name(2), name(3)), ROWS))


@pytest.mark.parametrize("kind", SPREADING)
def test_beliefs_hold_whatever_the_plan(kind):
    points = kind(believing()).draw(np.random.default_rng(0), 512)
    assert abs(points.column(name(0)).mean() - 0.2) < 4 * 0.05 / np.sqrt(512)
    assert abs(points.column(name(0)).std() - 0.05) < 0.01
    assert set(points.column(name(1))) == {0.3}
    tied = np.stack([points.column(name(2)), points.column(name(3))], axis=-1)
    assert {tuple(row) for row in tied.tolist()} == {tuple(row) for row in ROWS.tolist()}
    assert np.abs(points.column(name(5))).max() <= 0.5


def test_a_joint_normal_keeps_its_tie():
    covariance = np.array([[0.01, 0.009], [0.009, 0.01]])
    space = space_of(2).narrowed(JointNormal((name(0), name(1)), np.zeros(2), covariance))
    points = Sobol(space).draw(np.random.default_rng(0), 1024)
    assert abs(np.corrcoef(points.values.T)[0, 1] - 0.9) < 0.03


@pytest.mark.parametrize("kind", list(PLANS))
def test_a_resumed_plan_goes_on_bit_for_bit(kind):
    settings = {"levels": {name(0): 5, name(4): 7}} if kind == "grid" else {}
    plan, again = (plan_named(kind, believing(), **settings) for _ in range(2))
    generator = np.random.default_rng(3)
    first = plan.draw(generator, 13)
    plan.learn(first.values[:9], np.arange(9) % 3 > 0)
    again.restore(json.loads(json.dumps(plan.state())))
    twin = np.random.default_rng()
    twin.bit_generator.state = generator.bit_generator.state
    for n in (1, 8, 20):
        assert plan.draw(generator, n) == again.draw(twin, n)
    assert again.distribution() == plan.distribution()


@pytest.mark.parametrize("kind", [Sobol, LatinHypercube])
def test_a_sequence_does_not_depend_on_how_draws_are_grouped(kind):
    whole, parts = kind(space_of(3)), kind(space_of(3))
    together = whole.draw(np.random.default_rng(1), 16)
    generator = np.random.default_rng(1)
    first = parts.draw(generator, 16)
    assert together == first
    apart = [parts.draw(generator, n).values for n in (5, 1, 10)]
    np.testing.assert_array_equal(whole.draw(generator, 16).values, np.concatenate(apart))


@pytest.mark.parametrize("kind", [Sobol, LatinHypercube])
def test_even_plans_average_better_than_chance(kind):
    def error(plan: Plan, seed: int) -> float:
        values = plan.draw(np.random.default_rng(seed), 256).values
        return float((values**2).sum(axis=1).mean() - 4 / 12)

    def spread(plans: type[Plan]) -> float:
        return float(np.std([error(plans(space_of(4)), seed) for seed in range(20)]))

    assert spread(kind) < 0.3 * spread(FromPrior)


def test_a_latin_hypercube_has_one_value_in_every_slice():
    plan = LatinHypercube(space_of(5))
    for seed in (0, 1):  # the second block too
        values = plan.draw(np.random.default_rng(seed), 20).values
        slices = np.sort(((values + 0.5) * 20).astype(int), axis=0)
        assert (slices == np.arange(20)[:, None]).all()


def test_seeds_differ_and_repeat():
    for kind in SPREADING:
        one, same, other = (kind(space_of(2)).draw(np.random.default_rng(s), 4) for s in (1, 1, 2))
        assert one == same
        assert one != other


def test_a_grid_is_every_combination_and_then_begins_again():
    plan = Grid(believing(), {name(4): 3, name(5): [0.1, 0.9]})
    assert plan.size == 6
    points = plan.draw(np.random.default_rng(0), 7)
    pairs = list(zip(points.column(name(4)), points.column(name(5)), strict=True))
    assert pairs[:6] == [(a, b) for a in (-0.5, 0.0, 0.5) for b in (0.1, 0.9)]
    assert pairs[6] == pairs[0]
    assert set(points.column(name(0))) == {0.0}  # nominal
    assert set(points.column(name(1))) == {0.3}  # held
    assert set(points.column(name(2))) == {0.0}
    assert set(plan.distribution().free) == {name(4), name(5)}


def test_levels_of_a_normal_stop_short_of_the_bounds():
    (low, *_, high) = (
        Grid(believing(), {name(0): 5}).draw(np.random.default_rng(0), 5).column(name(0))
    )
    assert (low, high) == pytest.approx((0.2 - 3.09 * 0.05, 0.2 + 3.09 * 0.05), abs=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Grid(space_of(128), 3), "3 × 3 × 3 × 3 × 3 × 3 × … = 1.18e+61 points"),
        (lambda: Grid(believing(), {name(2): 3}), "tied to others by a joint belief"),
        (lambda: Grid(believing(), {name(4): 0}), "cannot have 0 levels"),
        (lambda: Grid(believing(), {name(4): [2.0]}), "out of its bounds"),
        (lambda: Grid(believing(), {"latency": 3}), "No parameter of this space matches"),
        (lambda: LatinHypercube(space_of(2), size=0), "A block of 0 episodes"),
        (lambda: FromPrior(space_of(2)).draw(np.random.default_rng(0), -1), "-1 points"),
        (lambda: plan_named("prior", space_of(2), levels=3), "does not take these settings"),
        (lambda: Sobol(space_of(2)).restore(FromPrior(space_of(2)).state()), "the plan 'prior'"),
        (lambda: Sobol(space_of(2)).restore(Sobol(space_of(3)).state()), "another space"),
        (
            lambda: Sobol(space_of(2)).restore({"plan": "sobol", "parameters": [name(0), name(1)]}),
            "could not be read: KeyError('seed')",
        ),
    ],
    ids=lambda x: x[:20] if isinstance(x, str) else "",
)
def test_what_makes_no_sense_is_refused(make, words):
    with pytest.raises(TrueupError) as caught:
        make()
    assert words in str(caught.value)
    assert caught.value.fix


def test_an_unknown_plan_is_told_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'sobol'"):
        plan_named("sobel", space_of(1))


@pytest.mark.parametrize("kind", list(PLANS))
def test_a_space_with_nothing_free_draws_its_one_world(kind):
    space = space_of(3).pinned({name(0): 0.25, name(1): 0.0, name(2): 0.0})
    plan = plan_named(kind, space)
    points = plan.draw(np.random.default_rng(0), 4)
    assert points.values.tolist() == [[0.25, 0.0, 0.0]] * 4
    plan.learn(points.values, np.ones(4, bool))
    assert plan.distribution() == space
    assert plan.summary()
    assert len(plan.draw(np.random.default_rng(0), 0)) == 0
