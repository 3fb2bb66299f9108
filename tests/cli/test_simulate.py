"""`trueup simulate`: the same worlds for the same seed, and refusals that say what to do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from trueup.cli import main
from trueup.cli.copies import drawn, played
from trueup.cli.motions import controller
from trueup.cli.options import Chosen
from trueup.space import Point
from trueup.worlds import get

LIFT = ["simulate", "so101/lift"]


def answer(capsys, *arguments: str) -> dict:
    assert main([*LIFT, "--json", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_it_says_what_happened(capsys, tmp_path):
    file = tmp_path / "result.json"
    assert main([*LIFT, "--n", "8", "--nominal", "--out", str(file)]) == 0
    text = capsys.readouterr().out
    for words in ("8 copies, all nominal", "100.0 %", "× real time", "MiB", "Written"):
        assert words in text
    result = json.loads(file.read_text())
    assert result["episodes"]["success"] == 8
    assert result["randomized"] == {}
    assert result["configuration"]["n"] == 8
    assert set(result["versions"]) == {"trueup", "python", "mujoco", "numpy"}


def test_every_episode_ends_in_one_way(capsys):
    result = answer(capsys, "--n", "16")
    ends = result["episodes"]
    ways = ("success", "failure", "timeout", "unfinished", "diverged")
    assert sum(ends[way] for way in ways) == 16
    assert ends["unfinished"] == 0
    low, high = ends["success_interval_95"]
    assert low <= ends["success_share"] <= high
    assert sum(result["randomized"].values()) == len(get("so101/lift").space)
    short = answer(capsys, "--n", "4", "--seconds", "0.4")
    assert short["episodes"]["unfinished"] == 4
    assert short["simulated_s"] == pytest.approx(0.4)


@pytest.mark.parametrize("actions", ["hold", "random", "script"])
def test_a_copy_runs_alone_as_it_did_among_others(actions):
    world = get("so101/lift")
    ends = []
    for options, n in ((Chosen(seed=5), 6), (Chosen(seed=5, only=4), 6)):
        copies = drawn(world, options, n)
        worlds = copies.opened()
        outcome = played(worlds, controller(worlds, actions), 20, record=("true_cube_position",))
        ends.append(outcome.trajectory.signals["true_cube_position"])
    np.testing.assert_array_equal(ends[0][:, 4:5], ends[1])


def test_copies_do_not_depend_on_how_many_there_are():
    world = get("so101/lift")
    few, many = (drawn(world, Chosen(seed=1), n) for n in (3, 9))
    assert few.points == many.first(3).points
    assert few.seeds.tolist() == many.first(3).seeds.tolist()


def test_one_gap_is_left_as_it_was_drawn():
    world = get("so101/lift")
    copies = drawn(world, Chosen(), 4)
    latency = world.space.select("latency")
    part = copies.within(latency)
    assert part.points.names == latency.names
    for name in latency.names:
        np.testing.assert_array_equal(part.points.column(name), copies.points.column(name))


def test_a_point_a_space_and_a_selection(capsys, tmp_path):
    point, space = tmp_path / "point.json", tmp_path / "space.json"
    Point({"object/cube/mass": 0.05}).save(point)
    short = ("--n", "2", "--seconds", "0.08")
    assert answer(capsys, *short, "--point", str(point))["randomized"] == {}
    assert main(["space", "so101/lift", "--select", "latency", "object", "--out", str(space)]) == 0
    capsys.readouterr()
    drawn_from = answer(capsys, *short, "--space", str(space))["randomized"]
    assert set(drawn_from) == {"latency", "object"}
    narrower = answer(capsys, *short, "--space", str(space), "--select", "object")["randomized"]
    assert set(narrower) == {"object"}
    assert set(answer(capsys, *short, "--select", "human")["randomized"]) == {"human"}


def test_a_record_is_read_by_numpy(tmp_path, capsys):
    file = tmp_path / "deep" / "record.npz"
    assert main([*LIFT, "--n", "3", "--seconds", "0.2", "--record", str(file)]) == 0
    with np.load(file) as record:
        assert record["signal/joint_position"].shape == (5, 3, 6)
        assert record["action"].shape == (5, 3, 6)


BROKEN_WORLD = """
from trueup.worlds.so101_tasks import Reach

class Explosive(Reach):
    name = "test/explosive"

    def spec(self):
        spec = super().spec()
        spec.option.timestep = 0.04
        spec.option.integrator = 0
        for joint in spec.joints:
            joint.damping, joint.armature = [-50.0, 0.0, 0.0], 0.0
        return spec

    def effects(self):
        return ()
"""


def test_a_divergence_says_how_to_see_it_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its log where it runs
    file = tmp_path / "explosive.py"
    file.write_text(BROKEN_WORLD)
    assert main(["simulate", f"{file}:Explosive", "--n", "7", "--actions", "random"]) == 0
    text = capsys.readouterr().out
    assert "7 diverged" in text
    assert "… and 2 more" in text
    replay = next(line for line in text.splitlines() if "again: trueup simulate" in line)
    assert main([*replay.split("trueup ")[1].split(), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["copies"] == 1
    assert [d["replay"] for d in again["divergences"]] == [replay.split("again: ")[1]]


def point_file(folder: Path, text: str) -> str:
    file = folder / "point.json"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--n", "0"], "--n is 0, and must be above 0."),
        (["--n", "-3"], "--n is -3"),
        (["--seconds", "0"], "--seconds is 0.0"),
        (["--seconds", "nan"], "--seconds is nan, and must be a finite number above 0."),
        (["--seconds", "inf"], "--seconds is inf, and must be a finite number above 0."),
        (["--seed", "-1"], "--seed is -1"),
        (["--only", "-1"], "--only -1 names no copy"),
        (["--threads", "-2"], "--threads is -2"),
        (["--point", "none.json"], "There is no point file at none.json."),
        (["--point", "."], "The point file . could not be read"),
        (["--space", "."], "The space file . could not be read"),
        (["--nominal", "--select", "latency"], "contradict each other"),
        (["--select", "latency", "nowhere"], "No parameter of this space matches 'nowhere/*'."),
        (["--out", "."], ". is a folder, and a file is needed."),
        (["--out", "/proc/none/result.json"], "Nothing can be written into /proc/none"),
        (["--record", "record.csv"], "record.csv does not end in .npz"),
    ],
    ids=lambda x: " ".join(x)[:30],
)
def test_what_cannot_be_done_is_refused(options, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*LIFT, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"object/cube/mass": 9}', "'object/cube/mass' = 9 kg is out of its bounds"),
        ('{"object/cube/mass": NaN}', "The value of 'object/cube/mass' is not a number"),
        ('{"object/cube/mas": 0.05}', "Did you mean 'object/cube/mass'"),
        ('{"object/cube/mass": 0.05', "is not JSON"),
        ("[1, 2]", "A point could not be read"),
    ],
)
def test_a_wrong_point_is_refused(text, words, tmp_path, capsys):
    assert main([*LIFT, "--n", "2", "--point", point_file(tmp_path, text)]) == 2
    assert words in capsys.readouterr().err


def test_a_file_in_the_way_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main([*LIFT, "--out", str(tmp_path / "file" / "result.json")]) == 2
    assert "there is a file in its way" in capsys.readouterr().err


def test_a_world_without_a_cube_has_no_script(capsys):
    assert main(["simulate", "so101/reach", "--actions", "script"]) == 2
    assert "has no script" in capsys.readouterr().err


def moved_by(capsys, world: str, *options: str) -> tuple[str, str]:
    """Which motion, and what people read of it."""
    short = ["simulate", world, "--n", "2", "--seconds", "0.08", *options]
    assert main([*short, "--json"]) == 0
    actions = json.loads(capsys.readouterr().out)["actions"]
    assert main(short) == 0
    text = capsys.readouterr().out
    return actions, next(line for line in text.splitlines() if line.startswith("moved by"))


def test_the_script_plays_by_itself_only_where_it_solves_the_task(capsys):
    actions, words = moved_by(capsys, "so101/lift")
    assert actions == "script"
    assert "only lifts" not in words
    for world in ("so101/push", "so101/place", "so101/reach"):
        assert moved_by(capsys, world)[0] == "random"
    actions, words = moved_by(capsys, "so101/place", "--actions", "script")
    assert actions == "script"
    assert "it only lifts, which is not the task" in words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--record", "a.npz", "--out", "a.npz"], "--record and --out both name the file a.npz"),
        (["--record", "a.npz", "--out", "b/../a.npz"], "--record and --out both name the file"),
        (["--space", "x.json", "--out", "x.json"], "--space and --out both name the file x.json"),
        (["--point", "x.json", "--out", "link.json"], "--point and --out both name the file"),
    ],
    ids=lambda x: " ".join(x)[:40],
)
def test_no_file_is_written_over_another(options, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text("{}")
    Path("link.json").hardlink_to("x.json")
    assert main([*LIFT, "--n", "2", *options]) == 2
    assert words in capsys.readouterr().err
    assert Path("x.json").read_text() == "{}"
    assert not Path("a.npz").exists()


def test_a_world_is_not_written_over_its_own_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(BROKEN_WORLD)
    for verb in ("simulate", "space"):
        assert main([verb, "mine.py:Explosive", "--out", "mine.py"]) == 2
        assert "WORLD and --out both name the file mine.py" in capsys.readouterr().err
    assert Path("mine.py").read_text() == BROKEN_WORLD


def test_the_time_said_is_the_time_simulated(capsys):
    for asked, said in (
        ("0.1", "0.08 s each (0.1 s in whole control steps of 40 ms)"),
        ("0.01", "0.04 s each (0.01 s in whole control steps of 40 ms)"),
        ("0.12", "0.12 s each\n"),
    ):
        assert main([*LIFT, "--n", "2", "--seconds", asked]) == 0
        lines = [line.rstrip() + "\n" for line in capsys.readouterr().out.splitlines()]
        assert said in "".join(lines)


def test_an_episode_that_rounding_completes_is_not_cut_short(capsys):
    episode_s = get("so101/lift").episode_s
    almost = answer(capsys, "--n", "2", "--actions", "hold", "--seconds", str(episode_s - 0.01))
    assert almost["simulated_s"] == pytest.approx(episode_s)
    assert almost["episodes"]["unfinished"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "17", "--seed", "3"], "copy 17 of seed 3, at its own point of "),
        (["--n", "8", "--only", "9", "--nominal"], "copy 9 of seed 0, nominal"),
        (["-n", "1"], "1 copy, at its own point of "),
        (["-n", "2"], "2 copies, each at its own point of "),
    ],
    ids=lambda x: " ".join(x)[:40],
)
def test_it_says_which_copies(options, words, capsys):
    assert main([*LIFT, "--seconds", "0.04", *options]) == 0
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("world", ["world.py:PlanarSweep", "world.py"])
def test_ones_own_world_is_simulated_from_its_file(world, capsys):
    file = Path(__file__).parents[2] / "examples" / "planar_sweep" / world
    assert main(["simulate", str(file), "--n", "2", "--seconds", "0.04", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["actions"] == "random"
