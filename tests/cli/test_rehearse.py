"""`trueup rehearse` as people start it: a process that prints how to connect."""

import json
import signal
import subprocess
import sys

import pytest

from trueup.cli import main
from trueup.hardware import open_robot


def started(*words: str) -> tuple[subprocess.Popen, dict]:
    """The process, and what it printed."""
    command = [sys.executable, "-m", "trueup", "rehearse", *words, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("}"):
            break
    return process, json.loads("".join(lines))


@pytest.mark.parametrize(
    "words",
    [
        ("benign", "--world", "so101/arm", "--cells", "2", "--address", "tcp:127.0.0.1:0"),
        ("benign", "--bus"),
    ],
)
def test_what_it_prints_is_where_to_connect(words):
    process, told = started(*words)
    try:
        with open_robot(told["robot"]) as robot:
            assert robot.n == told["cells"]
            assert not robot.real
            assert robot.observe()["joint_position"].shape == (told["cells"], 6)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_a_link_leads_to_the_port(tmp_path):
    link = tmp_path / "arm"
    process, told = started("benign", "--bus", "--link", str(link))
    try:
        assert told["robot"] == f"so101:{link}"
        assert link.exists()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert not link.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["benign", "--link", "x"], "--link is for a bus"),
        (["benign", "--bus", "--cells", "3"], "one arm on its own port"),
        (["benihn"], "benign"),
        (["other-engine", "--bus"], "no servo bus"),
    ],
)
def test_what_contradicts_itself_is_a_sentence(words, sentence, capsys):
    assert main(["rehearse", *words]) != 0
    assert sentence in capsys.readouterr().err
