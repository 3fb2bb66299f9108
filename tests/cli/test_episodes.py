"""`trueup episodes`: what it says and writes, and its exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.episodes.older import write_v21
from tests.episodes.recordings import recording
from tests.episodes.test_import import mapping_file, write_source
from trueup.cli import main
from trueup.episodes import Dataset, Writer


@pytest.fixture
def dataset(tmp_path):
    with Writer(tmp_path / "set", robot_type="so101_follower") as writer:
        for i in range(4):
            writer.add(recording(i, frames=20, cameras=1, pictures=12))
    return str(tmp_path / "set")


def answer(capsys, *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_info_says_what_is_there(capsys, dataset):
    assert main(["episodes", "info", dataset]) == 0
    text = capsys.readouterr().out
    for words in (
        "LeRobotDataset v3.0, so101_follower",
        "4 episodes, 80 frames at 50 Hz",
        "observation.state",
        "shoulder_pan, shoulder_lift",
        "48 × 64 pixels",
        "outcome: not judged (1), success (1), failure (1), aborted (1)",
        "label lighting: bright (2), dim (2)",
        "put the cube on plate 2",
    ):
        assert words in text
    told = answer(capsys, "episodes", "info", dataset)
    assert (told["episodes"], told["frames"], told["fps"]) == (4, 80, 50.0)
    assert told["signals"][0]["unit"] == "rad" and told["signals"][0]["size"] == 6
    assert told["outcomes"]["success"] == 1


def test_recordings_come_in_without_python(capsys, tmp_path):
    source, mapping = write_source(tmp_path / "logs"), mapping_file(tmp_path)
    words = ["episodes", "import", str(source), "--mapping", str(mapping)]
    assert main([*words, "--out", str(tmp_path / "set")]) == 0
    assert "Imported 2 recordings" in capsys.readouterr().out
    assert len(Dataset.open(tmp_path / "set")) == 2
    assert main([*words, "--out", str(tmp_path / "set")]) == 2
    assert "nothing is written over" in capsys.readouterr().err


def test_an_older_dataset_is_converted_and_its_units_named(capsys, tmp_path):
    write_v21(tmp_path / "old")
    words = ["episodes", "convert", str(tmp_path / "old"), "--out", str(tmp_path / "new")]
    told = answer(capsys, *words, "--read-as", "degrees", "--units", "rad")
    assert told["format"] == "LeRobotDataset v3.0"
    assert {s["name"]: s["unit"] for s in told["signals"]} == {
        "command": "rad",
        "joint_position": "rad",
    }
    assert np.abs(Dataset.open(tmp_path / "new")[0]["command"].values).max() < 2


def test_validate_ends_well_or_with_code_2(capsys, dataset, tmp_path):
    assert main(["episodes", "validate", dataset]) == 0
    assert "4 episodes, nothing wrong" in capsys.readouterr().out
    (tmp_path / "set/meta/stats.json").unlink()
    (tmp_path / "set/data/chunk-000/.file-009.parquet.partial").write_bytes(b"")
    assert main(["episodes", "validate", dataset]) == 2
    out, err = capsys.readouterr()
    assert "note: " in out and "stats.json is missing" in out
    assert "has 1 problem." in err
    assert main(["episodes", "validate", dataset, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] is False and len(told["problems"]) == 2


def test_what_is_not_a_dataset_is_one_sentence(capsys, tmp_path):
    for verb in ("info", "validate"):
        assert main(["episodes", verb, str(tmp_path / "no")]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "no dataset at" in err
