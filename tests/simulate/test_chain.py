"""Filters in a row: each world has its own memory and its own draws."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.effects import Filter, Values
from trueup.simulate.chain import Chain

N = 5


class Counter(Filter):
    """Adds how often it was applied since the world started."""

    def __init__(self, columns: tuple[int, ...] | None = None) -> None:
        self.columns = columns

    def start(self, x, p):
        return {"count": np.zeros(len(x))}

    def apply(self, x, p, memory, draws):
        count = memory["count"] + 1
        return x + count[:, None], {"count": count}


class Noise(Filter):
    normals = 2
    uniforms = 1

    def apply(self, x, p, memory, draws):
        return x + draws.normal + 10 * draws.uniform, memory


def values(n: int) -> Values:
    return Values({}, n)


def started(*filters: Filter, width: int = 2) -> Chain:
    chain = Chain(filters, n=N, salt=1)
    chain.start(np.arange(N), np.arange(N), np.zeros((N, width)), values(N))
    return chain


def test_without_filters_the_signal_passes():
    x = np.ones((N, 2))
    assert started().apply(x, values(N)) is x


def test_the_signal_that_comes_in_is_left_as_it_is():
    x = np.zeros((N, 2))
    started(Counter()).apply(x, values(N))
    assert not x.any()


def test_filters_follow_each_other():
    class Double(Filter):
        def apply(self, x, p, memory, draws):
            return 2 * x, memory

    out = started(Counter(), Double()).apply(np.ones((N, 2)), values(N))
    assert (out == 4).all()


@pytest.mark.parametrize("columns", [(1,), (0, 2), (0, 1, 2)])
def test_a_filter_touches_its_columns_alone(columns):
    out = started(Counter(columns), width=3).apply(np.zeros((N, 3)), values(N))
    assert np.flatnonzero(out[0]).tolist() == list(columns)


def test_a_partial_start_forgets_in_those_worlds_alone():
    chain = started(Counter(), Noise())
    twin = started(Counter(), Noise())
    x = np.zeros((N, 2))
    for _ in range(3):
        chain.apply(x, values(N))
        twin.apply(x, values(N))
    ids = np.array([1, 3])
    chain.start(ids, ids, x[ids], values(2))
    out, untouched = chain.apply(x, values(N)), twin.apply(x, values(N))
    others = [0, 2, 4]
    np.testing.assert_array_equal(out[others], untouched[others])
    fresh = started(Counter(), Noise()).apply(x, values(N))
    np.testing.assert_array_equal(out[ids], fresh[ids])


def test_a_partial_start_comes_first_too():
    chain = Chain([Counter()], n=N, salt=1)
    chain.start(np.array([1, 3]), np.array([1, 3]), np.zeros((2, 2)), values(2))
    assert (chain.apply(np.zeros((N, 2)), values(N))[[1, 3]] == 1).all()


def test_draws_follow_from_the_seed_and_the_salt():
    def drawn(seed: int, salt: int) -> np.ndarray:
        chain = Chain([Noise()], n=1, salt=salt)
        chain.start(np.zeros(1, int), np.array([seed]), np.zeros((1, 2)), values(1))
        return chain.apply(np.zeros((1, 2)), values(1))

    np.testing.assert_array_equal(drawn(1, 1), drawn(1, 1))
    assert (drawn(1, 1) != drawn(2, 1)).all()
    assert (drawn(1, 1) != drawn(1, 2)).all()
