"""Checkpoints: a training that goes on is the one that never stopped, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import torch

from tests.train.rigs import learned, made, trained
from tests.train.swing import Swing
from trueup.errors import TrueupError
from trueup.train import Trainer
from trueup.train.checkpoint import Checkpoint

ROOT = Path(__file__).parents[2]


def flat(stored: Any, *path: Any) -> dict[tuple, Any]:
    """All numbers of nested dicts and lists by where they are."""
    if isinstance(stored, torch.Tensor):
        return {path: stored.tolist()}
    if isinstance(stored, dict | list | tuple):
        items = stored.items() if isinstance(stored, dict) else enumerate(stored)
        return {k: v for key, value in items for k, v in flat(value, *path, key).items()}
    return {path: stored}


def state(trainer: Trainer) -> dict[tuple, Any]:
    """All that a training is: its checkpoint, time aside."""
    made = trainer.snapshot()
    kept = {name: getattr(made, name) for name in ("update", "ppo", "generator", "plan", "notes")}
    return flat({**kept, "torch": made.torch_state})


@pytest.mark.parametrize("plan", ["prior", "sobol", "automatic", "entropy"])
def test_a_resumed_training_is_the_uninterrupted_one(plan, tmp_path):
    uninterrupted = made(plan=plan)
    for _ in range(8):
        uninterrupted.learn()
    assert uninterrupted.environment.success_share > 0.2  # what depends on success shows
    uninterrupted.look()
    uninterrupted.checkpoint().save(tmp_path / "checkpoint.pt")
    before = json.dumps(uninterrupted.plan.state())
    for _ in range(4):
        uninterrupted.learn()
    resumed = made(plan=plan, checkpoint=Checkpoint.load(tmp_path / "checkpoint.pt"))
    assert resumed.update == 8
    for _ in range(4):
        resumed.learn()
    assert resumed.policy().stored == uninterrupted.policy().stored  # the best so far
    assert resumed.contract == uninterrupted.contract
    one, other = state(uninterrupted), state(resumed)
    assert any("actor_optimizer_state_dict" in key for key in one)
    assert one == other
    if uninterrupted.plan.moves:
        assert json.dumps(uninterrupted.plan.state()) != before  # there was something to keep


def test_so_is_a_resumed_tuning(tmp_path):
    def tuned(**options: Any) -> Trainer:
        return made(start=trained(), **options)

    uninterrupted = tuned()
    for _ in range(3):
        uninterrupted.learn()
    uninterrupted.checkpoint().save(tmp_path / "checkpoint.pt")
    for _ in range(6):  # over the end of the updates in which only the critic learns
        uninterrupted.learn()
    resumed = tuned(checkpoint=Checkpoint.load(tmp_path / "checkpoint.pt"))
    for _ in range(6):
        resumed.learn()
    assert state(resumed) == state(uninterrupted)


def test_the_same_seed_gives_the_same_policy_and_another_another():
    one, same, other = (made(seed=seed) for seed in (3, 3, 4))
    stored = []
    for trainer in (one, same, other):
        torch.manual_seed(trainer.settings.seed)
        for _ in range(3):
            trainer.learn()
        stored.append(trainer.policy().stored)
    assert stored[0] == stored[1] != stored[2]


def test_a_checkpoint_comes_back_bit_for_bit(tmp_path):
    checkpoint = learned().checkpoint()
    checkpoint.save(tmp_path / "checkpoint.pt")
    again = Checkpoint.load(tmp_path / "checkpoint.pt")
    for name in ("update", "wall_s", "ppo", "torch_state", "generator", "plan", "notes"):
        assert flat(getattr(again, name)) == flat(getattr(checkpoint, name))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


# Refused ----------------------------------------------------------------------------------------


class OtherSwing(Swing):
    name = "test/other"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(world=OtherSwing()), 'its world is "test/swing", and "test/other" was asked for'),
        (dict(plan="automatic"), 'its plan is "prior", and "automatic" was asked for'),
        (dict(hidden=(16,)), "its hidden is [32], and [16] was asked for"),
        (dict(history=3), "its history is 2, and 3 was asked for"),
        (dict(worlds=32), "its worlds is 64, and 32 was asked for"),
        (dict(seed=1), "its seed is 0, and 1 was asked for"),
        (dict(gamma=0.5), "its gamma is 0.9, and 0.5 was asked for"),
        (dict(start=trained()), "its start is null, and "),
    ],
    ids=lambda x: "+".join(x) if isinstance(x, dict) else "",
)
def test_a_checkpoint_of_another_training_is_refused_with_both_named(options, words):
    checkpoint = learned().checkpoint()
    with pytest.raises(TrueupError) as told:
        made(**options, checkpoint=checkpoint)
    assert "belongs to another training" in str(told.value)
    assert words in str(told.value)


def test_a_checkpoint_of_another_space_is_refused():
    world = Swing()
    checkpoint = learned().checkpoint()
    trainer = learned()
    plan = type(trainer.plan)(world.space.select("object"))
    with pytest.raises(TrueupError, match=r"its space is .*, and .* was asked for"):
        Trainer(world, plan, trainer.settings, threads=1, checkpoint=checkpoint)


def test_how_long_and_how_well_may_change():
    checkpoint = learned().checkpoint()
    resumed = made(
        steps=10**6,
        target=0.5,
        check_every=9,
        check_episodes=3,
        confirm_episodes=4,
        checkpoint=checkpoint,
    )
    assert resumed.update == 8


def test_a_truncated_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint.pt"
    learned().checkpoint().save(path)
    content = path.read_bytes()
    for share in np.linspace(0.0, 0.99, 12):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(TrueupError, match="is not a checkpoint that can be read") as told:
            Checkpoint.load(path)
        assert str(path) in str(told.value)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(TrueupError, match="There is no checkpoint at"):
        Checkpoint.load(tmp_path / "checkpoint.pt")
    for k, other in enumerate(({"format": "other", "version": 1}, [1, 2], {}, torch.zeros(3))):
        torch.save(other, tmp_path / f"{k}.pt")
        with pytest.raises(TrueupError, match="is not a checkpoint that can be read"):
            Checkpoint.load(tmp_path / f"{k}.pt")


class Burglar:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, (os.environ["TRUEUP_TEST_BURGLAR"],)


def test_nothing_in_a_checkpoint_is_executed(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEUP_TEST_BURGLAR", str(tmp_path / "burgled"))
    path = tmp_path / "checkpoint.pt"
    learned().checkpoint().save(path)
    stored = torch.load(path, weights_only=True)
    torch.save({**stored, "notes": Burglar()}, path)
    with pytest.raises(TrueupError, match="is not a checkpoint that can be read"):
        Checkpoint.load(path)
    assert not (tmp_path / "burgled").exists()
    torch.load(path, weights_only=False)  # it would have
    assert (tmp_path / "burgled").exists()


FULL = """
    import resource
    import sys
    from pathlib import Path

    from tests.train.rigs import learned
    from trueup.errors import TrueupError
    from trueup.train.checkpoint import Checkpoint

    path = Path(sys.argv[1])
    trainer = learned(1)
    trainer.checkpoint().save(path)
    size = path.stat().st_size
    for most in (0, 100, size // 2, size - 100):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        trainer.update += 1
        try:
            trainer.checkpoint().save(path)
        except TrueupError as error:
            print(error)
        else:
            raise SystemExit("it was written all the same")
    assert Checkpoint.load(path).update == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]
"""


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", dedent(FULL), str(tmp_path / "checkpoint.pt")],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("checkpoint.pt could not be written") == 4
