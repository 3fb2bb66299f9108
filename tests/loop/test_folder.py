"""Folders that cannot be gone on with: each is refused in a sentence, before anything moves."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.loop.turns import TINY, job
from trueup.errors import TrueupError
from trueup.loop import Entry, Journal, Origin, Settings, State, run
from trueup.loop.lock import locked
from trueup.loop.marks import mark_of


def begun(folder: Path) -> Path:
    (folder / "run").mkdir(parents=True)
    Origin(settings=TINY, commands=("trueup run",)).save(folder / "run")
    return folder / "run"


def test_settings_come_back_as_they_were(tmp_path):
    assert Settings.from_json(json.loads(json.dumps(TINY.to_json()))) == TINY
    assert Origin.load(begun(tmp_path)).settings == TINY


def test_an_empty_folder_has_no_stage_to_begin_from(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(TrueupError, match="holds no run"):
        run(job(tmp_path), begin="identify")


def test_a_refused_command_leaves_no_folder(tmp_path):
    with pytest.raises(TrueupError, match="is no folder"):
        run(job(tmp_path), begin="identify")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"robot": "rehearsal:typo@so101/reach"}, "no reality named 'typo'"),
        ({"robot": "telepathy:7"}, "telepathy:7"),
        ({"robot": "rehearsal:benign"}, "is not one for so101/reach"),  # one of so101/lift
        ({"policy": "nowhere"}, "nowhere"),
        ({"episodes": "nowhere"}, "nowhere"),
        ({"robot": "rehearsal:monday-arm@so101/reach"}, "is one of so101/lift"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_training(tmp_path, changed, said):
    with pytest.raises(TrueupError, match=said) as refused:
        run(job(tmp_path, replace(TINY, **changed)))
    assert not (tmp_path / "run").exists() and not (tmp_path / "cache").exists()
    if "monday" in changed.get("robot", ""):
        assert "slow-bus" in refused.value.fix and "garage" not in refused.value.fix


def test_a_setting_that_nothing_done_rests_on_may_change(tmp_path):
    folder = begun(tmp_path)
    Journal(stages={"train": Entry(state=State.RUNNING)}).save(folder)

    class Killed(BaseException):
        pass

    def tell(line: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        run(job(tmp_path, replace(TINY, trials=3, policy=""), tell=tell))
    assert Origin.load(folder).settings.trials == 3


def test_a_stage_that_there_is_not(tmp_path):
    begun(tmp_path)
    with pytest.raises(TrueupError, match="'identify'"):
        run(job(tmp_path), begin="identifi")


def test_a_folder_with_other_things_in_it(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("x")
    with pytest.raises(TrueupError, match="other things"):
        run(job(tmp_path))


@pytest.mark.parametrize("name", ["run.json", "journal.json"])
def test_another_version(tmp_path, name):
    folder = begun(tmp_path)
    Journal().save(folder)
    stored = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**stored, "version": 99}))
    with pytest.raises(TrueupError, match="version 99"):
        run(job(tmp_path))


@pytest.mark.parametrize("name", ["run.json", "journal.json"])
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "trueup/space", "version": 1}'])
def test_a_damaged_file(tmp_path, name, text):
    folder = begun(tmp_path)
    (folder / name).write_text(text)
    with pytest.raises(TrueupError, match="damaged"):
        run(job(tmp_path))


def test_two_runs_in_one_folder(tmp_path):
    with locked(tmp_path / "run"), pytest.raises(TrueupError, match=f"process {os.getpid()}"):
        run(job(tmp_path))


def test_a_lock_dies_with_its_process(tmp_path):
    child = os.fork()
    if not child:
        with locked(tmp_path / "run"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / "run" / ".lock").read_text().strip() == str(child)
    with locked(tmp_path / "run"):
        pass


def test_a_mark_is_of_the_content_and_of_the_names(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    for folder in (a, b):
        folder.mkdir()
        (folder / "x").write_text("1")
    assert mark_of(a) == mark_of(b) != ""
    (b / "x").rename(b / "y")
    assert mark_of(a) != mark_of(b)
    assert mark_of(tmp_path / "nothing") == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"trials": 0}, "trials"), ({"target": 2.0}, "target"), ({"seconds": 0.0}, "no length")],
)
def test_settings_that_make_no_sense(changed, said):
    with pytest.raises(TrueupError, match=said):
        Settings(**changed)
