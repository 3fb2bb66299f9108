"""`trueup train`: what it says, what it leaves behind, and what it refuses."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.train.rigs import made, trained
from tests.train.swing import Swing
from trueup.cli import main
from trueup.cli.train import Teller, as_line
from trueup.policies import Policy
from trueup.space import Space
from trueup.train import Progress, Settings, Success

ROOT = Path(__file__).parents[2]
WORLD = f"{ROOT / 'tests' / 'train' / 'swing.py'}:Swing"
SMALL = ["train", WORLD, "--worlds", "64", "--hidden", "32", "--threads", "1"]
UPDATE = 64 * Settings().horizon


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own for each test."""
    monkeypatch.chdir(tmp_path)


def answer(capsys, *options: str) -> dict:
    assert main([*SMALL, "--json", *options]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_it_trains_and_says_what_came_of_it(capsys, tmp_path):
    assert main([*SMALL, "--steps", f"{10 * UPDATE:.1e}", "--target", "1", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    folder = Path("out/train/test-swing-3")
    for words in (
        "all steps are used up",
        f"{10 * UPDATE:,} control steps",
        "on 1,000 fresh episodes, sim-to-sim",
        "success, randomized",
        "success, nominal",
        f"Next: trueup evaluate {folder / 'policy'}",
        f"tensorboard --logdir {folder / 'logs'}",
    ):
        assert words in out
    assert "steps/s" in err and "left at most" in err
    policy = Policy.load(folder / "policy")
    assert policy.provenance.steps == 10 * UPDATE
    assert policy.provenance.seed == 3


def test_json_is_the_same_for_programs_and_evaluate_takes_what_it_hands_on(capsys, tmp_path):
    result = answer(capsys, "--steps", "30000", "--target", "0.5", "--out", "mine")
    assert result["label"] == "sim-to-sim"
    assert result["ended"] in ("steps", "target")
    assert result["policy"] == "mine/policy"
    success = result["success"]["randomized"]
    low, high = success["interval_95"]
    assert low <= success["share"] <= high and success["n"] == 1000
    command = ["evaluate", "mine/policy", "--world", WORLD, "-n", "50", "--threads", "1", "--json"]
    assert main(command) == 0
    played = json.loads(capsys.readouterr().out)
    assert played["success_share"] == pytest.approx(success["share"], abs=0.2)


def test_what_is_randomized_is_what_was_asked_for(capsys):
    options = ["--steps", "1", "--target", "1"]
    answer(capsys, *options, "--nominal", "--out", "nominal")
    answer(capsys, *options, "--select", "object", "--out", "object")
    Swing().space.select("actuation").save("space.json")
    answer(capsys, *options, "--space", "space.json", "--out", "file", "--plan", "sobol")
    found = {
        name: Policy.load(f"{name}/policy").contract.space.names
        for name in ("nominal", "object", "file")
    }
    assert found == {
        "nominal": (),
        "object": ("object/arm/mass",),
        "file": ("actuation/swing/damping",),
    }


@pytest.mark.parametrize("plan", ["prior", "sobol", "lhs", "automatic", "entropy"])
def test_every_plan_trains_also_where_nothing_differs(capsys, plan):
    result = answer(capsys, "--steps", "1", "--plan", plan, "--nominal")
    assert result["steps"] == UPDATE


def test_it_tunes_a_policy(capsys):
    trained().save("parent")
    result = answer(capsys, "--steps", "1", "--from", "parent", "--select", "object")
    parent = Policy.load(result["policy"]).provenance.parent
    assert parent is not None and parent["name"] == "parent"


# Stopped and gone on with -----------------------------------------------------------------------


def begun(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A training in a process of its own, as soon as it has told of its first updates."""
    command = [Path(sys.executable).with_name("trueup"), *SMALL, "--out", folder, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    metrics, deadline = folder / "metrics.jsonl", monotonic() + 60
    while not metrics.exists() or metrics.read_text().count("\n") < 3:
        assert process.poll() is None, process.communicate()
        assert monotonic() < deadline
        sleep(0.05)
    return process


def test_ctrl_c_leaves_a_policy_and_the_training_goes_on(capsys, tmp_path):
    folder = tmp_path / "run"
    process = begun(folder, "--steps", "1e9", "--target", "1")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "interrupted; go on with --resume" in out
    assert "Traceback" not in err
    policy = Policy.load(folder / "policy")
    assert policy.provenance.outcome["ended"] == "interrupted"
    done = policy.provenance.steps
    assert done >= 3 * UPDATE
    command = ["evaluate", str(folder / "policy"), "--world", WORLD, "-n", "10", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 10
    more = ["--steps", str(done + 2 * UPDATE), "--target", "1"]
    result = answer(capsys, "--out", str(folder), "--resume", *more)
    assert result["ended"] == "steps"
    assert result["steps"] == done + 2 * UPDATE


# Refused ----------------------------------------------------------------------------------------

HERE = "run"


def refused(capsys, *words: str) -> str:
    """What a command says that cannot be done."""
    assert main([*words]) == 2, capsys.readouterr()
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    return err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["so101/raech"], "Did you mean 'so101/reach'"),
        (["nothing.py"], "There is no world file at nothing.py"),
        (["arm.xml"], "arm.xml is a model alone"),
        ([WORLD, "--plan", "automatik"], "Did you mean 'automatic'"),
        (["so101/reach", "--plan", "grid"], "grid"),
        ([WORLD, "--steps", "0"], "steps is 0"),
        ([WORLD, "--steps", "-1"], "steps is -1"),
        ([WORLD, "--steps", "nan"], "steps is nan"),
        ([WORLD, "--steps", "inf"], "steps is inf"),
        ([WORLD, "--target", "2"], "target is 2; it must lie from 0 to 1"),
        ([WORLD, "--target", "nan"], "target is nan"),
        ([WORLD, "--history", "0"], "history is 0; it must lie from 1 to 64"),
        ([WORLD, "--worlds", "0"], "worlds is 0"),
        ([WORLD, "--hidden", "0"], "hidden is 0"),
        ([WORLD, "--seed", "-1"], "--seed is -1"),
        ([WORLD, "--threads", "-1"], "--threads is -1"),
        ([WORLD, "--nominal", "--select", "object"], "--nominal and --select contradict"),
        ([WORLD, "--nominal", "--space", "a.json"], "--nominal and --space contradict"),
        ([WORLD, "--select", "nothing"], "nothing"),
        ([WORLD, "--space", "none.json"], "none.json"),
        ([WORLD, "--from", "nowhere"], "No policy at nowhere."),
        ([WORLD, "--resume"], "There is no checkpoint at run/checkpoint.pt."),
    ],
    ids=lambda x: " ".join(x).replace(WORLD, "")[:30] if isinstance(x, list) else "",
)
def test_what_cannot_be_done_is_refused(capsys, options, words):
    assert words in refused(capsys, "train", *options, "--out", HERE)
    assert files(Path()) == {}


@pytest.mark.parametrize("word", ["--steps=many", "--seed=1.5", "--hidden=wide"])
def test_a_word_where_a_number_belongs_is_refused(capsys, word):
    assert main([*SMALL, word]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert files(Path()) == {}


def test_what_is_no_policy_cannot_be_tuned(capsys):
    Path("empty").mkdir()
    Path("text").write_text("no policy")
    for name, words in (("empty", "has no policy.onnx"), ("text", "A policy is a folder with")):
        assert words in refused(capsys, *SMALL, "--from", name, "--out", HERE)
    assert list(files(Path())) == ["text"]


def test_a_policy_of_another_world_cannot_be_tuned(capsys):
    trained().save("swinger")
    command = ["train", "so101/reach", "--from", "swinger", "--out", HERE]
    said = refused(capsys, *command)
    assert "Policy swinger does not fit world 'so101/reach'" in said
    assert "commands swing" in said and "shoulder_pan" in said
    slow = replace(trained().contract.interface, period_s=0.1)
    replace(trained(), contract=replace(trained().contract, interface=slow)).save("slow")
    said = refused(capsys, *SMALL, "--from", "slow", "--out", HERE)
    assert "trained at 10 Hz" in said and "runs at 50 Hz" in said
    assert not files(Path(HERE))


def test_an_older_training_is_neither_written_over_nor_mixed_with_another(capsys):
    answer(capsys, "--steps", "1", "--out", HERE)
    before = files(Path(HERE))
    assert "already holds a training" in refused(capsys, *SMALL, "--steps", "1", "--out", HERE)
    other = [*SMALL, "--out", HERE, "--resume"]
    assert "its seed is 0, and 7 was asked for" in refused(capsys, *other, "--seed", "7")
    history = Settings().history
    said = refused(capsys, *other, "--history", str(history + 1))
    assert f"its history is {history}, and {history + 1} was asked for" in said
    assert "its plan is" in refused(capsys, *other, "--plan", "automatic")
    assert "its space is" in refused(capsys, *other, "--nominal")
    assert files(Path(HERE)) == before


def test_a_damaged_checkpoint_is_told(capsys):
    answer(capsys, "--steps", "1", "--out", HERE)
    path = Path(HERE) / "checkpoint.pt"
    path.write_bytes(path.read_bytes()[:-500])
    said = refused(capsys, *SMALL, "--out", HERE, "--resume")
    assert "run/checkpoint.pt is not a checkpoint that can be read" in said


def test_a_space_in_the_folder_is_not_written_over(capsys):
    Path(HERE).mkdir()
    file = Path(HERE) / "space.json"
    Swing().space.save(file)
    both = Space.load(file).names
    options = ["--space", str(file), "--select", "object", "--steps", "1", "--out", HERE]
    main([*SMALL, *options])
    assert Space.load(file).names == both


def test_a_folder_that_cannot_be_is_told(capsys):
    Path("file").write_text("mine")
    assert "there is a file in its way" in refused(capsys, *SMALL, "--out", "file")
    assert "Nothing can be written into" in refused(capsys, *SMALL, "--out", "/proc/none")


# One line of progress ---------------------------------------------------------------------------


@pytest.fixture
def progress() -> Progress:
    """Where a training stands, with numbers that can be told apart."""
    return replace(
        made().learn(),
        steps=1_234_567,
        exploring=0.876,
        look=Success(good=93, n=100),
        steps_per_s=8_765.4,
        left_s=754.6,
    )


def test_the_line_says_success_speed_and_time_left(progress):
    assert as_line(progress) == (
        "1.23 M steps: success 87.6%, 93.0% without exploration; 8,765 steps/s, 12:35 left at most"
    )
    first = replace(progress, exploring=math.nan, look=None, steps=8192, left_s=59.6)
    assert as_line(first) == "0.01 M steps: success –; 8,765 steps/s, 1:00 left at most"


def test_off_a_terminal_a_line_comes_now_and_then(capsys, progress):
    with Teller(quiet=False) as teller:
        for _ in range(50):
            teller.tell(progress)
    assert capsys.readouterr().err == as_line(progress) + "\n"
    with Teller(quiet=True) as teller:
        teller.tell(progress)
    assert capsys.readouterr().err == ""
