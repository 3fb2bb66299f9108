"""`trueup deploy` as its user types it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from tests.deploy.robots import REACH, moving
from trueup.cli.entry import main
from trueup.episodes import Dataset
from trueup.episodes.consent import Consent, Purpose, Register
from trueup.space import Point

ROBOT = f"rehearsal:benign@{REACH}"


@pytest.fixture(scope="module")
def policy(tmp_path_factory) -> str:
    return moving(tmp_path_factory.mktemp("policy")).name


def test_trials_are_run_written_and_counted(policy, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["deploy", policy, "--robot", ROBOT, "--trials", "3", "--out", str(out)]
    words += ["--skip-check", "--simulate", "--label", "lighting=dim", "object=mug"]
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["label"] == "sim-to-sim"
    assert result["trials"] == len(result["outcomes"]) == 3
    assert set(result["simulated"]) >= {"success_share", "difference", "interval_95"}
    assert result == json.loads((out / "result.json").read_text())
    data = Dataset.open(out / "episodes")
    assert len(data) == 3
    assert data[0].labels == {"lighting": "dim", "object": "mug"}
    point = Point.load(out / "latency.json")
    assert "latency/action_delay" in point
    assert main([*words[:5], "5", *words[6:]]) == 0  # the same command, and two more
    told = capsys.readouterr().out
    assert "3 trials were done before" in told
    assert "settle" in told
    assert len(Dataset.open(out / "episodes")) == 5


def test_a_shadow_says_that_nothing_was_sent(policy, tmp_path, capsys):
    words = ["deploy", policy, "--robot", ROBOT, "--trials", "2", "--shadow", "--skip-check"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert "nothing was sent" in capsys.readouterr().out
    assert not (tmp_path / "out" / "latency.json").exists()  # nothing moved, nothing is known


def test_a_quick_check_passes_a_sound_robot(policy, capsys):
    assert main(["deploy", "check", policy, "--robot", ROBOT, "--quick-check"]) == 0
    told = capsys.readouterr().out
    assert "passed" in told
    assert "skipped  zeros" in told


def test_a_robot_of_another_kind_is_refused(policy, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["deploy", policy, "--robot", "rehearsal:benign@so101/lift", "--out", str(out)]
    assert main(words) == 2
    assert "does not fit" in capsys.readouterr().err
    assert not (out / "episodes").exists()
    assert not json.loads((out / "preflight.json").read_text())["passed"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--trials", "0"], "--trials"),
        (["--label", "dim"], "Give NAME=WORD"),
        (["--seconds", "-1"], "--seconds is -1"),
        (["--seed", "-1"], "seed"),
        (["--robot", "nowhere:1"], "There is no robot at 'nowhere:1'"),
        (["--world", "so101/none"], "no world named 'so101/none'"),
        (["--label", "person=ana"], "no consent of theirs"),
        (["--participant", "P07"], "--participant is given without --purpose"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(policy, tmp_path, capsys, options, sentence):
    words = ["deploy", policy, "--robot", ROBOT, "--out", str(tmp_path / "out"), "--skip-check"]
    assert main([*words, *options]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told
    assert not (tmp_path / "out" / "episodes").exists()


def test_trials_with_people_say_who_and_start_only_with_their_consent(policy, tmp_path, capsys):
    agreed = Consent(scope=(Purpose.RECORDING,), given=date(2026, 1, 1))
    Register(folder=tmp_path / "people").with_consent("P07", agreed).save()
    out = tmp_path / "out"
    words = ["deploy", policy, "--robot", ROBOT, "--trials", "2", "--out", str(out), "--skip-check"]
    words += ["--participants", str(tmp_path / "people"), "--participant", "P07", "--purpose"]
    assert main([*words, "training"]) == 2
    assert "not to training" in capsys.readouterr().err
    assert not out.exists()
    assert main([*words, "recording"]) == 0
    data = Dataset.open(out / "episodes")
    assert data[0].labels == {"participant": "P07", "purpose": "recording"}


def test_a_policy_that_is_not_there_is_told(tmp_path, capsys):
    words = ["deploy", str(tmp_path / "none"), "--robot", ROBOT, "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert "No policy at" in capsys.readouterr().err


def test_a_file_in_the_way_is_told(policy, tmp_path, capsys):
    file = Path(tmp_path / "out")
    file.write_text("here")
    assert main(["deploy", policy, "--robot", ROBOT, "--out", str(file)]) == 2
    assert "file in its way" in capsys.readouterr().err
