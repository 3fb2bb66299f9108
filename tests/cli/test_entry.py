"""The door itself: help that reads like documentation, errors as sentences, exit codes."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trueup import __version__
from trueup.cli import main
from trueup.cli.verbs import VERBS

TRUEUP = [sys.executable, "-m", "trueup"]
HEAVY = ("numpy", "mujoco", "torch", "rich", "tyro", "trueup.space", "trueup.worlds")


def test_help_names_every_verb_and_fits_a_page(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for verb in VERBS:
        assert f"  {verb.words} " in text
        assert verb.summary in text
    assert max(map(len, text.splitlines())) <= 100


def test_no_arguments_show_the_help(capsys):
    assert main([]) == 0
    assert "usage: trueup VERB" in capsys.readouterr().out


def test_help_names_every_exit_code_and_who_prints_json(capsys):
    main(["--help"])
    text = capsys.readouterr().out
    assert all(f"{code} " in text.split("exit codes: ")[1] for code in (0, 1, 2, 130, 141))
    assert "all but" in text.split("--json")[1]
    for verb in VERBS:
        main([*verb.words.split(), "--help"])
        shown = "--json" in capsys.readouterr().out
        assert shown == (verb.words not in ("worlds picture", "worlds video"))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words)
def test_help_of_a_verb_in_both_ways(verb, capsys):
    assert main([*verb.words.split(), "--help"]) == 0
    usual = capsys.readouterr().out
    assert main(["help", *verb.words.split()]) == 0
    assert capsys.readouterr().out == usual


@pytest.mark.parametrize("words", [["help"], ["help", "help"], ["help", "--help"]], ids=" ".join)
def test_help_of_nothing_is_the_list(words, capsys):
    assert main(words) == 0
    assert "usage: trueup VERB" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"trueup {__version__}\n"


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from trueup.cli import main; main(['--help']); "
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words)
def test_a_verb_says_the_same_of_itself_in_the_list_and_in_its_help(verb, capsys):
    command = getattr(importlib.import_module(f"trueup.cli.{verb.module}"), verb.command)
    assert (inspect.getdoc(command) or "").splitlines()[0] == verb.summary
    assert main([*verb.words.split(), "--help"]) == 0
    assert verb.summary in capsys.readouterr().out


WRONG = [
    (["wrlds"], "There is no verb named 'wrlds'. Did you mean 'worlds'"),
    (["worlds", "shwo"], "There is no verb 'worlds shwo'. Did you mean 'worlds show'"),
    (["--json", "worlds"], "The option '--json' stands before any verb."),
    (["space", "so101/lift", "--selct", "latency"], "--select"),
    (["simulate"], "WORLD"),
    (["simulate", "so101/lift", "--actions", "dance"], "script"),
    (["worlds", "show", "so101/lfit"], "Did you mean 'so101/lift'"),
    (["worlds", "show", "missing.py:World"], "There is no world file at missing.py."),
    (["help", "wrlds"], "There is no verb named 'wrlds'. Did you mean 'worlds'"),
    (["simulate", "arm.xml"], "arm.xml is a model alone: an MJCF needs a world class"),
    (["worlds", "show", "robot/arm.xml"], "docs/your-own-robot.md"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda x: " ".join(x)[:30])
def test_what_is_mistyped_is_answered_with_what_was_meant(arguments, words, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err


def test_traceback_may_stand_anywhere(capsys):
    assert main(["worlds", "--traceback", "show", "so101/lfit"]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert err.splitlines()[-1].startswith("There is no world named 'so101/lfit'.")


def faulty_world(folder: Path, line: str) -> str:
    file = folder / "faulty.py"
    file.write_text(
        "from trueup.worlds.so101_tasks import Reach\n"
        "class Faulty(Reach):\n"
        f"    def spec(self):\n        {line}\n"
    )
    return f"{file}:Faulty"


def failing(monkeypatch, error: BaseException) -> None:
    """Let `trueup worlds` fail inside trueup."""

    def fail() -> tuple[str, ...]:
        raise error

    monkeypatch.setattr("trueup.cli.worlds.names", fail)


def test_a_fault_is_told_in_one_sentence(capsys, monkeypatch):
    failing(monkeypatch, KeyError("elbow"))
    assert main(["worlds"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "trueup failed unexpectedly: KeyError: 'elbow'. Run again with --traceback to see where.\n"
    )


def test_too_little_memory_is_told(capsys, monkeypatch):
    failing(monkeypatch, MemoryError())
    assert main(["worlds"]) == 2
    assert "needs more memory than there is" in capsys.readouterr().err


def test_errors_are_red_for_people_and_plain_in_files(capsys, monkeypatch):
    main(["wrlds"])
    assert "\033" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["wrlds"])
    assert capsys.readouterr().err.startswith("\033[31m")


@pytest.mark.parametrize(
    "words",
    [
        ["space", "so101/lift", "--json"],
        ["space", "so101/lift"],
        ["worlds", "show", "so101/lift"],
        ["simulate", "--help"],
    ],
    ids=" ".join,
)
def test_a_reader_that_has_seen_enough_hears_nothing(words):
    program = [*TRUEUP, *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_is_one_sentence(tmp_path):
    world = faulty_world(tmp_path, "import time; print('here', flush=True); time.sleep(60)")
    with subprocess.Popen(
        [*TRUEUP, "worlds", "show", world], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"here\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        text = process.stderr.read().decode()
    assert process.returncode == 130
    assert text.startswith("Stopped by Ctrl-C")
    assert len(text.splitlines()) == 1
