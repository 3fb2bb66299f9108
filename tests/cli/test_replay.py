"""`trueup replay`: datasets in, residuals out, and sentences for what cannot be."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.replay.recordings import simulated_episode
from tests.replay.test_alignment import clocked
from trueup.cli import main
from trueup.episodes import Writer
from trueup.worlds import get

BENT = {"actuation/elbow_flex/kp": 9.0}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "episodes"
    with Writer(folder) as writer:
        for seed, values in enumerate([BENT, {}]):
            episode = simulated_episode(values=values, seconds=2.0, seed=seed)
            origin = {"real": False, "world": "so101/arm"}
            writer.add(replace(episode, task=f"motion {seed}", origin=origin))
    return str(folder)


def replayed(capsys, *words):
    assert main(["replay", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_episode_and_signal_is_reported(dataset, capsys):
    result = replayed(capsys, dataset)
    assert result["world"] == "so101/arm"
    assert result["label"] == "sim-to-sim"
    first, second = result["episodes"]
    assert list(first["signals"]) == ["joint_position", "joint_velocity", "joint_force"]
    assert first["signals"]["joint_position"]["columns"]["elbow_flex"]["rmse"] > 1e-3
    assert second["signals"]["joint_position"]["overall"]["rmse"] < 1e-6
    assert second["task"] == "motion 1"


def test_at_its_point_nothing_is_left(dataset, capsys, tmp_path):
    (tmp_path / "bent.json").write_text(json.dumps(BENT))
    for option in ("--point", "--estimate"):
        result = replayed(capsys, dataset, "--episode", 0, option, tmp_path / "bent.json")
        assert result["point"] == BENT
        assert result["episodes"][0]["signals"]["joint_position"]["overall"]["rmse"] < 1e-6


def test_a_space_stands_for_its_middle(dataset, capsys, tmp_path):
    space = get("so101/arm").catalogue.select("actuation/*/kp")
    space.save(tmp_path / "space.json")
    result = replayed(capsys, dataset, "--estimate", tmp_path / "space.json")
    middle = space.from_uniform(np.full((1, len(space)), 0.5))[0]
    assert result["point"] == pytest.approx(dict(middle))


def test_windows_leave_less(dataset, capsys):
    whole, windows = (
        replayed(capsys, dataset, "--episode", 0, *words)["rmse"]["joint_position"]["mean"]
        for words in ((), ("--window", 0.2))
    )
    assert windows < 0.8 * whole


def test_a_clock_is_aligned_only_when_asked(capsys, tmp_path):
    with Writer(tmp_path / "late") as writer:
        writer.add(clocked(simulated_episode(seconds=10.0), offset_s=0.06, drift=0.0))
    words = (tmp_path / "late", "--world", "so101/arm")
    before, after = (replayed(capsys, *words, *more) for more in ((), ("--align",)))
    assert before["episodes"][0]["alignment"]["offset_s"] == pytest.approx(0.06, abs=3e-3)
    assert before["label"] == "of unknown origin"
    means = [result["rmse"]["joint_position"]["mean"] for result in (before, after)]
    assert means[1] < 0.1 * means[0]
    assert main(["replay", *map(str, words)]) == 0
    assert "its readings come 60 ms" in capsys.readouterr().out


def test_files_are_written(dataset, capsys, tmp_path):
    result = replayed(capsys, dataset, "--episode", 1, "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    stem = "episode0001"
    assert names == {f"{stem}.png", f"{stem}.html", f"{stem}.npz", "result.json"}
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == result
    with np.load(tmp_path / "out" / f"{stem}.npz") as stored:
        assert stored["0/joint_position/simulated"].shape[2] == 6


@pytest.mark.parametrize(("words", "said"), [((), "motion 1"), (("--episode", "0"), "elbow_flex")])
def test_people_get_a_table(dataset, capsys, words, said):
    assert main(["replay", dataset, *words]) == 0
    text = capsys.readouterr().out
    assert said in text
    assert "sim-to-sim" in text
    assert "RMSE" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--episode", "7"], "no episode 7"),
        (["--world", "so101/amr"], "Did you mean 'so101/arm'"),
        (["--window", "0"], "A window of 0.0 s is none"),
        (["--video"], "--video has no folder"),
        (["--point", "a.json", "--estimate", "b.json"], "contradict each other"),
        (["--point", "missing.json"], "no point file at missing.json"),
        (["--estimate", "missing.json"], "no estimate file at missing.json"),
        (["--threads", "-1"], "--threads is -1"),
    ],
)
def test_bad_options_get_a_sentence(dataset, capsys, words, said):
    assert main(["replay", dataset, *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_an_estimate_that_is_none(dataset, capsys, tmp_path):
    (tmp_path / "list.json").write_text("[1, 2]")
    assert main(["replay", dataset, "--estimate", str(tmp_path / "list.json")]) == 2
    assert "neither a point nor a space with priors" in capsys.readouterr().err


def test_a_folder_without_episodes(capsys, tmp_path):
    assert main(["replay", str(tmp_path / "nowhere"), "--world", "so101/arm"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_dataset_that_names_no_world(capsys, tmp_path):
    with Writer(tmp_path / "bare") as writer:
        writer.add(simulated_episode(seconds=0.4))
    assert main(["replay", str(tmp_path / "bare")]) == 2
    assert "do not say which world" in capsys.readouterr().err
