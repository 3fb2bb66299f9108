"""`trueup evaluate`: what it says, what it writes, and that a failure is seen again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import av
import numpy as np
import pytest

from tests.evaluate.pilots import constant
from trueup.cli import main
from trueup.cli.pictures import LOST
from trueup.evaluate import Evaluation
from trueup.space import Point
from trueup.worlds import get

SCRIPT = ["evaluate", "script"]


def answer(capsys, *arguments: str) -> dict:
    assert main([*SCRIPT, "--json", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_it_says_what_happened(capsys):
    assert main([*SCRIPT, "--points", "24", "--seed", "2"]) == 0
    text = capsys.readouterr().out
    for words in (
        "so101/lift, 24 episodes, each at its own point of 128 parameters",
        "sim-to-sim",
        "95 % interval",
        "control steps/s",
        "MiB at most",
        "s in the median",
        "Where it fails",
    ):
        assert words in text


def test_every_episode_ends_in_one_way(capsys):
    result = answer(capsys, "--points", "20")
    ways = ("success", "failure", "timeout", "diverged")
    assert sum(result[way] for way in ways) == result["episodes"] == 20
    assert len(result["failures"]) == 20 - result["success"]
    low, high = result["success_interval_95"]
    assert low <= result["success_share"] <= high
    assert result["label"] == "sim-to-sim"
    assert set(result["versions"]) >= {"trueup", "python", "mujoco", "numpy"}


def test_the_same_episodes_as_simulate_whatever_the_batch(capsys):
    assert main(["simulate", "so101/lift", "--n", "30", "--json"]) == 0
    simulated = json.loads(capsys.readouterr().out)["episodes"]
    for batch in ("1024", "8"):
        result = answer(capsys, "--points", "30", "--batch", batch)
        for way in ("success", "failure", "timeout", "diverged"):
            assert result[way] == simulated[way]


def test_a_failure_is_played_again_by_its_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--points", "30", "--select", "visual", "actuation", "--out", "all"]
    result = answer(capsys, *options)
    failure = result["failures"][0]
    words = failure["replay"].split()
    assert words[:3] == ["trueup", "evaluate", "script"]
    again = words[3 : words.index("--video")]
    alone = answer(capsys, *again, "--out", "one")
    assert alone["episodes"] == 1
    assert [(f["episode"], f["seed"], f["end"]) for f in alone["failures"]] == [
        (failure["episode"], failure["seed"], failure["end"])
    ]
    row = Evaluation.load("all/evaluation.npz").subset([failure["episode"]])
    one = Evaluation.load("one/evaluation.npz")
    assert one.points == row.points
    assert one.return_.tolist() == row.return_.tolist()


def test_what_it_writes(capsys, tmp_path):
    folder = tmp_path / "deep" / "out"
    result = answer(capsys, "--points", "40", "--out", str(folder), "--against", "script")
    names = {Path(file).name for file in result["files"]}
    assert names == {path.name for path in folder.iterdir()}
    assert names >= {"evaluation.npz", "result.json", "failures.csv", "slices.html", "slices.png"}
    assert json.loads((folder / "result.json").read_text()) == result
    with (folder / "failures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["episode"]) for row in rows] == [f["episode"] for f in result["failures"]]
    evaluation = Evaluation.load(folder / "evaluation.npz")
    first = rows[0]
    point = evaluation.points[int(first["episode"])]
    assert {name: float(first[name]) for name in point} == dict(point)
    assert int(first["seed"]) == evaluation.seeds[int(first["episode"])]


def test_two_are_compared_in_pairs(capsys):
    result = answer(capsys, "--points", "12", "--against", "script")["against"]
    assert result["difference"] == 0.0
    assert result["only_first"] == result["only_second"] == 0
    low, high = result["interval_95"]
    assert low < 0 < high
    assert "no pair differs" in result["words"]


def test_nominal_a_point_and_a_space(capsys, tmp_path):
    nominal = answer(capsys, "--points", "6", "--nominal")
    assert nominal["success"] == 6
    assert nominal["slices"] == []
    assert "in the nominal world" in nominal["which"]
    point, space = tmp_path / "point.json", tmp_path / "space.json"
    Point({"object/cube/mass": 0.05}).save(point)
    assert "at the point" in answer(capsys, "--points", "3", "--point", str(point))["which"]
    get("so101/lift").space.select("latency").save(space)
    drawn = answer(capsys, "--points", "50", "--space", str(space))
    assert {s["name"].split("/")[0] for s in drawn["slices"]} == {"latency"}


def test_a_policy_knows_its_world(capsys, tmp_path):
    folder = tmp_path / "reacher"
    constant(get("so101/reach"), 0.1).save(folder)
    assert main(["evaluate", str(folder), "-n", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["world"] == "so101/reach"
    assert result["episodes"] == 4
    assert main(["evaluate", str(folder), "-n", "4", "--world", "so101/lift"]) == 2
    err = capsys.readouterr().err
    assert "does not fit the world 'so101/lift'" in err
    assert str(folder) in err


def test_both_policies_are_checked_before_any_plays(capsys, tmp_path):
    constant(get("so101/reach"), 0.1).save(tmp_path / "reacher")
    constant(get("so101/lift"), 0.1).save(tmp_path / "lifter")
    told = ["evaluate", str(tmp_path / "reacher"), "--against", str(tmp_path / "lifter")]
    assert main([*told, "--points", "100000000"]) == 2  # would take days
    assert "lifter does not fit the world 'so101/reach'" in capsys.readouterr().err


def test_a_policy_of_an_unknown_world_asks_for_its_file(capsys, tmp_path):
    world = Path(__file__).parents[2] / "examples" / "planar_sweep" / "world.py"
    constant(get(str(world)), 0.1).save(tmp_path / "sweeper")
    command = ["evaluate", str(tmp_path / "sweeper"), "-n", "3"]
    assert main(command) == 2
    assert "Say where it is with --world FILE.py:CLASS" in capsys.readouterr().err
    assert main([*command, "--world", str(world)]) == 0
    assert "3 episodes" in capsys.readouterr().out


@pytest.mark.gl
def test_failures_are_filmed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*SCRIPT, "-n", "5", "--video", "failures"]) == 0
    text = capsys.readouterr().out
    file = Path("out/evaluate/failures.mp4")
    assert f"{file}: episodes " in text
    with av.open(str(file)) as container:
        last = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)][-1]
    border = last[:3, 100:300].reshape(-1, 3).mean(axis=0)
    np.testing.assert_allclose(border, LOST, atol=40)
    assert main([*SCRIPT, "-n", "3", "--nominal", "--video", "failures"]) == 0
    assert "No video: no episode is among the failures." in capsys.readouterr().out


def test_a_truncated_policy_is_refused(capsys, tmp_path):
    folder = tmp_path / "policy"
    constant(get("so101/reach"), 0.1).save(folder)
    network = folder / "policy.onnx"
    network.write_bytes(network.read_bytes()[:-20])
    assert main(["evaluate", str(folder)]) == 2
    assert "policy.onnx has" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere"], "No policy at nowhere."),
        (["script", "--against", "nowhere"], "No policy at nowhere."),
        (["script", "--points", "0"], "--points is 0, and must be above 0."),
        (["script", "--batch", "0"], "--batch is 0"),
        (["script", "--threads", "-1"], "--threads is -1"),
        (["script", "--seed", "-1"], "--seed is -1"),
        (["script", "--only", "-1"], "--only -1 names no copy"),
        (["script", "--video", "none"], "Give failures, successes, or how many episodes to film"),
        (["script", "--video", "10"], "from 1 to 9"),
        (["script", "--world", "so101/reach"], "has no script"),
        (["script", "--world", "so101/lfit"], "Did you mean 'so101/lift'"),
        (["script", "--nominal", "--select", "latency"], "contradict each other"),
        (["script", "--out", "/proc/none"], "Nothing can be written into /proc/none"),
    ],
    ids=lambda x: " ".join(x)[:30],
)
def test_what_cannot_be_done_is_refused(options, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err


def test_a_space_in_the_folder_is_not_written_over(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    get("so101/lift").space.select("latency").save("result.json")
    before = Path("result.json").read_text()
    assert main([*SCRIPT, "--space", "result.json", "--out", "."]) == 2
    assert "both name the file result.json" in capsys.readouterr().err
    assert Path("result.json").read_text() == before


def test_an_episode_does_not_depend_on_how_many_there_are(capsys):
    few, many = (answer(capsys, "--points", n, "--seed", "9") for n in ("5", "9"))
    early = [f for f in many["failures"] if f["episode"] < 5]
    assert [f["seed"] for f in few["failures"]] == [f["seed"] for f in early]
