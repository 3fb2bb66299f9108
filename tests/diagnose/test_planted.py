"""Bent worlds: only the gap they name is bent, within bounds, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from trueup.diagnose.planted import GAPS, bends, family, structures, within
from trueup.worlds import get

SPACE = get("so101/lift").catalogue
NOMINAL = SPACE.encode(SPACE.nominal())[0]


@pytest.fixture(scope="module")
def drawn():
    return bends(SPACE, 20, np.random.default_rng(0))


def test_every_gap_is_bent_and_nothing_else(drawn):
    of = np.array([GAPS.index(p.gap.value) for p in SPACE])
    assert set(drawn.gap) == set(range(len(GAPS)))
    for u, gap in zip(drawn.u, drawn.gap, strict=True):
        moved = np.abs(u - NOMINAL) > 1e-9
        assert moved.any() and (of[moved] == gap).all()
        assert ((u >= 0) & (u <= 1)).all()


def test_the_same_seed_draws_the_same(drawn):
    again = bends(SPACE, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(again.u, drawn.u)


def test_two_bends_at_once_are_both(drawn):
    a, b = (int(np.flatnonzero(drawn.gap == g)[0]) for g in (0, 1))
    both = drawn.joined([a, b])
    moved = [np.abs(drawn.u[row] - NOMINAL) > 1e-9 for row in (a, b)]
    np.testing.assert_allclose(both[moved[0]], drawn.u[a][moved[0]])
    np.testing.assert_allclose(both[moved[1]], drawn.u[b][moved[1]])


def test_joints_and_axes_are_bent_as_families():
    assert family("actuation/elbow_flex/kp") == family("actuation/gripper/kp")
    assert family("visual/camera/shift_x") == family("visual/camera/shift_z")
    assert family("environment/patch/x") == family("environment/patch/radius")
    assert family("environment/patch/x") != family("environment/obstacle/x")


def test_a_smaller_space_holds_the_same_world(drawn):
    rows = []
    for part, some in structures(SPACE, drawn.u):
        points = within(SPACE, drawn.u[some], part)
        rows += some.tolist()
        for row, point in zip(some, points, strict=True):
            whole = SPACE.decode(drawn.u[row][None])[0]
            assert {**SPACE.nominal(), **point} == pytest.approx(dict(whole))
    assert sorted(rows) == list(range(len(drawn)))
