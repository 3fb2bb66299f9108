"""What is printed for people is printed as it is, brackets and all."""

from __future__ import annotations

import shlex

from trueup.cli import show


def test_a_command_can_be_copied_whatever_its_paths_hold(capsys):
    words = ["trueup", "plan", "my [red] arm/gaps.json", "it's/one"]
    show.say(f"Next: {show.command(*words)}")
    assert shlex.split(capsys.readouterr().out)[1:] == words


def test_a_fact_is_no_markup(capsys):
    show.print_facts({"policy": "out/[red]/policy"})
    assert "out/[red]/policy" in capsys.readouterr().out
