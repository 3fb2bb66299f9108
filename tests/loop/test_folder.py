"""Folders that cannot be gone on with: each is refused in a sentence, before anything moves."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.loop.turns import TINY, job
from trueup.errors import TrueupError
from trueup.loop import Journal, Origin, Settings, run
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
