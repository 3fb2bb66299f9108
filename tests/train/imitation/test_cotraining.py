"""The robot's demonstrations beside simulated ones: a planted difference must be learned."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from tests.train.imitation.reaches import (
    QUICK,
    cloned,
    demonstrations,
    rewritten,
    with_channel,
    world,
)
from trueup.errors import TrueupError
from trueup.train.imitation import Portion, cotrain, imitation_error

SHIFT_RAD = 0.1
"""How much further the first joint of the planted robot must be told to go."""

SHORT = replace(QUICK, steps=150, look_every=50, learning_rate=1e-3)


@cache
def robot() -> Portion:
    """Demonstrations on a robot whose commands differ from what simulation would answer."""

    def told(episode):
        shifted = episode["command"].values + SHIFT_RAD * np.array([1, 0, 0, 0, 0, 0])
        return with_channel(episode, "command", values=shifted.astype(np.float32))

    return Portion(dataset=rewritten(Path(mkdtemp()) / "robot", told, episodes=6))


def test_it_learns_what_the_robot_shows_and_says_what_it_kept(tmp_path):
    start = cloned().policy
    shown = replace(robot(), episodes=(0, 1, 2, 3))
    unseen = replace(robot(), episodes=(4, 5))
    played = replace(SHORT, confirm_episodes=24)
    found = cotrain(
        world(),
        shown,
        demonstrations(),
        played,
        tmp_path,
        start=start,
        weights=(0.05, 0.8),
        threads=1,
    )
    assert found.weight == 0.8  # what the robot shows is what is judged by
    assert found.errors[0.8] < found.errors[0.05]
    before = imitation_error(start, world(), unseen)
    assert imitation_error(found.cloned.policy, world(), unseen) < 0.9 * before
    assert found.before is not None
    assert found.after is not None
    assert found.before.n == found.after.n == 24
    assert len(json.loads((tmp_path / "weights.json").read_text())) == 4


def test_weights_that_were_tried_are_not_tried_again(tmp_path):
    known = {f"{w}/{k}": error for w, error in (("0.2", 0.5), ("0.6", 0.1)) for k in range(2)}
    (tmp_path / "weights.json").write_text(json.dumps(known))
    short = replace(SHORT, steps=10, look_every=10)
    found = cotrain(
        world(), robot(), demonstrations(), short, tmp_path, weights=(0.2, 0.6), resume=True
    )
    assert found.weight == 0.6
    assert not (tmp_path / "weights").exists()
    assert found.before is None


def test_the_error_of_a_policy_on_what_it_learned_is_small():
    policy = cloned().policy
    assert imitation_error(policy, world(), demonstrations()) < 0.5 * imitation_error(
        policy, world(), robot()
    )


def test_one_demonstration_leaves_nothing_to_choose_by(tmp_path):
    one = replace(robot(), episodes=(0,))
    with pytest.raises(TrueupError, match="none is left to choose a weight by"):
        cotrain(world(), one, demonstrations(), SHORT, tmp_path)
