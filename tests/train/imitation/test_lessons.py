"""Frames as they are learned from: each number says where it comes from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.policies import Chunk, Contract, Feature, Interface
from trueup.space import Space
from trueup.train.imitation.demonstrations import Demonstration
from trueup.train.imitation.lessons import Lessons

LEAD = 4.0
CONTRACT = Contract(
    world="test/lessons",
    task="count",
    interface=Interface(
        observations=(Feature(name="count", size=1, unit="1"),),
        commands=("joint",),
        unit=("rad",),
        low=(-9.0,),
        high=(9.0,),
        period_s=0.1,
        measured="count",
    ),
    history=3,
    lead=(LEAD,),
    rate=(1.0,),
    space=Space(()),
    chunk=Chunk(length=4, forget=0.0),
)


def stretch(first: float, k: int, *, wrong: slice = slice(0, 0), weight: float = 1.0):
    """Seen: first, first + 1, ...; the joint at 0; told: a hundredth of what is seen."""
    seen = (first + np.arange(k, dtype=np.float32))[:, None]
    right = np.ones(k, bool)
    right[wrong] = False
    return Demonstration(
        episode=0,
        seen=seen,
        told=seen / 100,
        joints=np.zeros_like(seen),
        right=right,
        weight=weight,
    )


def test_histories_end_at_the_beginning_and_chunks_at_the_end():
    lessons = Lessons([[stretch(10, 5), stretch(50, 6)]], [None], CONTRACT)
    batch = lessons.batch(np.array([0, 2, 5, 10]))
    seen, sent = batch.inputs[:, 0::2], batch.inputs[:, 1::2]
    np.testing.assert_allclose(seen, [[10, 10, 10], [12, 11, 10], [50, 50, 50], [55, 54, 53]])
    np.testing.assert_allclose(sent[1], [0.11, 0.10, 0.0], rtol=1e-6)  # told before; held at first
    np.testing.assert_allclose(100 * LEAD * batch.answers[1, :3, 0], [12, 13, 14], rtol=1e-5)
    np.testing.assert_array_equal(
        batch.counts, [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    )


def test_a_mistake_is_seen_but_not_learned():
    lessons = Lessons([[stretch(10, 8, wrong=slice(2, 4))]], [None], CONTRACT)
    batch = lessons.batch(np.array([0, 1, 3, 4]))
    np.testing.assert_array_equal(
        batch.counts, [[1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]]
    )
    assert batch.inputs[3, 2] == 13  # the history holds the mistake


def test_portions_are_drawn_as_their_weights_say():
    few, many = [stretch(0, 10)], [stretch(1000, 90)]
    generator = np.random.default_rng(0)
    for weights, share in (
        ((None, None), 0.1),
        ((1.0, 1.0), 0.5),
        ((0.3, 0.7), 0.3),
        ((1.0, 0.0), 1.0),
    ):
        lessons = Lessons([few, many], weights, CONTRACT)
        drawn = lessons.drawn(generator, 20_000).inputs[:, 0] < 500
        assert drawn.mean() == pytest.approx(share, abs=0.015)


def test_episodes_are_drawn_as_their_weights_say():
    lessons = Lessons([[stretch(0, 10, weight=3.0), stretch(1000, 10)]], [None], CONTRACT)
    drawn = lessons.drawn(np.random.default_rng(0), 20_000).inputs[:, 0] < 500
    assert drawn.mean() == pytest.approx(0.75, abs=0.015)


def test_the_normalizer_counts_frames_as_often_as_they_are_drawn():
    lessons = Lessons([[stretch(0, 2)], [stretch(100, 2)]], [1.0, 3.0], CONTRACT)
    mean, scale = lessons.scale()
    assert mean.shape == (CONTRACT.inputs,)
    assert mean[0] == pytest.approx(0.25 * 0.5 + 0.75 * 100.5)
    assert scale[0] == pytest.approx(np.sqrt(0.25 + 0.25 * 0.75 * 100**2), rel=1e-4)
    still = replace(stretch(7, 4), seen=np.full((4, 1), 7.0, np.float32))
    _, scale = Lessons([[still]], [None], CONTRACT).scale()
    assert scale[0] == 1.0


def test_commands_beyond_what_a_servo_pulls_are_clipped_and_counted():
    far = replace(stretch(10, 4), told=np.array([[0.0], [2.0], [8.0], [-8.0]], np.float32))
    lessons = Lessons([[far]], [None], CONTRACT)
    np.testing.assert_allclose(lessons.batch(np.array([0])).answers[0, :, 0], [0, 0.5, 1, -1])
    assert lessons.clipped == 0.5


def test_weights_of_nothing_are_refused():
    with pytest.raises(TrueupError, match="all weights are 0"):
        Lessons([[stretch(0, 4)]], [0.0], CONTRACT)
    with pytest.raises(TrueupError, match="all weights are 0"):
        Lessons([[stretch(0, 4, weight=0.0)]], [None], CONTRACT)
