"""A training as a folder: that it learns, when it stops, and what it leaves."""

from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path

import pytest
import torch

from tests.train.rigs import QUICK, learned, made
from tests.train.runs import metrics, run_of, scalars, steps
from tests.train.swing import Reach, Swing
from trueup.errors import TrueupError
from trueup.evaluate import wilson
from trueup.policies import Policy
from trueup.space import Space
from trueup.train import Progress, Success, Trained
from trueup.train.checkpoint import Checkpoint
from trueup.train.learner import actor_bytes
from trueup.train.look import success_of


@pytest.fixture(scope="module")
def reached(tmp_path_factory) -> tuple[Path, Trained, list[Progress]]:
    """A training that reaches its target."""
    folder = tmp_path_factory.mktemp("run") / "swing"
    told: list[Progress] = []
    run = run_of(folder, steps=steps(60), target=0.9, confirm_episodes=200)
    return folder, run.run(on_progress=told.append), told


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns(seed):
    world = Reach()
    trainer = made(world, worlds=128, hidden=(32, 32), seed=seed)
    shares = []
    for updates in (0, 14):
        for _ in range(updates):
            trainer.learn()
        policy = trainer.policy()
        shares.append(success_of(policy, world, world.space, 200, [seed], threads=1))
    before, after = shares
    assert before.interval[1] < 0.4
    assert after.interval[0] > 0.9


def test_it_stops_at_the_target_and_not_before_the_interval_says_so(reached):
    _, trained, told = reached
    assert trained.why == "target"
    assert trained.success["randomized"].interval[0] >= 0.9
    assert trained.success["randomized"].n == trained.success["nominal"].n == 200
    assert trained.steps == told[-1].steps < steps(60)


def test_no_target_stops_it_before_its_least_steps(reached, tmp_path):
    _, trained, _ = reached
    least = trained.steps + 1
    run = run_of(tmp_path, steps=steps(60), least=least, target=0.9, confirm_episodes=200)
    longer = run.run()
    assert longer.why == "target"
    assert least < longer.steps < steps(60)


@pytest.mark.parametrize(("least", "kept"), [(0, "good"), (3, "bad")])
def test_what_was_good_before_the_least_steps_gives_way(least, kept):
    trainer = made(least=steps(least))
    stored = {"good": actor_bytes(learned().ppo), "bad": actor_bytes(trainer.ppo)}
    looks = [trainer.judge.look(stored[name], k) for name, k in (("good", 2), ("bad", 3))]
    assert looks[0].share > looks[1].share
    assert trainer.judge.best is not None and trainer.judge.best[1] == stored[kept]


def test_a_few_lucky_episodes_do_not_stop_it(tmp_path):
    told: list[Progress] = []
    run = run_of(tmp_path / "run", steps=steps(16), target=0.6, confirm_episodes=5)
    trained = run.run(on_progress=told.append)
    assert trained.success["randomized"].share == 1.0
    assert trained.success["randomized"].interval[0] < 0.6
    assert trained.why == "steps"
    assert trained.steps == steps(16)
    looks = [line for line in metrics(tmp_path / "run") if "success/look" in line]
    assert [line["success/look"] >= 0.6 for line in looks].count(True) >= 2  # it tried
    assert told[-1].look is not None and told[-1].look.n == QUICK.check_episodes


def test_the_policy_and_its_provenance_say_how_it_ended(reached):
    folder, trained, _ = reached
    policy = Policy.load(folder / "policy")
    assert policy.stored == trained.policy.stored
    assert policy.name == trained.policy.name == str(folder / "policy")
    outcome = policy.provenance.outcome
    assert outcome["ended"] == "target"
    assert outcome["label"] == "sim-to-sim"
    found = trained.success["randomized"]
    assert outcome["randomized"]["good"] == found.good
    assert tuple(outcome["randomized"]["interval_95"]) == wilson(found.good, found.n)
    assert policy.provenance.steps == trained.steps
    assert policy.contract.world == "test/swing"


def test_the_folder_holds_what_it_should(reached):
    folder, trained, _ = reached
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "policy",
        "checkpoint.pt",
        "configuration.json",
        "metrics.jsonl",
        "space.json",
        "logs",
    }
    configuration = json.loads((folder / "configuration.json").read_text())
    assert configuration["world"] == "test/swing"
    assert configuration["settings"]["target"] == 0.9
    assert Space.load(folder / "space.json").to_json() == Swing().space.to_json()
    assert Checkpoint.load(folder / "checkpoint.pt").update == trained.steps // QUICK.update


def test_the_metrics_are_the_numbers_that_were_told(reached):
    folder, _, told = reached
    lines = metrics(folder)
    updates = [line for line in lines if "reward" in line]
    assert [line["update"] for line in updates] == list(range(1, len(told) + 1))
    for line, progress in zip(updates, told, strict=True):
        assert line["steps"] == progress.steps
        assert line["reward"] == progress.reward
        assert line["spread"] == progress.spread
        assert line["loss/value"] == progress.losses["value"]
        assert line.get("success/exploring", -1.0) == pytest.approx(
            progress.exploring if progress.exploring == progress.exploring else -1.0
        )
    looks = [line for line in lines if "success/look" in line]
    assert looks and looks[-1]["success/look"] >= 0.9
    assert {line["update"] % QUICK.check_every for line in looks} == {0}


def test_tensorboard_has_them_too(reached):
    folder, _, told = reached
    reward = scalars(folder, "reward")
    assert reward == {p.steps: pytest.approx(p.reward, rel=1e-5) for p in told}
    looks = {
        line["steps"]: line["success/look"] for line in metrics(folder) if "success/look" in line
    }
    assert scalars(folder, "success/look") == pytest.approx(looks)


def test_progress_says_where_training_stands(reached):
    _, _, told = reached
    assert [p.update for p in told] == list(range(1, len(told) + 1))
    assert {p.updates for p in told} == {60}
    assert told[0].look is None
    assert all(p.steps_per_s > 0 and p.left_s > 0 for p in told)
    assert 0.0 < told[-1].spread < told[0].spread
    assert "2 parameters" in told[-1].plan


def test_success_is_told_with_its_interval():
    success = Success(good=95, n=100)
    low, high = wilson(95, 100)
    assert success.interval == (low, high)
    assert str(success) == f"95.0% ({low:.1%} – {high:.1%})"
    stored = success.to_json()
    assert (stored["good"], stored["n"], stored["share"]) == (95, 100, 0.95)


@pytest.mark.parametrize(("least", "played"), [(0.99, 256), (0.0, 600), (None, 600)])
def test_a_confirmation_that_is_lost_is_not_played_to_the_end(least, played):
    fresh = made()
    policy, world = fresh.policy(), fresh.world
    found = success_of(policy, world, world.space, 600, [3], threads=1, least=least)
    whole = success_of(policy, world, world.space, 600, [3], threads=1)
    assert found.n == played
    assert whole.n == 600
    if least is not None:
        assert (found.interval[0] >= least) == (whole.interval[0] >= least)


def test_nominal_worlds_are_not_played_where_the_others_decide_already():
    trainer = made(target=0.9)
    trainer.look()
    assert set(trainer.confirm(whole=False)) == {"randomized"}
    assert set(trainer.confirm()) == {"nominal", "randomized"}


def test_the_policy_does_not_depend_on_threads(tmp_path):
    one, two = (
        run_of(tmp_path / str(k), steps=steps(4), confirm_episodes=2, threads=k).run()
        for k in (1, 2)
    )
    assert one.policy.stored == two.policy.stored


def test_it_leaves_torch_as_it_was(tmp_path):
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    handlers = [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)]
    run_of(tmp_path / "run", steps=1, check_episodes=2, confirm_episodes=2).run()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_the_best_policy_is_kept_not_the_last():
    trainer = made()
    for _ in range(10):
        trainer.learn()
    good = trainer.look()
    best = trainer.policy().stored
    assert good.share > 0.8
    with torch.no_grad():
        for parameter in trainer.ppo.get_policy().mlp.parameters():
            parameter.zero_()
    assert trainer.look().share < 0.2
    assert trainer.policy().stored == best
    assert trainer.confirm()["randomized"].share > 0.8


def test_metrics_that_cannot_be_written_are_a_sentence(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").mkdir()
    with pytest.raises(TrueupError, match=os.strerror(errno.EISDIR)):
        run_of(folder).run()
