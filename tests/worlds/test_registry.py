"""Worlds by name and by file, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from trueup import worlds
from trueup.errors import TrueupError, UnknownName
from trueup.worlds import World, registry

PENDULUM = "from tests.worlds.pendulum import Pendulum\n"


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str, name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


def test_the_bare_arm_and_the_four_tasks_are_known():
    tasks = ("so101/reach", "so101/push", "so101/lift", "so101/place")
    assert worlds.names() == ("so101/arm", *tasks)


@pytest.mark.parametrize("name", worlds.names())
def test_a_name_gives_a_world_of_that_name(name):
    world = worlds.get(name)
    assert world.name == name
    assert world.summary.endswith(".")


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownName, match=r"no world named 'so101/lft'.*'so101/lift'") as caught:
        worlds.get("so101/lft")
    assert "`trueup worlds`" in str(caught.value)
    assert "FILE.py:CLASS" in str(caught.value)


def test_a_file_and_a_class(file):
    path = file(PENDULUM + "class Mine(Pendulum):\n    name = 'my/pendulum'\n")
    assert worlds.get(f"{path}:Mine").name == "my/pendulum"
    assert worlds.get(str(path)).name == "my/pendulum"


def test_a_file_with_two_classes_needs_a_choice(file):
    path = file(PENDULUM + "class One(Pendulum): name = 'a/1'\nclass Two(Pendulum): name = 'a/2'\n")
    assert worlds.get(f"{path}:Two").name == "a/2"
    with pytest.raises(TrueupError, match=r"One.*Two.*FILE\.py:CLASS") as caught:
        worlds.get(str(path))
    assert "''" not in str(caught.value)  # no name was given, so none can be unknown


def test_an_unknown_class_offers_the_nearest(file):
    path = file(PENDULUM + "class Mine(Pendulum): name = 'a/b'\n")
    with pytest.raises(UnknownName, match=r"no world class in .*mine\.py named 'Min'.*'Mine'"):
        worlds.get(f"{path}:Min")


def test_imported_classes_are_not_the_files_own(file):
    path = file(PENDULUM)
    with pytest.raises(UnknownName, match="None exist yet"):
        worlds.get(f"{path}:Pendulum")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TrueupError, match=r"no world file at .*none\.py"):
        worlds.get(f"{tmp_path}/none.py:Mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("class (", "SyntaxError")],
)
def test_a_broken_file_says_how(file, text, words):
    with pytest.raises(TrueupError, match=rf"mine\.py fails when loaded in line 1: {words}"):
        worlds.get(f"{file(text)}:Mine")


def test_an_unfinished_class_says_what_it_lacks(file):
    path = file(PENDULUM + "from trueup.worlds import World\nclass Mine(World): name = 'a/b'\n")
    with pytest.raises(TrueupError, match=r"Mine.*reward.*success"):
        worlds.get(f"{path}:Mine")


def test_files_of_one_name_do_not_mix(file, tmp_path):
    (tmp_path / "other").mkdir()
    first = file(PENDULUM + "class Mine(Pendulum): name = 'a/1'\n")
    second = file(PENDULUM + "class Mine(Pendulum): name = 'a/2'\n", "other/mine.py")
    one, two = worlds.get(f"{first}:Mine"), worlds.get(f"{second}:Mine")
    assert (one.name, two.name) == ("a/1", "a/2")


def test_registering_makes_a_name_known(monkeypatch):
    monkeypatch.setattr(registry, "_WORLDS", dict(registry._WORLDS))

    @worlds.register
    class Mine(type(worlds.get("so101/reach"))):
        name = "my/reach"

    found = worlds.get("my/reach")
    assert isinstance(found, Mine)
    assert isinstance(found, World)
