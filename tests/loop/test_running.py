"""A whole turn: once undisturbed, and again with every kind of disturbance, to the same numbers."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.loop.turns import REACH, TINY, job, numbers
from trueup.cli.entry import chosen, command, main
from trueup.errors import TrueupError
from trueup.loop import Entry, Journal, Origin, Settings, State, Why, run
from trueup.loop.circle import stages

NAMES = [stage.name for stage in stages(TINY)]


class Killed(BaseException):
    """As sudden as a kill: nothing in between catches it."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    """The folder of a run that nobody disturbed, and of what it keeps for others."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run(job(folder), command="trueup run")
    return folder


@pytest.fixture
def copy(undisturbed, tmp_path) -> Path:
    shutil.copytree(undisturbed, tmp_path / "copy")
    return tmp_path / "copy"


def died_at_every_boundary(folder: Path, begin: str) -> None:
    """Do it again from a stage on, die after each, and once in the middle of the retraining."""
    told: set[str] = set()

    def on_stage(name: str, entry: Entry) -> None:
        if name not in told:
            told.add(name)
            raise Killed

    def tell(line: str) -> None:
        half_done = (folder / "run/retrain/checkpoint.pt").exists()
        if half_done and "inside" not in told:
            told.add("inside")
            raise Killed

    for times in range(3 * len(NAMES)):
        try:
            run(job(folder, tell=tell), begin=None if times else begin, on_stage=on_stage)
            assert "inside" in told
            return
        except Killed:
            continue
    raise AssertionError("it never came to its end")


def test_a_run_leaves_what_it_says(undisturbed):
    journal = Journal.load(undisturbed / "run")
    assert list(journal.stages) == NAMES
    for stage in stages(TINY):
        entry = journal.stages[stage.name]
        assert entry.state is State.DONE and entry.found
        there = [name for name in stage.outputs if (undisturbed / "run" / name).exists()]
        assert [name for name, mark in entry.outputs.items() if mark] == there
    page = (undisturbed / "run/report/report.html").read_text()
    assert "sim-to-sim" in page
    told = json.loads((undisturbed / "run/report/report.json").read_text())
    keys = [section["key"] for section in told["sections"]]
    assert keys[0] == "answer" and "space" in keys and keys[-1] == "provenance"


def test_killed_after_every_stage_and_inside_one_it_finds_the_same(undisturbed, copy):
    died_at_every_boundary(copy, "diagnose")
    assert numbers(copy / "run") == numbers(undisturbed / "run")


@pytest.mark.slow
def test_killed_at_any_moment_it_finds_the_same(undisturbed, tmp_path):
    """From nothing, in a process of its own, with the signal that nobody can catch."""
    code = (
        "import pathlib, sys\n"
        "from tests.loop.turns import job\n"
        "from trueup.loop import run\n"
        "run(job(pathlib.Path(sys.argv[1])))\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    generator, kills = np.random.default_rng(), 0
    while True:
        process = subprocess.Popen(words, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
        try:
            process.wait(generator.uniform(3.0, 9.0) if kills < 6 else None)
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    assert process.returncode == 0 and kills
    assert numbers(tmp_path / "run") == numbers(undisturbed / "run")


def test_what_is_done_is_not_done_again(copy):
    before = Journal.load(copy / "run")
    assert run(job(copy)).journal.stages == before.stages


def test_a_stage_can_be_done_again_and_nothing_recorded_is_lost(copy):
    before = Journal.load(copy / "run")
    was = numbers(copy / "run")
    done: list[str] = []
    run(job(copy), begin="after", on_stage=lambda name, _: done.append(name))
    after = Journal.load(copy / "run")
    assert numbers(copy / "run") == was
    assert done == NAMES
    assert (copy / "run/earlier/after-1/after/episodes/meta/info.json").is_file()
    assert after.stages["diagnose"] == before.stages["diagnose"]
    assert after.stages["after"] != before.stages["after"]


def test_an_artefact_changed_by_hand_is_said_and_not_used(copy):
    space = copy / "run/narrow/space.json"
    space.write_text(space.read_text() + "\n")
    with pytest.raises(TrueupError, match="not what the stage 'narrow' wrote") as said:
        run(job(copy))
    assert "--accept" in said.value.fix and "--from narrow" in said.value.fix
    seen: list[str] = []

    def stop(name: str, entry: Entry) -> None:
        seen.append(name)
        if name == "narrow":
            raise Killed

    with pytest.raises(Killed):
        run(job(copy), accept=True, on_stage=stop)
    assert Journal.load(copy / "run").accepted == ("narrow/space.json",)
    assert seen[-1] == "narrow"  # it was taken as it is; what rests on it comes after


@pytest.mark.parametrize("how", ["changed", "removed"])
def test_doing_its_stage_again_mends_an_artefact(copy, how):
    space = copy / "run/narrow/space.json"
    if how == "changed":
        space.write_text(space.read_text() + "\n")
    else:
        space.unlink()
    with pytest.raises(TrueupError, match=f"it was {how} since"):
        run(job(copy), begin="retrain")

    def stop(name: str, entry: Entry) -> None:
        if name == "narrow":
            raise Killed

    with pytest.raises(Killed):
        run(job(copy), begin="narrow", on_stage=stop)
    assert space.is_file() and Journal.load(copy / "run").done("narrow")


def test_accepting_says_what_and_takes_nothing_that_is_gone(copy):
    (copy / "run/look/gaps.json").unlink()
    why = copy / "run/narrow/why.json"
    why.write_text(why.read_text() + "\n")
    with pytest.raises(TrueupError, match=r"look/gaps.json .* removed since") as said:
        run(job(copy), accept=True)
    assert "--from look" in said.value.fix and "--accept" not in said.value.fix
    with pytest.raises(TrueupError, match=r"Neither is narrow/why.json"):
        run(job(copy))
    said_aloud: list[str] = []
    (copy / "run/look/gaps.json").write_text("{}")

    def stop(name: str, entry: Entry) -> None:
        raise Killed

    with pytest.raises(Killed):
        run(job(copy, say=said_aloud.append), accept=True, on_stage=stop)
    assert said_aloud == ["Accepted as changed by hand: look/gaps.json, narrow/why.json."]


def test_a_setting_that_a_stage_rests_on_cannot_be_slipped_in(copy):
    other = replace(TINY, trials=7)
    with pytest.raises(TrueupError, match=r"trials is 6; here it is 7") as said:
        run(job(copy, other))
    assert "--from before" in said.value.fix
    with pytest.raises(TrueupError, match="trials is 6"):
        run(job(copy, other), begin="narrow")
    assert Origin.load(copy / "run").settings == TINY


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"robot": "rehearsal:typo@so101/reach"}, "no reality named 'typo'"),
        ({"robot": "rehearsal:garage@so101/reach"}, "visual/camera/shift_x"),
        ({"robot": "rehearsal:benign@so101/arm"}, "is not one for so101/reach"),
        ({"episodes": "nowhere"}, "nowhere"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_forgotten(copy, changed, said):
    run_json = (copy / "run/run.json").read_text()
    journal = (copy / "run/journal.json").read_text()
    with pytest.raises(TrueupError, match=said):
        run(job(copy, replace(TINY, **changed)), begin="before")
    assert (copy / "run/retrain/policy").is_dir() and not (copy / "run/earlier").exists()
    assert (copy / "run/run.json").read_text() == run_json
    assert (copy / "run/journal.json").read_text() == journal


def test_of_settings_within_settings_those_that_differ_are_named(copy):
    run_json = (copy / "run/run.json").read_text()
    other = replace(TINY, tune=replace(TINY.tune, steps=12_000))
    with pytest.raises(TrueupError, match=r"tune.steps is 6144; here it is 12000, and") as said:
        run(job(copy, other))
    assert len(said.value.what) < 300
    assert (copy / "run/run.json").read_text() == run_json


def test_one_reason_to_stop_ends_the_run_with_a_report(copy):
    done: dict[str, Entry] = {}
    eased = replace(TINY, target=0.001, insist=False)
    folder = copy / "run"
    result = json.loads((folder / "before/result.json").read_text())
    ended = run(job(copy, eased), begin="plan", on_stage=done.__setitem__)
    if result["success"]:
        assert ended.stop.why is Why.TARGET
        assert done["record"].state is State.LEFT_OUT and not (folder / "recordings").exists()
        assert done["report"].state is State.DONE
    assert "report.html" in done["report"].found


def test_a_robot_that_preflight_refuses_ends_it_before_any_trial(copy):
    stuck = {"kp": 3.25, "frictionloss": 1.0, "load_friction": 0.9}
    values = {f"actuation/shoulder_pan/{name}": value for name, value in stuck.items()}
    reality = {"trueup_reality": 1, "story": "Stuck.", "world": REACH, "values": values}
    (copy / "stuck.json").write_text(json.dumps(reality))
    other = replace(TINY, robot=f"rehearsal:{copy / 'stuck.json'}@{REACH}")
    with pytest.raises(TrueupError, match="'shoulder_pan' moves by"):
        run(job(copy, other), begin="before")
    journal = Journal.load(copy / "run")
    assert journal.done("train") and not journal.done("before")
    assert not (copy / "run/before/episodes").exists()
    assert (copy / "run/before/preflight.json").is_file()


def test_the_command_line_goes_on_with_the_settings_of_the_folder(copy, capsys):
    assert main(["run", "--out", str(copy / "run"), "--json", "--threads", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stages"]["retrain"]["state"] == "done"
    assert told["ended"] in {str(why) for why in Why}
    assert main(["run", "--out", str(copy / "run"), "--threads", "1"]) == 0
    shown = capsys.readouterr()
    assert "sim-to-sim" in shown.out and "report.html" in shown.out
    assert [line.split()[0] for line in shown.err.splitlines()] == NAMES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trials", "9"], "--from before"),
        (["--from", "nowhere"], "nowhere"),
        (["--robot", "so101:x", "--reality", "benign"], "--robot and --reality"),
        (["so101/levitate"], "so101/levitate"),
        (["--target", "7"], "target"),
        (["--steps", "1.5"], "--steps is 1.5"),
        (["--steps", "nan"], "--steps is nan"),
        (["--start-steps", "0"], "--start-steps is 0"),
        (["--episodes", ""], "--episodes is empty"),
        (["--insist", "--no-insist"], "contradict"),
    ],
)
def test_the_command_line_says_what_is_wrong(copy, capsys, words, said):
    assert main(["run", *words, "--out", str(copy / "run")]) == 2
    assert said in capsys.readouterr().err


def test_what_an_earlier_command_asked_for_can_be_taken_back(tmp_path):
    settings = replace(TINY, policy="mine", episodes="recorded", controls=True)
    (tmp_path / "run").mkdir()
    Origin(settings=settings).save(tmp_path / "run")
    words = ["--policy", "none", "--episodes", "none", "--no-insist", "--no-controls"]
    loop = command(chosen(["run"])[0], [*words, "--out", str(tmp_path / "run")])
    asked = loop._settings()
    assert (asked.policy, asked.episodes, asked.insist, asked.controls) == ("", "", False, False)


def test_a_full_run_does_not_become_small_in_silence(tmp_path, capsys):
    out = tmp_path / "run"
    out.mkdir()
    Origin(settings=Settings()).save(out)
    assert main(["run", "--small", "--out", str(out)]) == 2
    assert "holds a full run" in capsys.readouterr().err
    Origin(settings=Settings().small()).save(out)
    assert command(chosen(["run"])[0], ["--small", "--out", str(out)])._settings().simulated == 60


def test_ctrl_c_says_how_to_go_on(copy):
    """In the middle of trials: the robot was checked, and its first trials are not over."""
    checked = copy / "run/before/preflight.json"
    checked.unlink()
    words = [sys.executable, "-m", "trueup", "run", "--from", "before", "--out", str(copy / "run")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        while not checked.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "The same command goes on" in said
