"""A cloned policy on a rehearsal robot: its chunks belong to one trial and one body alone."""

from __future__ import annotations

import json

import numpy as np

from tests.train.imitation.reaches import cloned, world
from trueup.cli.entry import main
from trueup.deploy import Series, attempt
from trueup.episodes import Dataset
from trueup.hardware import open_robot

ROBOT = f"rehearsal:benign@{world().name}"


def commands(folder, cells: int) -> list[np.ndarray]:
    """What was sent in three trials, with so many bodies side by side."""
    with open_robot(ROBOT, cells=cells, threads=1) as robot:
        robot.enable()
        attempt(cloned().policy, robot, world(), Series(trials=3), folder)
    return [episode["command"].values for episode in Dataset.open(folder)]


def test_answers_for_steps_to_come_end_with_their_trial(tmp_path):
    one_by_one, together = (commands(tmp_path / str(n), n) for n in (1, 3))
    assert cloned().policy.contract.chunk is not None
    for alone, beside in zip(one_by_one, together, strict=True):
        np.testing.assert_allclose(alone, beside, atol=1e-5)
    assert np.abs(one_by_one[0][:5] - one_by_one[1][:5]).max() > 0.01


def test_deploy_takes_it_as_any_other_policy(tmp_path, capsys):
    out = tmp_path / "trials"
    words = ["deploy", cloned().policy.name, "--robot", ROBOT, "--trials", "6", "--skip-check"]
    assert main([*words, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trials"] == 6
    assert len(Dataset.open(out / "episodes")) == 6
