"""Pictures, videos and the demo: files that open, whole or not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from trueup.cli import main
from trueup.cli.demo import _sentences
from trueup.cli.pictures import DONE, LOST, Marks
from trueup.simulate import NoGraphics
from trueup.simulate.contract import Step

SMALL = ["--width", "64", "--height", "48"]


def frames_of(file: Path) -> list[np.ndarray]:
    with av.open(str(file)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.mark.gl
def test_a_picture_of_the_nominal_world_and_of_others(tmp_path, capsys):
    one, six = tmp_path / "one.png", tmp_path / "six.png"
    assert main(["worlds", "picture", "so101/lift", "--count", "1", "--out", str(one), *SMALL]) == 0
    assert main(["worlds", "picture", "so101/lift", "--out", str(six), *SMALL]) == 0
    assert Image.open(one).size == (64, 48)
    assert Image.open(six).size == (3 * 64 + 2 * 4, 2 * 48 + 4)
    out = capsys.readouterr().out
    assert "the nominal so101/lift" in out
    assert "6 copies of so101/lift" in out


@pytest.mark.gl
def test_a_picture_at_a_point(tmp_path, capsys):
    point = tmp_path / "point.json"
    sizes = {f"object/cube/size_{axis}": 0.037 for axis in "xyz"}
    point.write_text(json.dumps(sizes))
    red = []
    for name, options in (("plain", ["--count", "1"]), ("large", ["--point", str(point)])):
        file = tmp_path / f"{name}.png"
        arguments = ["--camera", "top", "--width", "200", "--height", "200", "--out", str(file)]
        assert main(["worlds", "picture", "so101/lift", *arguments, *options]) == 0
        picture = np.asarray(Image.open(file)).astype(int)
        red.append((picture[..., 0] > 2 * picture[..., 1] + 30).sum())
    assert red[1] > 1.5 * red[0] > 0


@pytest.mark.gl
@pytest.mark.parametrize("world", ["so101/lift", "so101/reach"])
def test_a_video_plays(world, tmp_path, capsys):
    file = tmp_path / "video.mp4"
    arguments = ["--count", "2", "--seconds", "0.4", "--out", str(file), *SMALL]
    assert main(["worlds", "video", world, *arguments]) == 0
    frames = frames_of(file)
    assert len(frames) == 11
    assert frames[0].shape == (48, 2 * 64 + 4, 3)
    assert (frames[0] != frames[-1]).any()
    assert "moved by a " in capsys.readouterr().out


@pytest.mark.gl
def test_a_video_says_which_copy_and_how_long(tmp_path, capsys):
    arguments = ["--only", "7", "--seed", "3", "--seconds", "0.1", *SMALL]
    file = tmp_path / "video.mp4"
    assert main(["worlds", "video", "so101/lift", *arguments, "--out", str(file)]) == 0
    out = capsys.readouterr().out
    assert "copy 7 of seed 3 of so101/lift (0.1 s in whole control steps of 40 ms)" in out


@pytest.mark.gl
def test_an_unknown_camera_is_refused_and_nothing_is_written(tmp_path, capsys):
    file = tmp_path / "x.png"
    assert main(["worlds", "picture", "so101/lift", "--camera", "frnt", "--out", str(file)]) == 2
    assert "There is no camera named 'frnt'. Did you mean 'front'?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "x.jpg"], "x.jpg does not end in .png"),
        (["--out", "x.png", "--width", "0"], "--width is 0 pixels."),
        (["--out", "x.png", "--count", "0"], "--count is 0"),
        (["--out", "x.png", "--count", "1000"], "too small to see"),
    ],
    ids=lambda x: " ".join(x)[:30],
)
def test_a_picture_that_makes_no_sense_is_refused(options, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["worlds", "picture", "so101/lift", *options]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_frames_tell_how_episodes_ended():
    def step(success: list[bool], timeout: list[bool]) -> Step:
        no = np.zeros(3, bool)
        return Step(
            observation={},
            privileged={},
            reward=np.zeros(3),
            success=np.array(success),
            failure=no,
            timeout=np.array(timeout),
            diverged=no,
        )

    marks = Marks(3)
    marks.see(step([True, False, False], [False, True, False]))
    marks.see(step([True, True, False], [True, True, False]))  # too late for the second
    framed = marks.framed(np.zeros((3, 12, 16, 3), np.uint8))
    assert [tuple(map(int, frame[0, 0])) for frame in framed] == [DONE, LOST, (0, 0, 0)]
    marks.close()
    assert tuple(marks.framed(np.zeros((3, 12, 16, 3), np.uint8))[2, 5, -1]) == LOST


@pytest.mark.gl
def test_the_demo_writes_what_it_promises(tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    command = [sys.executable, "-m", "trueup", "demo", "--n", "8", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sim-to-sim" in done.stdout
    assert other.read_text() == "mine"
    assert len(frames_of(tmp_path / "video.mp4")) == 101
    assert Image.open(tmp_path / "picture.png").size[0] > 800
    table = json.loads((tmp_path / "table.json").read_text())
    rows = {row["randomized"]: row for row in table["rows"]}
    assert table["label"] == "sim-to-sim"
    assert rows["nothing"]["share"] == 1.0
    assert rows["everything"]["episodes"] == 8
    assert rows["latency only"]["episodes"] == 2
    assert "| everything | " in (tmp_path / "table.md").read_text()
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["seed"] == 0
    assert run["wall_s"] > 0
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_without_graphics_the_demo_says_so_and_is_content(tmp_path):
    program = (
        "import sys, mujoco, trueup.cli\n"
        "def refuse(*_, **__): raise RuntimeError('no display')\n"
        "mujoco.Renderer = refuse\n"
        f"sys.exit(trueup.cli.main(['demo', '--n', '4', '--json', '--out', {str(tmp_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["run"]["no_pictures"].startswith("No picture and no video: ")
    assert NoGraphics("x").fix in answer["run"]["no_pictures"]
    assert {path.name for path in tmp_path.iterdir()} == {"table.md", "table.json", "run.json"}


def test_the_demo_blames_only_what_the_intervals_tell_apart():
    def row(name: str, share: float, low: float, high: float) -> dict:
        return {"randomized": name, "share": share, "interval_95": [low, high]}

    nothing, everything = row("nothing", 1.0, 0.98, 1.0), row("everything", 0.8, 0.7, 0.9)
    visual, object_ = row("visual only", 0.89, 0.84, 0.92), row("object only", 0.99, 0.97, 1.0)
    blamed = _sentences([nothing, everything, visual, object_])
    assert "Alone, visual (89 %) clearly costs successes" in blamed
    assert "object" not in blamed
    assert "No gap alone" in _sentences([nothing, everything, object_])


def test_a_demo_into_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "there is a file in its way" in capsys.readouterr().err
