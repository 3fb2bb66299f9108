"""Each world draws from its own stream: the same numbers alone, in any batch, at any position."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueup.streams import Streams, seeds_from

SEEDS = seeds_from(np.random.default_rng(0), 2000)
any_seed = st.integers(0, 2**64 - 1)


def test_uniform_draws_are_uniform():
    u = Streams(SEEDS).uniform(100)
    assert u.min() >= 0.0 and u.max() < 1.0
    assert u.mean() == pytest.approx(0.5, abs=0.003)
    assert u.var() == pytest.approx(1 / 12, abs=0.001)
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("salt", [0, 1, 2])
def test_even_the_plainest_seeds_give_uniform_draws(salt):
    first = Streams(np.arange(20_000), salt=salt).uniform()
    assert stats.kstest(first, "uniform").pvalue > 1e-3


def test_normal_draws_are_normal():
    z = Streams(SEEDS).normal(101)
    assert z.shape == (2000, 101)
    assert np.isfinite(z).all()
    assert z.mean() == pytest.approx(0.0, abs=0.01)
    assert z.std() == pytest.approx(1.0, abs=0.01)
    assert stats.skew(z.ravel()) == pytest.approx(0.0, abs=0.03)
    assert stats.kurtosis(z.ravel()) == pytest.approx(0.0, abs=0.06)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3


def test_the_two_halves_of_a_normal_draw_are_independent():
    z = Streams(SEEDS).normal(2)
    for f in (np.asarray, np.square):  # the radius is shared, so squares would show a leak
        assert abs(np.corrcoef(f(z[:, 0]), f(z[:, 1]))[0, 1]) < 0.08


@pytest.mark.parametrize("seeds", [np.arange(50), SEEDS[:50]], ids=["consecutive", "drawn"])
def test_worlds_are_independent(seeds):
    between = np.corrcoef(Streams(seeds).uniform(4000)) - np.eye(50)
    assert np.abs(between).max() < 0.08  # 5 standard errors of 1/sqrt(4000)


def test_successive_draws_of_a_world_are_independent():
    u = Streams(SEEDS).uniform(20)
    assert np.abs(np.corrcoef(u.T) - np.eye(20)).max() < 0.11


@pytest.mark.parametrize("other", [1, 2, 2**40])
def test_salts_separate_streams_of_the_same_seeds(other):
    here, there = Streams(SEEDS).uniform(50), Streams(SEEDS, salt=other).uniform(50)
    assert not np.isin(here, there).any()
    assert abs(np.corrcoef(here.ravel(), there.ravel())[0, 1]) < 0.015


def test_no_two_draws_are_the_same():
    u = Streams(np.arange(1000)).uniform(200)
    assert len(np.unique(u)) == u.size


@given(st.lists(any_seed, min_size=1, max_size=8), st.data())
def test_a_world_draws_the_same_alone_or_in_any_batch(seeds, data):
    where = data.draw(st.integers(0, len(seeds) - 1))
    batch, alone = Streams(seeds, salt=3), Streams([seeds[where]], salt=3)
    for _ in range(2):
        assert np.array_equal(batch.uniform(4)[where], alone.uniform(4)[0])
        assert np.array_equal(batch.normal(3)[where], alone.normal(3)[0])


def test_position_in_the_batch_does_not_matter():
    order = np.random.default_rng(1).permutation(len(SEEDS))
    assert np.array_equal(Streams(SEEDS[order]).normal(5), Streams(SEEDS).normal(5)[order])


def test_same_seed_same_draws_and_each_call_goes_on():
    one, two = Streams(SEEDS), Streams(SEEDS)
    first, second = one.uniform(3), one.uniform(3)
    assert not np.isin(first, second).any()
    assert np.array_equal(np.hstack([first, second]), two.uniform(6))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0), (5, 1, 2)])
@pytest.mark.parametrize("draw", [Streams.uniform, Streams.normal])
def test_draws_have_the_asked_shape(draw, shape):
    assert draw(Streams(SEEDS[:7]), *shape).shape == (7, *shape)


def test_a_shape_only_folds_the_draws():
    flat, folded = Streams(SEEDS).uniform(6), Streams(SEEDS).uniform(2, 3)
    assert np.array_equal(flat.reshape(-1, 2, 3), folded)


def test_no_worlds_draw_nothing():
    none = Streams(np.array([], np.uint64))
    assert len(none) == 0
    assert none.uniform(3).shape == none.normal(3).shape == (0, 3)


@pytest.mark.parametrize(
    "ids",
    [np.array([4, 1]), np.array([False, True, False, False, True, False])],
    ids=["ids", "mask"],
)
def test_reseeding_some_worlds_leaves_the_others_alone(ids):
    streams, undisturbed = Streams(SEEDS[:6]), Streams(SEEDS[:6])
    streams.uniform(5)
    undisturbed.uniform(5)
    fresh = Streams([111, 222])
    fresh.uniform(2)  # a stream taken over goes on from where it was
    expected = undisturbed.uniform(4)
    streams.reseed(ids, fresh)
    expected[ids] = fresh.uniform(4)
    assert np.array_equal(streams.uniform(4), expected)


def test_reseeding_starts_an_episode_anew():
    streams = Streams(SEEDS[:3])
    streams.normal(9)
    streams.reseed(np.array([2]), Streams(SEEDS[2:3]))
    assert np.array_equal(streams.uniform(4)[2], Streams(SEEDS[:3]).uniform(4)[2])


def test_world_seeds_survive_json_and_int64():
    assert SEEDS.shape == (2000,) and SEEDS.dtype == np.uint64
    assert SEEDS.max() < 2**63
    assert len(np.unique(SEEDS)) == len(SEEDS)
    assert SEEDS.max() > 2**62  # uses the room it has
    stored = json.loads(json.dumps(SEEDS.astype(np.int64).tolist()))
    assert np.array_equal(Streams(stored).uniform(), Streams(SEEDS).uniform())


def test_world_seeds_follow_from_the_generator():
    again = seeds_from(np.random.default_rng(0), 2000)
    assert np.array_equal(again, SEEDS)
    assert not np.isin(seeds_from(np.random.default_rng(1), 2000), SEEDS).any()
