"""A policy from demonstrations, from beginning to end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.train.imitation.reaches import (
    QUICK,
    cloned,
    demonstrations,
    only,
    reaches,
    rewritten,
    world,
)
from trueup.errors import TrueupError
from trueup.evaluate import evaluate, piloted, trials
from trueup.policies import Policy
from trueup.randomize import FromPrior
from trueup.space import Space
from trueup.train import Run, Settings
from trueup.train.imitation import Portion, clone, one_step


def success(policy: Policy, n: int = 32) -> float:
    points, seeds = trials(Space(()), n, 5)
    return evaluate(world(), piloted(policy), points, seeds, threads=1).success_share


def test_it_does_what_was_shown():
    found = cloned()
    assert success(found.policy) > 0.8
    assert found.why == "steps"
    assert found.demonstrations == {str(reaches()): 32}
    stored = found.policy.provenance
    assert (stored.method, stored.outcome["label"]) == ("cloning", "sim-to-sim")
    assert stored.outcome["held_out_error"] == found.error
    assert found.policy.contract.chunk is not None


def test_the_folder_holds_the_same_policy():
    again = Policy.load(cloned().policy.name)
    assert again.stored == cloned().policy.stored
    lines = (Path(again.name).parent / "metrics.jsonl").read_text().splitlines()
    held_out = [json.loads(line)["held_out"] for line in lines]
    assert min(held_out) == cloned().error < held_out[0]


def test_the_same_seed_gives_the_same_policy_and_another_does_not(tmp_path):
    few = replace(QUICK, steps=20, look_every=10)
    made = [
        clone(world(), [demonstrations()], replace(few, seed=seed), tmp_path / str(k)).policy.stored
        for k, seed in enumerate((3, 3, 4))
    ]
    assert made[0] == made[1] != made[2]


def test_stopped_and_gone_on_is_as_if_never_stopped(tmp_path):
    few = replace(QUICK, steps=60, look_every=20)
    whole = clone(world(), [demonstrations()], few, tmp_path / "whole")

    def stop(progress):
        if progress.step == 40:
            raise KeyboardInterrupt

    part = clone(world(), [demonstrations()], few, tmp_path / "part", on_progress=stop)
    assert (part.why, part.steps) == ("interrupted", 40)
    assert Policy.load(part.policy.name).provenance.outcome["ended"] == "interrupted"
    again = clone(world(), [demonstrations()], few, tmp_path / "part", resume=True)
    assert again.policy.stored == whole.policy.stored
    assert again.steps == 60


def test_another_learning_is_not_gone_on_with(tmp_path):
    few = replace(QUICK, steps=10, look_every=10)
    clone(world(), [demonstrations()], few, tmp_path)
    with pytest.raises(TrueupError, match="already holds a training"):
        clone(world(), [demonstrations()], few, tmp_path)
    with pytest.raises(TrueupError, match="its batch is 256, and 128 was asked for"):
        clone(world(), [demonstrations()], replace(few, batch=128), tmp_path, resume=True)
    (tmp_path / "checkpoint.pt").write_bytes(b"no checkpoint")
    with pytest.raises(TrueupError, match="not a checkpoint of learning"):
        clone(world(), [demonstrations()], few, tmp_path, resume=True)


def test_it_stops_when_held_out_episodes_get_no_better(tmp_path):
    eager = replace(QUICK, steps=200, look_every=5, patience=2, learning_rate=1.0)
    found = clone(world(), [demonstrations()], eager, tmp_path)
    assert found.why == "patience"
    assert found.steps < 200


def test_tuning_begins_where_the_policy_is(tmp_path):
    start = cloned().policy
    barely = replace(QUICK, steps=1, learning_rate=1e-8, chunk=2, history=5, hidden=(8,))
    tuned = clone(world(), [demonstrations()], barely, tmp_path, start=start).policy
    x = np.random.default_rng(0).normal(size=(5, start.contract.inputs)).astype(np.float32)
    np.testing.assert_allclose(tuned.network(x), start.network(x), atol=1e-4)
    assert tuned.contract.chunk == start.contract.chunk
    parent = tuned.provenance.parent
    assert parent is not None
    assert parent["name"] == start.name


def test_tuning_on_datasets_that_lack_what_the_policy_reads_is_refused(tmp_path):
    folder = rewritten(tmp_path / "d", lambda e: only(e, "command", "joint_position"))
    with pytest.raises(TrueupError, match="tcp_position"):
        clone(world(), [Portion(dataset=folder)], QUICK, tmp_path / "run", start=cloned().policy)


def test_one_demonstration_alone_is_refused_but_helps_others(tmp_path):
    one = Portion(dataset=reaches(), episodes=[0])
    with pytest.raises(TrueupError, match="one demonstration") as refused:
        clone(world(), [one], QUICK, tmp_path / "a")
    assert "trueup generate" in str(refused.value.fix)
    few = replace(QUICK, steps=10, look_every=10)
    other = Portion(dataset=reaches(), episodes=range(10))
    found = clone(world(), [replace(one, weight=1.0), replace(other, weight=2.0)], few, tmp_path)
    assert found.steps == 10


def test_its_first_answers_make_a_policy_of_one_step():
    policy = cloned().policy
    single = one_step(policy)
    assert single.contract.chunk is None
    x = np.random.default_rng(0).normal(size=(5, policy.contract.inputs)).astype(np.float32)
    np.testing.assert_array_equal(single.network(x), policy.network(x)[:, :6])
    assert one_step(single) is single


def test_reward_goes_on_from_one_step_alone(tmp_path):
    policy, plan = cloned().policy, FromPrior(Space(()))
    small = Settings(worlds=4, steps=1, check_episodes=4, confirm_episodes=4)
    run = Run(folder=tmp_path, world=world(), plan=plan, settings=small, start=policy)
    with pytest.raises(TrueupError, match="answers for 6 steps at once") as refused:
        run.run()
    assert "one_step" in str(refused.value.fix)


def test_no_dataset_is_refused(tmp_path):
    with pytest.raises(TrueupError, match="no demonstrations"):
        clone(world(), [], QUICK, tmp_path)
