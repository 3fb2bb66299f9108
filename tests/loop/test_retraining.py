"""Retraining never ends with less than it began with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.loop.turns import TINY, job
from tests.train.rigs import QUICK, made
from tests.train.swing import Reach
from trueup.evaluate import Evaluation
from trueup.loop.stages.training import evaluated, retrain, taught


class Misled(Reach):
    """A world whose expert points away from every goal."""

    def expert(self):
        return lambda seen, true: np.full_like(seen["goal"], -2.0)


class OneSided(Reach):
    """A world whose expert knows two thirds of the goals, and points away from the others."""

    def expert(self):
        return lambda seen, true: np.where(seen["goal"] > -0.35, seen["goal"], 2.0)


@pytest.mark.parametrize(("kind", "anew"), [(Misled, False), (OneSided, True)])
def test_where_lessons_lead_nowhere_the_starting_policy_is_tuned(tmp_path, kind, anew):
    world = kind()
    begun = made(world, worlds=128, hidden=(32, 32), lessons=0)
    for _ in range(14):
        begun.learn()
    tune = replace(QUICK, lessons=3, steps=6 * QUICK.update, target=1.0, target_nominal=1.0)
    turn = job(tmp_path, replace(TINY, tune=tune, simulated=100))
    turn.__dict__["world"] = world  # one that no name opens
    begun.policy().save(turn.path("train/policy"))
    world.space.save(turn.path("narrow/space.json"))

    assert taught(turn, world.space) is anew
    told = retrain(turn)
    assert turn.path("retrain/tuned").exists() is anew

    start = evaluated(turn, turn.policy("train/policy"), world.space)
    after = Evaluation.load(turn.path("retrain/evaluation.npz"))
    assert told.endswith("steps of tuning")
    assert turn.policy("retrain/policy").provenance.parent is not None
    assert after.success_share > 0.9 and after.success_share >= start.success_share - 0.05


class Slow(Reach):
    """A world that nobody teaches: a policy has to find out by itself."""

    def expert(self):
        return None


def test_what_is_not_learnt_yet_is_gone_on_with_and_a_kill_changes_nothing(tmp_path):
    steps = 2 * QUICK.update
    tune = replace(QUICK, lessons=0, steps=steps, target=1.0, target_nominal=1.0)
    found = {}
    for name in ("whole", "killed"):
        world = Slow()
        turn = job(tmp_path / name, replace(TINY, tune=tune, simulated=100))
        turn.__dict__["world"] = world  # one that no name opens
        made(world, worlds=128, hidden=(32, 32), lessons=0).policy().save(turn.path("train/policy"))
        world.space.save(turn.path("narrow/space.json"))
        told = retrain(turn)
        if name == "killed":  # after it was decided to go on, in the middle of that
            turn.path("retrain/evaluation.npz").unlink()
            told = retrain(turn)
        assert f"after {2 * steps:,} steps" in told
        found[name] = Evaluation.load(turn.path("retrain/evaluation.npz")).success
        assert turn.policy("retrain/policy").provenance.steps == 2 * steps
    assert (found["whole"] == found["killed"]).all()


def test_what_is_learnt_is_not_gone_on_with(tmp_path):
    world = Reach()
    begun = made(world, worlds=128, hidden=(32, 32), lessons=0)
    for _ in range(14):
        begun.learn()
    steps = 6 * QUICK.update
    tune = replace(QUICK, lessons=3, steps=steps, target=1.0, target_nominal=1.0)
    turn = job(tmp_path, replace(TINY, tune=tune, simulated=100))
    turn.__dict__["world"] = world
    begun.policy().save(turn.path("train/policy"))
    world.space.save(turn.path("narrow/space.json"))
    assert f"after {steps:,} steps" in retrain(turn)
    assert not turn.path("retrain/longer.json").exists()
