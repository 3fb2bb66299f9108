"""`trueup randomize`: a plan in numbers and pictures, and whether it covers a world."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from trueup.cli import main
from trueup.cli.copies import drawn
from trueup.cli.options import Chosen
from trueup.randomize import PLANS
from trueup.space import Normal, Space
from trueup.worlds import get

LIFT = ["randomize", "so101/lift"]
LATENCY = [*LIFT, "--select", "latency"]
DELAY = "latency/action_delay"


def answer(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


@pytest.mark.parametrize("plan", list(PLANS))
def test_every_plan_has_a_preview(plan, capsys):
    few = ["--select", DELAY, "object/cube/mass"]
    result = answer(capsys, *LIFT, *few, "--plan", plan)
    assert result["points"] == (9 if plan == "grid" else 16)
    assert {row["name"] for row in result["parameters"]} == {DELAY, "object/cube/mass"}
    assert all(sum(row["counts"]) == result["points"] for row in result["parameters"])
    assert result["moves_in_training"] == (plan in ("automatic", "entropy"))


def test_the_table_is_for_people(capsys):
    assert main([*LATENCY, "--plan", "automatic", "--n", "8"]) == 0
    text = capsys.readouterr().out
    for words in (
        "latency  When does a command act",
        "latency/action_delay",
        "8 points of so101/lift by the plan automatic.",
        "7 parameters at 25 % of full width on average",
        "it moves during training",
    ):
        assert words in text


def test_prior_points_are_those_that_simulate_runs(tmp_path, capsys):
    folder = tmp_path / "preview"
    answer(capsys, *LATENCY, "--seed", "5", "--out", str(folder))
    stored = json.loads((folder / "points.json").read_text())
    copies = drawn(get("so101/lift"), Chosen(select=("latency",), seed=5), 16)
    assert stored["names"] == list(copies.points.names)
    np.testing.assert_array_equal(stored["values"], copies.points.values)
    with (folder / "points.csv").open() as file:
        names, *rows = csv.reader(file)
    assert names == stored["names"]
    np.testing.assert_array_equal(np.array(rows, float), stored["values"])
    assert Space.load(folder / "space.json") == copies.space


@pytest.mark.gl
def test_the_folder_has_pictures_that_open(tmp_path, capsys):
    assert main([*LIFT, "--plan", "sobol", "--n", "4", "--out", str(tmp_path)]) == 0
    run = json.loads((tmp_path / "run.json").read_text())
    assert sorted(run["files"]) == sorted(path.name for path in tmp_path.iterdir())
    assert Image.open(tmp_path / "worlds.png").size == (2 * 320 + 4, 2 * 240 + 4)
    picture = np.asarray(Image.open(tmp_path / "worlds.png")).astype(int)
    assert np.abs(picture[:240, :320] - picture[:240, 324:]).max() > 20  # each its own world
    assert Image.open(tmp_path / "marginals.png").size[0] > 1000
    assert "worlds.png" in capsys.readouterr().out


def test_without_graphics_the_rest_is_written(tmp_path):
    program = (
        "import sys, mujoco, trueup.cli\n"
        "def refuse(*_, **__): raise RuntimeError('no display')\n"
        "mujoco.Renderer = refuse\n"
        f"sys.exit(trueup.cli.main({[*LATENCY, '--json', '--out', str(tmp_path)]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["no_picture"].startswith("No picture of the worlds: ")
    assert "worlds.png" not in {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "marginals.png").exists()


def test_coverage_of_a_point_of_points_and_of_a_posterior(tmp_path, capsys):
    point, space = tmp_path / "point.json", tmp_path / "posterior.json"
    point.write_text(json.dumps({DELAY: 0.08}))
    get("so101/lift").space.narrowed({DELAY: Normal(0.02, 0.002)}).save(space)
    folder = tmp_path / "preview"
    plain = answer(capsys, *LIFT, "--covers", str(point), "--out", str(folder))["coverage"]
    assert plain["verdict"] == "outside"
    assert "Outside: latency/action_delay 0.08 s (trained 0 – 0.05 s)" in plain["words"]
    wide = [*LIFT, "--plan", "automatic", "--widest", "2"]
    assert answer(capsys, *wide, "--covers", str(point))["coverage"]["verdict"] == "inside"
    assert answer(capsys, *LIFT, "--covers", str(space))["coverage"]["verdict"] == "inside"
    own = answer(capsys, *LIFT, "--covers", str(folder / "points.json"))["coverage"]
    assert (own["verdict"], own["count"]) == ("inside", 16)
    part = answer(capsys, *LATENCY, "--covers", str(space))["coverage"]
    assert part["verdict"] == "outside"
    assert "training left it at its nominal" in part["words"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*LIFT, "--plan", "grid"], "A grid of 128 parameters has 3 × 3"),
        ([*LATENCY, "--n", "0"], "--n is 0"),
        ([*LATENCY, "--seed", "-1"], "--seed is -1"),
        ([*LATENCY, "--widest", "2"], "--widest is for curricula, and the plan 'prior' is none."),
        ([*LATENCY, "--plan", "grid", "--levels", "0"], "cannot have 0 levels"),
        ([*LATENCY, "--covers", "none.json"], "There is no point or space file at none.json."),
        ([*LATENCY, "--covers", "bad.json"], "bad.json: The points could not be read"),
        ([*LIFT, "--select", "latenzy"], "No parameter of this space matches"),
        ([*LATENCY, "--out", "bad.json"], "there is a file in its way"),
    ],
    ids=lambda x: " ".join(x)[-24:],
)
def test_what_makes_no_sense_is_refused(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"names": ["a"], "values": ["x"]}')
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in err
    assert out == ""
