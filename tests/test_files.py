"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from trueup.errors import TrueupError
from trueup.files import whole, whole_folder


def content(folder: Path) -> dict[str, str]:
    """All files below a folder, hidden ones included."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in found}


class Broken(Exception):
    """What goes wrong in the middle."""


# Files ------------------------------------------------------------------------------------------


def test_a_file_appears_with_its_folders(tmp_path):
    with whole(tmp_path / "a" / "b" / "file.txt") as partial:
        partial.write_text("new")
        assert not (tmp_path / "a" / "b" / "file.txt").exists()
    assert content(tmp_path) == {"a/b/file.txt": "new"}


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit])
def test_whatever_goes_wrong_the_older_file_stays(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(error), whole(path) as partial:
        partial.write_text("half")
        raise error
    assert content(tmp_path) == {"file.txt": "old"}


def test_a_full_disk_is_a_sentence(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(TrueupError) as told, whole(path) as partial:
        partial.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert f"{path} could not be written: No space left on device." in str(told.value)
    assert content(tmp_path) == {"file.txt": "old"}


def test_a_folder_where_a_file_belongs_is_told(tmp_path):
    with (
        pytest.raises(TrueupError, match="is a folder, but a file is to be written"),
        whole(tmp_path),
    ):
        raise AssertionError("it must not begin")


def test_a_file_where_a_folder_belongs_is_told(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TrueupError, match="could not be written"), whole(tmp_path / "file" / "b"):
        raise AssertionError("it must not begin")
    assert content(tmp_path) == {"file": "mine"}


# Folders ----------------------------------------------------------------------------------------


def filled(path: Path, text: str) -> None:
    with whole_folder(path) as partial:
        for name in ("one", "two"):
            (partial / name).write_text(text)


def test_a_folder_appears_at_once(tmp_path):
    path = tmp_path / "deep" / "policy"
    with whole_folder(path) as partial:
        (partial / "one").write_text("new")
        assert not path.exists()
    assert content(tmp_path) == {"deep/policy/one": "new"}


def test_a_newer_folder_takes_the_place_of_an_older_one_wholly(tmp_path):
    filled(tmp_path / "policy", "old")
    (tmp_path / "policy" / "three").write_text("old")
    filled(tmp_path / "policy", "new")
    assert content(tmp_path) == {"policy/one": "new", "policy/two": "new"}


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("older", [True, False])
def test_whatever_goes_wrong_the_older_folder_stays(tmp_path, error, older):
    path = tmp_path / "policy"
    if older:
        filled(path, "old")
    before = content(tmp_path)
    with pytest.raises(error), whole_folder(path) as partial:
        (partial / "one").write_text("half")
        raise error
    assert content(tmp_path) == before
    assert list(tmp_path.iterdir()) == ([path] if older else [])


@pytest.mark.parametrize("fails", [1, 2])
def test_a_rename_that_fails_leaves_the_older_folder(tmp_path, monkeypatch, fails):
    path = tmp_path / "policy"
    filled(path, "old")
    rename, calls = Path.rename, []

    def refuse(self, target):
        calls.append(self)
        if len(calls) == fails:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(TrueupError, match="could not be written: Permission denied"):
        filled(path, "new")
    assert content(tmp_path) == {"policy/one": "old", "policy/two": "old"}


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    path = tmp_path / "policy"
    filled(path, "old")
    for word in ("partial", "old"):
        (tmp_path / f".policy.{word}").mkdir()
        (tmp_path / f".policy.{word}" / "rest").write_text("half")
    filled(path, "new")
    assert content(tmp_path) == {"policy/one": "new", "policy/two": "new"}
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from trueup.files import whole_folder

    rename = Path.rename

    def killed(self, target):
        if self.name.endswith(".partial"):
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    Path.rename = killed
    with whole_folder(sys.argv[1]) as partial:
        (partial / "one").write_text("new")
"""


def test_a_process_that_is_killed_between_the_renames_loses_nothing(tmp_path):
    """The older folder is put away under another name for a moment: the next save finds it."""
    path = tmp_path / "policy"
    filled(path, "old")
    done = subprocess.run([sys.executable, "-c", dedent(KILLED), str(path)], timeout=30)
    assert done.returncode < 0
    assert "old" in content(tmp_path).values()  # somewhere
    with pytest.raises(Broken), whole_folder(path):
        raise Broken
    assert content(tmp_path) == {"policy/one": "old", "policy/two": "old"}


def test_a_file_in_the_way_stays(tmp_path):
    path = tmp_path / "policy"
    path.write_text("mine")
    with pytest.raises(TrueupError, match="is a file, but a folder is to be written there"):
        filled(path, "new")
    assert content(tmp_path) == {"policy": "mine"}


@pytest.mark.parametrize("path", [".", "/"])
def test_a_folder_without_a_name_is_told(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrueupError), whole_folder(path):
        raise AssertionError("it must not begin")
