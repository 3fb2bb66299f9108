"""Laws of the learner: it teaches what rsl_rl's PPO teaches, the same on one thread as on two."""

from __future__ import annotations

import copy

import pytest
import torch
from rsl_rl.algorithms import PPO

from tests.train.rigs import QUICK, environment, made
from trueup.train.learner import Kind, construct, only_critic
from trueup.train.side_by_side import SideBySide

STORED = ("observations", "actions", "rewards", "dones", "values", "returns", "advantages")


def collected(kind: type[Kind]) -> Kind:
    """A learner of this kind after it has played, with the same seed for every kind."""
    worlds = environment(n=16)
    worlds._age[:] += 12  # so that some episodes end within the horizon, by time and otherwise
    torch.manual_seed(3)
    ppo = construct(kind, worlds, QUICK)
    seen = worlds.get_observations()
    with torch.inference_mode():
        for _ in range(QUICK.horizon):
            seen, reward, ended, extras = worlds.step(ppo.act(seen))
            ppo.process_env_step(seen, reward, ended, extras)
        ppo.compute_returns(seen)
    return ppo


def taught(ppo: PPO) -> dict[str, float]:
    torch.manual_seed(4)
    ppo.desired_kl = 0.002  # so small that the learning rate has to move
    losses = ppo.update()
    ppo.save()  # what is kept is all that was learned: a critic that still learns is waited for
    return losses


def same_weights(one: PPO, other: PPO) -> bool:
    pairs = ((one.actor, other.actor), (one.critic, other.critic))
    states = [(a.state_dict(), b.state_dict()) for a, b in pairs]
    return all(torch.equal(a[name], b[name]) for a, b in states for name in a)


def test_it_collects_what_rsl_rl_collects():
    ours, theirs = collected(SideBySide).storage, collected(PPO).storage
    assert theirs.dones.any()
    for name in STORED:
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name))
    torch.testing.assert_close(ours.actions_log_prob, theirs.actions_log_prob)
    torch.testing.assert_close(ours.distribution_params, theirs.distribution_params)


@pytest.mark.parametrize("threads", [0, 1])
def test_it_teaches_what_rsl_rl_teaches(threads):
    ours, theirs = collected(SideBySide), collected(PPO)
    ours.threads, ours.storage = threads, copy.deepcopy(theirs.storage)
    assert same_weights(ours, theirs)
    losses, expected = taught(ours), taught(theirs)
    for name in ("actor", "critic"):
        found, wanted, before = (
            getattr(ppo, name).state_dict() for ppo in (ours, theirs, collected(PPO))
        )
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)
        assert not torch.allclose(wanted["mlp.0.weight"], before["mlp.0.weight"], atol=1e-4)
    assert ours.learning_rate == theirs.learning_rate != QUICK.learning_rate
    del losses["value"], expected["value"]  # ours comes one update later
    assert losses == pytest.approx(expected, rel=1e-4)


def test_a_frozen_actor_stays_while_the_critic_learns():
    ppo = collected(SideBySide)
    before = copy.deepcopy(ppo)
    with only_critic(ppo, frozen=True):
        taught(ppo)
    for name, value in ppo.actor.mlp.state_dict().items():
        assert torch.equal(value, before.actor.mlp.state_dict()[name])
    assert not same_weights(ppo, before)


def test_the_critic_may_have_a_pace_of_its_own():
    ppo = collected(SideBySide)
    ppo.critic_rate = 0.0123
    taught(ppo)
    assert ppo.critic_optimizer.param_groups[0]["lr"] == 0.0123
    assert ppo.actor_optimizer.param_groups[0]["lr"] == ppo.learning_rate


def test_the_loss_of_the_critic_comes_one_update_later():
    ppo, theirs = collected(SideBySide), collected(PPO)
    ppo.storage = copy.deepcopy(theirs.storage)
    again = copy.deepcopy(theirs.storage)
    assert taught(ppo)["value"] == 0.0
    ppo.storage = again
    assert taught(ppo)["value"] == pytest.approx(taught(theirs)["value"], rel=1e-4)


def test_a_training_on_two_threads_is_the_one_on_one():
    def state(threads: int) -> list[torch.Tensor]:
        trainer = made()
        trainer.ppo.threads = threads
        for _ in range(3):
            trainer.learn()
        kept = trainer.snapshot().ppo
        return [*kept["actor_state_dict"].values(), *kept["critic_state_dict"].values()]

    assert all(torch.equal(a, b) for a, b in zip(state(1), state(0), strict=True))


def test_a_critic_that_fails_is_heard_of():
    ppo = collected(SideBySide)
    ppo.critic_rate = "fast"  # type: ignore[assignment]
    ppo.update()
    with pytest.raises(TypeError):
        ppo.save()
