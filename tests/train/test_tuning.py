"""Training from a policy: it begins where the parent stands, and says whose child it is."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from tests.train.rigs import QUICK, learned, made, trained
from tests.train.runs import metrics, run_of, steps
from tests.train.swing import Swing
from trueup.errors import TrueupError
from trueup.evaluate import compared, evaluate, piloted, trials
from trueup.policies import Feature, Layer, Policy, network_bytes, network_layers
from trueup.randomize import FromPrior
from trueup.space import Uniform
from trueup.train import Trainer
from trueup.train.learner import actor_bytes, spread
from trueup.worlds import get

DAMPING = "actuation/swing/damping"


@cache
def tuned(updates: int) -> Trainer:
    """A trainer that began from the trained policy, after some updates."""
    trainer = made(start=trained())
    for _ in range(updates):
        trainer.learn()
    return trainer


def close(one: bytes, other: bytes, atol: float) -> None:
    for a, b in zip(network_layers(one)[:2], network_layers(other)[:2], strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


def test_it_begins_as_its_parent():
    before = trained().stored
    began = actor_bytes(tuned(0).ppo)
    close(began, before, 1e-6)
    for a, b in zip(network_layers(began)[2], network_layers(before)[2], strict=True):
        np.testing.assert_array_equal(a.weight, b.weight)
        np.testing.assert_array_equal(a.bias, b.bias)


@pytest.mark.parametrize("updates", [0, 3, 6, 8])
def test_it_does_not_fall_behind_its_parent(updates):
    world = Swing()
    child = tuned(updates).policy(actor_bytes(tuned(updates).ppo))
    points, seeds = trials(world.space, 200, 11)
    parent, own = (
        evaluate(world, piloted(policy), points, seeds, threads=1) for policy in (trained(), child)
    )
    assert parent.success_share > 0.8
    difference = compared(parent, own)
    low, _ = difference.interval()
    assert low <= 0.02, difference  # the parent is not better, but for noise


def test_only_the_critic_learns_at_first():
    before = network_layers(trained().stored)[2]
    early, late = (network_layers(actor_bytes(tuned(k).ppo))[2] for k in (6, 8))
    for a, b in zip(before, early, strict=True):
        np.testing.assert_array_equal(a.weight, b.weight)
    assert not np.array_equal(before[0].weight, late[0].weight)
    critic = [tuned(k).ppo.save()["critic_state_dict"]["mlp.0.weight"] for k in (0, 6)]
    assert not bool((critic[0] == critic[1]).all())


@pytest.mark.parametrize(
    ("asked", "known", "wanted"),
    [
        (0.4, [0.1], 0.4),
        (None, [0.1], 0.1),
        (None, [0.0], 0.05),
        (None, [9.0], 0.6),
        (None, [0.1, 0.1], 0.15),
        (None, [float("nan")], 0.15),
        (None, "much", 0.15),
        (None, None, 0.15),
    ],
    ids=["asked for", "as it ended", "too little", "too much", "of another", "nan", "text", "none"],
)
def test_it_explores_as_its_parent_did_in_the_end(asked, known, wanted):
    parent = trained()
    told = {**parent.provenance.configuration, "spread": known}
    parent = replace(parent, provenance=replace(parent.provenance, configuration=told))
    trainer = made(start=parent, exploration=asked)
    assert spread(trainer.ppo) == pytest.approx([wanted])


def test_a_policy_tells_how_much_its_training_explored():
    trainer = learned()
    assert trained().provenance.configuration["spread"] == spread(trainer.ppo)


def test_its_scales_stay_as_they_were():
    """What the weights rely on must not move under them."""
    before, after = (network_layers(actor_bytes(tuned(k).ppo))[:2] for k in (0, 8))
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_the_critic_keeps_its_pace_where_the_actor_is_slowed():
    trainer = made(start=trained(), kl_done=1e-6, kl=1e-6, critic_first=0)
    for _ in range(4):
        trainer.learn()
    actor, critic = (
        optimizer.param_groups[0]["lr"]
        for optimizer in (trainer.ppo.actor_optimizer, trainer.ppo.critic_optimizer)
    )
    assert actor < 1e-4
    assert critic == trainer.settings.learning_rate


def test_it_is_looked_at_before_it_is_touched(tmp_path):
    run_of(tmp_path / "run", start=trained(), steps=steps(1), target=1.0).run()
    looks = [line["update"] for line in metrics(tmp_path / "run") if "success/look" in line]
    assert looks == [0, 1]


def test_it_stays_where_nothing_better_comes():
    trainer = made(start=trained())
    assert trainer.untouched
    assert trainer.look().share > 0.8
    with torch.no_grad():
        for parameter in trainer.ppo.get_policy().mlp.parameters():
            parameter.zero_()
    trainer.look()
    close(trainer.policy().stored, trained().stored, 1e-6)


def test_one_that_is_good_enough_already_is_left_as_it_is(tmp_path):
    ended = run_of(tmp_path / "run", start=trained(), target=0.5, target_nominal=0.5).run()
    assert (ended.why, ended.steps) == ("target", 0)
    close(ended.policy.stored, trained().stored, 1e-6)


def test_it_records_its_parent(tmp_path):
    parent = trained().save(tmp_path / "parent")
    trainer = made(start=parent)
    child = trainer.policy().save(tmp_path / "child")
    known = Policy.load(tmp_path / "child").provenance.parent
    assert known is not None
    assert known["name"] == str(tmp_path / "parent")
    assert known["sha256"] == hashlib.sha256(parent.stored).hexdigest()
    assert known["steps"] == parent.provenance.steps
    grandchild = made(start=child).policy().provenance.parent
    assert grandchild is not None and grandchild["parent"]["sha256"] == known["sha256"]
    assert learned().policy().provenance.parent is None


def test_it_is_tuned_in_another_space():
    world = Swing()
    narrow = world.space.narrowed({DAMPING: Uniform(low=0.25, high=0.26)})
    trainer = Trainer(world, FromPrior(narrow), QUICK, start=trained(), threads=1)
    trainer.learn()
    column = trainer.environment.worlds.points[:, narrow.index(DAMPING)]
    assert ((column >= 0.25) & (column <= 0.26)).all()
    assert trainer.policy().contract.space.to_json() == narrow.to_json()


def test_the_terms_of_the_parent_hold():
    parent = trained()
    slow = replace(parent, contract=replace(parent.contract, lead=(0.2,), rate=(3.0,)))
    trainer = made(start=slow, history=5, hidden=(64, 64))
    contract = trainer.policy().contract
    assert (contract.lead, contract.rate, contract.history) == ((0.2,), (3.0,), 2)
    assert len(network_layers(actor_bytes(trainer.ppo))[2]) == 2
    trainer.learn()


def test_what_was_used_is_what_is_recorded():
    """History and widths come from the parent, whatever the settings say."""
    policy = made(start=trained(), history=5, hidden=(64, 64)).policy()
    recorded = policy.provenance.configuration
    assert recorded["history"] == policy.contract.history == 2
    assert list(recorded["hidden"]) == [32]


def test_a_policy_of_another_world_is_refused():
    parent = replace(trained(), name="out/parent")
    with pytest.raises(TrueupError) as told:
        Trainer(get("so101/reach"), FromPrior(get("so101/reach").space), QUICK, start=parent)
    assert "Policy out/parent does not fit world 'so101/reach'" in str(told.value)
    assert "swing" in str(told.value)
    face = parent.contract.interface
    deg = (Feature(name="position", size=1, unit="deg"), *face.observations[1:])
    other = replace(parent.contract, interface=replace(face, observations=deg))
    with pytest.raises(TrueupError, match="reads 'position' as 1 × deg"):
        made(start=replace(parent, contract=other))


@pytest.mark.parametrize("name", [b"weight_0", b"matrix_0"])
def test_a_network_that_cannot_be_trained_further_is_refused(name):
    """One without a hidden layer, and one of somebody else: both run, but are not ours."""
    layers = [Layer(np.zeros((1, 8)), np.zeros(1))]
    stored = network_bytes(mean=np.zeros(8), scale=np.ones(8), layers=layers)
    stranger = replace(trained(), stored=stored.replace(b"weight_0", name))
    stranger.pilot()
    with pytest.raises(TrueupError):
        made(start=stranger)
