"""`trueup diagnose` on real files: trials of a rehearsal robot, a policy, a bank."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.robots import REACH, moving, still, world
from trueup.cli.entry import main
from trueup.diagnose import Bank, GapReport, Size, built
from trueup.evaluate import piloted
from trueup.identify import Estimate

TINY = Size(screened=4, kept=2, pairs=0, triples=0, trials=5, nominal=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A policy's folder, its trials and its bank."""
    folder = tmp_path_factory.mktemp("diagnosed")
    policy = moving(folder)
    words = ["deploy", policy.name, "--robot", f"rehearsal:benign@{REACH}", "--trials", "6"]
    assert main([*words, "--cells", "6", "--out", str(folder / "trials"), "--skip-check"]) == 0
    space = world().catalogue.select("latency/action_delay", "actuation/supply_voltage")
    mark = policy.provenance.files["policy.onnx"]["sha256"]
    generator = np.random.default_rng(0)
    bank = built(world(), piloted(policy), space, generator, size=TINY, policy=str(mark))
    bank.save(folder / "bank.npz")
    return folder


def words(folder: Path, *more: str) -> list[str]:
    trials, policy, bank = (str(folder / n) for n in ("trials/episodes", "policy", "bank.npz"))
    return ["diagnose", trials, "--policy", policy, "--bank", bank, *more]


def test_trials_become_a_gap_report(folder, tmp_path, capsys):
    assert main(words(folder, "--out", str(tmp_path / "out"))) == 0
    told = capsys.readouterr().out
    assert "sim-to-sim" in told and "trueup plan" in told
    report = GapReport.load(tmp_path / "out" / "gaps.json")
    assert report.measured.trials == 6 and report.world == REACH and not report.real
    # a policy that hardly moves loses nothing on the robot: it has nothing to lose
    assert any("train it further" in note for note in report.notes)


def test_json_is_the_report_and_nothing_else(folder, capsys):
    assert main(words(folder, "--json")) == 0
    report = GapReport.from_json(json.loads(capsys.readouterr().out))
    assert report.failures is not None


def test_recordings_are_listened_to(folder, capsys):
    recorded = str(folder / "trials" / "episodes")
    assert main(words(folder, "--recordings", recorded, "--json")) == 0
    told = capsys.readouterr()
    assert "could not be identified: None of the recordings can be fitted" in told.err
    report = GapReport.from_json(json.loads(told.out))
    assert report.evidence == ("trials", "recordings")


def test_a_robot_is_identified_from_its_recordings(folder, tmp_path, capsys):
    recorded, out = tmp_path / "recorded", tmp_path / "out"
    robot = ["record", "--robot", f"rehearsal:weak-battery@{REACH}"]
    assert main([*robot, "--motion", "prbs", "--out", str(recorded)]) == 0
    more = ("--recordings", str(recorded))
    assert main(words(folder, *more, "--out", str(out))) == 0
    told = capsys.readouterr()
    assert "identified: " in told.err and f"--estimate {out / 'identified'}" in told.out
    arm = Estimate.load(out / "identified" / "estimate.json")
    assert any(finding.differs for finding in arm.findings)
    assert main(words(folder, *more, "--estimate", str(out / "identified"), "--json")) == 0
    again = GapReport.from_json(json.loads(capsys.readouterr().out))
    first = GapReport.load(out / "gaps.json")
    assert first.departures == again.departures != ()
    assert first.shares == again.shares and first.evidence == again.evidence


def test_a_folder_without_an_estimate_is_told_as_such(folder, tmp_path, capsys):
    assert main(words(folder, "--estimate", str(tmp_path))) != 0
    assert "has no estimate: none of estimate.json" in capsys.readouterr().err


def test_a_bank_of_another_policy_is_refused(folder, tmp_path, capsys):
    other = tmp_path / "bank.npz"
    replace(Bank.load(folder / "bank.npz"), policy="another").save(other)
    asked = words(folder)
    asked[asked.index("--bank") + 1] = str(other)
    assert main(asked) != 0
    assert "another policy or world" in capsys.readouterr().err


def test_trials_of_another_policy_are_refused(folder, tmp_path, capsys):
    asked = words(folder)
    (tmp_path / "other").mkdir()
    asked[asked.index("--policy") + 1] = still(tmp_path / "other").name
    assert main(asked) != 0
    assert "another policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--policy": "nowhere"}, "nowhere"),
        ({"--estimate": "nowhere.json"}, "nowhere.json"),
        ({"--recordings": "nowhere"}, "nowhere"),
        ({"--residual": "nowhere"}, "no --estimate was given"),
        ({"--seed": "-1"}, "seed"),
        ({"--threads": "-3"}, "--threads is -3"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(folder, capsys, change, said):
    asked = words(folder)
    for option, value in change.items():
        asked = asked if option in asked else [*asked, option, value]
        asked[asked.index(option) + 1] = value
    assert main(asked) != 0
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err


def test_the_folder_that_deploy_was_given_will_do(folder, capsys):
    asked = words(folder, "--json")
    asked[1] = str(folder / "trials")
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["trials"] == 6


def test_a_refused_command_leaves_no_empty_folder(folder, tmp_path):
    out = tmp_path / "a" / "b"
    asked = words(folder, "--out", str(out))
    asked[asked.index("--policy") + 1] = "nowhere"
    assert main(asked) == 2
    assert not (tmp_path / "a").exists()
    kept = tmp_path / "kept"
    kept.mkdir()
    asked[-1] = str(kept)
    assert main(asked) == 2
    assert kept.is_dir()
