"""Stopping and going on: what is kept, what goes on, and what is another training."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.train.rigs import trained
from tests.train.runs import NEVER, OFTEN, last_look, metrics, run_of, scalars, steps
from tests.train.swing import Swing
from trueup.errors import TrueupError
from trueup.policies import Policy
from trueup.train import Progress
from trueup.train.checkpoint import Checkpoint
from trueup.train.look import success_of


def interrupting(after: int, kind: signal.Signals = signal.SIGINT) -> Callable[[Progress], None]:
    """Ctrl-C, pressed when an update is done."""

    def press(progress: Progress) -> None:
        if progress.update == after:
            os.kill(os.getpid(), kind)

    return press


@pytest.mark.parametrize("plan", ["prior", "automatic"])
def test_a_run_in_two_parts_is_the_run_in_one(tmp_path, plan):
    whole = run_of(tmp_path / "whole", plan, steps=steps(8), **OFTEN).run()
    half = run_of(tmp_path / "parts", plan, steps=steps(4), **OFTEN).run()
    assert half.steps == steps(4)
    parts = run_of(tmp_path / "parts", plan, steps=steps(8), **OFTEN).run(resume=True)
    assert parts.steps == whole.steps == steps(8)
    assert parts.policy.stored == whole.policy.stored != half.policy.stored
    assert parts.policy.contract == whole.policy.contract
    assert parts.success == whole.success
    for one, other in zip(metrics(tmp_path / "whole"), metrics(tmp_path / "parts"), strict=True):
        assert {**one, "steps_per_s": 0} == {**other, "steps_per_s": 0}


def test_after_a_resume_tensorboard_still_shows_what_was_before(tmp_path):
    run_of(tmp_path / "run", steps=steps(4), **NEVER).run()
    first = scalars(tmp_path / "run", "reward")
    run_of(tmp_path / "run", steps=steps(8), **NEVER).run(resume=True)
    both = scalars(tmp_path / "run", "reward")
    assert list(both) == [steps(k) for k in range(1, 9)]
    assert {step: both[step] for step in first} == first


def test_tensorboard_takes_what_came_later_for_later_within_one_second_too(tmp_path):
    run_of(tmp_path / "run", steps=steps(4), **NEVER).run()
    (before,) = (tmp_path / "run" / "logs").glob("events.*")
    now = int(time.time())  # and a name that comes after any that is made in this second
    before.rename(before.with_name(f"events.out.tfevents.{now:010d}.zzz.0.0"))
    run_of(tmp_path / "run", steps=steps(8), **NEVER).run(resume=True)
    assert list(scalars(tmp_path / "run", "reward")) == [steps(k) for k in range(1, 9)]


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_policy_and_goes_on(tmp_path, kind):
    folder = tmp_path / "run"
    stopped = run_of(folder, steps=steps(8), **NEVER).run(on_progress=interrupting(3, kind))
    assert (stopped.why, stopped.steps, stopped.success) == ("interrupted", steps(3), {})
    policy = Policy.load(folder / "policy")
    assert policy.provenance.outcome["ended"] == "interrupted"
    assert policy.provenance.steps == steps(3)
    success_of(policy, Swing(), Swing().space, 4, [0], threads=1)  # it plays
    ended = run_of(folder, steps=steps(8), **NEVER).run(resume=True)
    assert (ended.why, ended.steps) == ("steps", steps(8))
    lines = [line["update"] for line in metrics(folder) if "reward" in line]
    assert lines == list(range(1, 9))


def test_a_second_ctrl_c_ends_at_once(tmp_path):
    folder = tmp_path / "run"

    def press_twice(progress: Progress) -> None:
        if progress.update == 6:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_of(folder, steps=steps(8), **OFTEN).run(on_progress=press_twice)
    looked = last_look(folder)
    assert looked < 6
    assert Checkpoint.load(folder / "checkpoint.pt").update == 5
    assert Policy.load(folder / "policy").provenance.steps == steps(looked)
    run_of(folder, steps=steps(8), **OFTEN).run(resume=True)
    lines = [line["update"] for line in metrics(folder) if "reward" in line]
    assert lines == list(range(1, 9))  # updates that were lost and done again are told once


def test_a_finished_training_that_is_resumed_ends_the_same(tmp_path):
    first = run_of(tmp_path / "run", steps=steps(4), **NEVER).run()
    again = run_of(tmp_path / "run", steps=steps(4), **NEVER).run(resume=True)
    assert (again.why, again.steps) == ("steps", steps(4))
    assert again.policy.stored == first.policy.stored
    assert again.success == first.success


# Refused ----------------------------------------------------------------------------------------


def test_an_older_training_is_not_written_over(tmp_path):
    folder = tmp_path / "run"
    run_of(folder, steps=steps(1), **NEVER).run()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(TrueupError, match="already holds a training") as told:
        run_of(folder, steps=steps(1)).run()
    assert "--resume" in told.value.fix
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_an_empty_folder_cannot_be_resumed(tmp_path):
    with pytest.raises(TrueupError, match="There is no checkpoint at"):
        run_of(tmp_path / "run").run(resume=True)
    assert not (tmp_path / "run").exists()


def test_another_training_cannot_be_resumed_and_stays(tmp_path):
    folder = tmp_path / "run"
    run_of(folder, steps=steps(1), **NEVER).run()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    others: list[dict[str, Any]] = [dict(plan="automatic"), dict(seed=1), dict(start=trained())]
    for other in others:
        with pytest.raises(TrueupError, match=r"belongs to another training: its .* is"):
            run_of(folder, **other).run(resume=True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_disk_that_fills_leaves_the_last_good_policy_and_checkpoint(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    save = torch.save

    def full(stored: Any, path: Path) -> None:
        if stored["update"] > 4:
            path.write_bytes(b"half")
            raise RuntimeError("PytorchStreamWriter failed writing file: file write failed")
        save(stored, path)

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(TrueupError, match=r"checkpoint.pt could not be written"):
        run_of(folder, steps=steps(12), **OFTEN).run()
    monkeypatch.undo()
    kept = Checkpoint.load(folder / "checkpoint.pt").update
    assert kept == 4
    assert Policy.load(folder / "policy").provenance.steps == steps(last_look(folder))
    assert run_of(folder, steps=steps(12), **OFTEN).run(resume=True).steps == steps(12)
