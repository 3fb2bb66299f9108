"""Lessons: what an expert advises is learned, nothing else, and training goes on from there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from tests.train.rigs import QUICK, Told, environment, made, trained
from tests.train.runs import metrics
from tests.train.swing import Swing
from tests.train.test_resume import state
from trueup import worlds
from trueup.errors import TrueupError
from trueup.randomize import plan_named
from trueup.train import Run, Trainer
from trueup.train.checkpoint import Checkpoint
from trueup.train.environment import ACTOR
from trueup.train.learner import make_ppo, set_spread, spread
from trueup.train.lessons import Lessons

LIFT = worlds.get("so101/lift")
SMALL: dict[str, Any] = dict(worlds=8, horizon=8, lessons=4, critic_first=2, exploration=None)


def lifting(plan: str = "prior", **options: Any) -> Trainer:
    return made(LIFT, plan, **{**SMALL, **options})


class Advisor:
    """Wants every joint a fixed share of its lead ahead of where it is."""

    def __init__(self, lead: np.ndarray, share: float) -> None:
        self.ahead, self.asked = share * lead, 0

    def __call__(self, observation, privileged):
        self.asked += 1
        return observation["position"] + self.ahead


def taught(share: float, rounds: int) -> tuple[Lessons, Advisor, Any, Any]:
    settings = replace(QUICK, worlds=16, lessons=rounds)
    around = environment(n=16)
    torch.manual_seed(0)
    ppo = make_ppo(around, settings)
    set_spread(ppo, 0.2)
    expert = Advisor(np.array(around.contract.lead), share)
    lessons = Lessons(expert, around, ppo, settings)
    seen = around.get_observations()
    for k in range(rounds):
        seen, _ = lessons.collect(seen, k)
        lessons.learn(k)
    return lessons, expert, ppo, seen


@pytest.mark.parametrize(("share", "answer"), [(0.5, 0.5), (-0.3, -0.3), (4.0, 1.0)])
def test_what_is_advised_is_learned_and_never_more_than_a_servo_can_do(share, answer):
    _, expert, ppo, seen = taught(share, rounds=24)
    with torch.inference_mode():
        answers = ppo.get_policy()(seen).numpy()
    assert abs(answers.mean() - answer) < 0.05
    assert expert.asked == 24 * QUICK.horizon


def test_only_the_answers_are_learned_and_ppo_begins_with_a_clean_optimizer():
    lessons, _, ppo, _ = taught(0.5, rounds=2)
    assert spread(ppo) == pytest.approx([0.2])
    assert not ppo.critic_optimizer.state
    assert ppo.actor_optimizer.state
    lessons.end()
    assert not ppo.actor_optimizer.state


def test_the_scales_are_those_of_what_was_seen():
    _, _, ppo, seen = taught(0.5, rounds=3)
    scales = ppo.get_policy().obs_normalizer
    assert int(scales.count) == 3 * 16 * QUICK.horizon
    assert float(scales(seen[ACTOR]).abs().max()) < 12.0
    assert int(ppo.critic.obs_normalizer.count) == 3 * 16 * QUICK.horizon


def test_lessons_come_first_then_the_critic_alone_then_reward():
    trainer = lifting()
    kinds, weights = [], []
    for _ in range(8):
        progress = trainer.learn()
        kinds.append("imitation" in progress.losses)
        weights.append(trainer.ppo.save()["actor_state_dict"]["mlp.0.weight"].clone())
    assert kinds == [True] * 4 + [False] * 4
    same = [bool((a == b).all()) for a, b in pairwise(weights)]
    assert same == [False, False, False, True, True, False, False]
    assert spread(trainer.ppo)[0] == pytest.approx(0.15, abs=0.01)


def test_the_error_falls():
    trainer = lifting(lessons=8)
    errors = [trainer.learn().losses["imitation"] for _ in range(8)]
    assert errors[-1] < 0.5 * errors[0]


def test_lessons_say_nothing_of_the_policy():
    plan = Told(LIFT)
    settings = replace(QUICK, **{**SMALL, "horizon": LIFT.steps // 2, "lessons": 2})
    trainer = Trainer(LIFT, plan, settings, threads=1)
    for _ in range(2):
        assert np.isnan(trainer.learn().exploring)
    assert not plan.heard
    for _ in range(2):
        trainer.learn()
    assert plan.heard


@pytest.mark.parametrize("tuned", [False, True])
def test_there_are_none_where_they_are_not_wanted(tuned):
    trainer = made(LIFT, **SMALL, start=lifting().policy()) if tuned else lifting(lessons=0)
    assert trainer.phases.lessons == 0
    assert "imitation" not in trainer.learn().losses


def test_a_world_without_an_expert_begins_with_nothing():
    trainer = made(lessons=4)
    assert trainer.phases.before == 0
    assert "imitation" not in trainer.learn().losses
    assert trained().provenance.method == "ppo"


class Shown(Swing):
    """A pendulum whose author wrote an expert."""

    def expert(self):
        return lambda observation, privileged: 0.0 * observation["position"] + 1.0


def test_a_world_may_bring_its_own():
    trainer = made(Shown(), lessons=24, critic_first=0)
    for _ in range(24):
        trainer.learn()
    assert trainer.look().share > 0.9


@pytest.mark.parametrize(
    ("answer", "words"),
    [(np.zeros((3, 1)), r"shape \(3, 1\)"), (np.full((64, 1), np.nan), "with nan")],
)
def test_an_expert_that_answers_nonsense_is_refused(answer, words):
    world = Shown()
    vars(world)["expert"] = lambda: lambda observation, privileged: answer
    with pytest.raises(TrueupError, match=words) as told:
        made(world).learn()
    assert "The expert of world 'test/swing'" in str(told.value)
    assert "--no-expert" in str(told.value)


def test_the_provenance_tells_of_them():
    told = lifting().policy().provenance
    assert told.method == "lessons of a scripted expert, ppo"
    assert told.configuration["lessons"] == 4


def test_a_training_that_goes_on_within_them_is_the_uninterrupted_one(tmp_path):
    kept = 2
    whole = lifting("automatic")
    for _ in range(kept):
        whole.learn()
    whole.checkpoint().save(tmp_path / "checkpoint.pt")
    for _ in range(8 - kept):
        whole.learn()
    resumed = lifting("automatic", checkpoint=Checkpoint.load(tmp_path / "checkpoint.pt"))
    for _ in range(8 - kept):
        resumed.learn()
    assert state(resumed) == state(whole)


def test_the_same_seed_gives_the_same_lessons():
    stored = []
    for seed in (1, 1, 2):
        trainer = lifting(seed=seed)
        torch.manual_seed(seed)
        for _ in range(3):
            trainer.learn()
        stored.append(trainer.policy().stored)
    assert stored[0] == stored[1] != stored[2]


def test_a_run_logs_them_and_looks_at_their_end(tmp_path):
    settings = replace(QUICK, **SMALL, check_episodes=8, confirm_episodes=8, target=1.0, steps=384)
    plan = plan_named("prior", LIFT.space)
    Run(folder=tmp_path / "run", world=LIFT, plan=plan, settings=settings, threads=1).run()
    lines = metrics(tmp_path / "run")
    taught = [line["update"] for line in lines if "loss/imitation" in line]
    looked = [line["update"] for line in lines if "success/look" in line]
    assert taught == [1, 2, 3, 4]
    assert looked[0] == 4
