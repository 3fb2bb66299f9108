"""`trueup record --design`: what it says before it moves, and what it refuses. Sim-to-sim."""

from __future__ import annotations

import json

import pytest

from tests.identify.test_design import doubting
from trueup.cli import main
from trueup.episodes import Dataset

ROBOT = ["record", "--robot", "rehearsal:benign@so101/arm"]


@pytest.fixture
def estimate(tmp_path) -> str:
    file = tmp_path / "estimate.json"
    doubting("actuation/elbow_flex/kp", "actuation/elbow_flex/damping").save(file)
    return str(file)


def test_it_says_why_and_records_that(capsys, tmp_path, estimate):
    data = tmp_path / "data"
    assert main([*ROBOT, "--design", estimate, "--seconds", "5", "--out", str(data)]) == 0
    out, err = capsys.readouterr()
    assert "replaying" in err
    reasons, _, table = out.partition("Expected of")
    assert "elbow_flex" in reasons
    assert "by a chirp of equal length" in table
    episodes = list(Dataset.open(data))
    assert len(episodes) == reasons.count(" s of ")
    assert {episode.labels["design"] for episode in episodes} == {"estimate.json"}
    assert sum(episode.duration_s for episode in episodes) < 6.0


def test_where_nothing_helps_nothing_moves(capsys, tmp_path):
    file, data = tmp_path / "estimate.json", tmp_path / "data"
    doubting("actuation/shoulder_pan/zero_offset", doubt=0.02).save(file)
    told = ["--design", str(file), "--seconds", "5", "--out", str(data), "--json"]
    assert main([*ROBOT, *told]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["episodes"] == []
    assert not result["design"]["helps"]
    assert not data.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--design", "here.json", "--motion", "chirp"], "both say what to do"),
        (["--design", "here.json", "--scale", "0.5"], "--scale and --design"),
        (["--seconds", "5"], "there is no --design"),
        (["--design", "nowhere.json"], "could not be read"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(capsys, tmp_path, options, words):
    assert main([*ROBOT, "--out", str(tmp_path / "data"), *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err
