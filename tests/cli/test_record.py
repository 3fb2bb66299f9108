"""`trueup record`: what it says, what it writes, and what it refuses. All of it is sim-to-sim."""

from __future__ import annotations

import json

import pytest

from trueup.cli import main
from trueup.episodes import Dataset
from trueup.record import Chirp, Motion, Series, names

ROBOT = ["record", "--robot", "rehearsal:benign@so101/lift"]


def answer(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refused(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_motions_are_listed_with_their_numbers(capsys):
    assert main(["record", "motions"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in names())
    listed = answer(capsys, "record", "motions")
    assert set(listed["kinds"]) == set(Motion.kinds)
    for name, data in listed["series"].items():
        assert Series.from_json(data, name=name).motions


def test_a_plan_is_drawn_without_a_robot(capsys, tmp_path):
    file = tmp_path / "plan.png"
    result = answer(capsys, "record", "--motion", "chirp", "probes", "--preview", str(file))
    assert file.stat().st_size > 10_000
    assert 20 < result["duration_s"] < 120
    assert Series.from_json({k: v for k, v in result.items() if k in _FILE}).motions


_FILE = ("format", "version", "about", "joints", "motions")


def test_it_records_into_a_dataset_and_adds_to_it(capsys, tmp_path):
    data = tmp_path / "data"
    short = ["--joints", "elbow_flex", "--duration", "3", "--out", str(data)]
    result = answer(capsys, *ROBOT, "--motion", "chirp", *short, "--label", "lighting=dim")
    assert result["label"] == "sim-to-sim"
    assert result["ended"] == ""
    (row,) = result["episodes"]
    assert row["motion"] == "chirp"
    assert row["outcome"] is None
    assert main([*ROBOT, "--motion", "squeeze", "--cells", "2", "--out", str(data)]) == 0
    text = capsys.readouterr().out
    assert "grip_torque_n_m" in text
    assert "sim-to-sim" in text
    assert "3 episodes now" in text
    episodes = list(Dataset.open(data))
    assert [episode.labels["kind"] for episode in episodes] == ["chirp", "squeeze", "squeeze"]
    assert episodes[0].labels["lighting"] == "dim"
    assert episodes[0].origin["motion"]["joints"] == ["elbow_flex"]


def test_a_motion_of_ones_own_is_a_file(capsys, tmp_path):
    motion = Chirp(name="mine", joints=("gripper",), duration_s=2.0, amplitude_rad=(0.1,))
    Series(motions=(motion,)).save(tmp_path / "mine.json")
    arguments = ["--motion", str(tmp_path / "mine.json"), "--out", str(tmp_path / "data")]
    assert answer(capsys, *ROBOT, *arguments)["episodes"][0]["motion"] == "mine"


WRONG = [
    (["record"], "--robot is missing"),
    (["record", "--robot", "rehearsal:benign"], "--out is missing"),
    (["record", "--robot", "rehearsel:benign", "--out", "x"], "There is no robot at"),
    (["record", "--motion", "chrip", "--preview", "x.png"], "Did you mean 'chirp'"),
    (["record", "--joints", "elbow", "--preview", "x.png"], "Did you mean 'elbow_flex'"),
    (["record", "--preview", "x.pdf"], "neither .png nor .html"),
    (["record", "--scale", "3", "--preview", "x.png"], "is not safe"),
    (["record", "--scale", "0", "--preview", "x.png"], "cannot be scaled by 0.0"),
    (["record", "--duration", "-1", "--preview", "x.png"], "--duration is -1.0"),
    (["record", "--object", "1", "--preview", "x.png"], "--object has 1 numbers"),
    (
        ["record", "--motion", "push", "--object", "0.9", "0", "--preview", "x.png"],
        "The hand cannot reach",
    ),
    ([*ROBOT, "--label", "dim", "--out", "x"], "--label 'dim' is no label"),
    ([*ROBOT, "--cells", "0", "--out", "x"], "--cells"),
    (["record", "motion"], "Did you mean 'record motions'"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_wrong_is_one_sentence(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []
