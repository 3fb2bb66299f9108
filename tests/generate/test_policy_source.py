"""A trained policy as the source: it performs its own way, and what it achieves is kept."""

import numpy as np
import pytest

from tests.evaluate.pilots import constant
from trueup.episodes import Dataset, Outcome
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted
from trueup.generate import Order, generate
from trueup.space import Point, Space
from trueup.worlds import get
from trueup.worlds.so101_arm import Arm


class Wait(Arm):
    """Let half a second pass."""

    def success(self, s):
        return s.time > 0.5


def test_what_a_policy_achieves_is_what_evaluate_says(tmp_path):
    world = Wait()
    policy = constant(world, 0.0)
    order = Order(world=world, source=policy, space=Space(()), episodes=3)
    made = generate(order, tmp_path / "set")
    dataset = Dataset.open(tmp_path / "set")
    seeds = np.array([dataset.about(i).origin["seed"] for i in range(3)], np.uint64)
    again = evaluate(world, piloted(policy), Point({}), seeds)
    assert again.success.all()
    assert [len(dataset[i]["command"]) for i in range(3)] == again.steps.tolist()
    assert {about.outcome for about in dataset.abouts()} == {Outcome.SUCCESS}
    assert made.attempts == 3 + sum(made.failures.values())


def test_a_policy_of_another_world_is_refused(tmp_path):
    policy = constant(get("so101/reach"), 0.0)
    order = Order(world=get("so101/arm"), source=policy, space=Space(()), episodes=1)
    with pytest.raises(TrueupError, match="so101/arm"):
        generate(order, tmp_path / "set")
