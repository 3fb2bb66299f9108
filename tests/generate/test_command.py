"""`trueup generate`: what it says, and that it goes on where it was."""

import json

from trueup.cli import main
from trueup.episodes import Dataset
from trueup.worlds import get

SMALL = ["generate", "so101/reach", "--nominal"]


def test_it_fills_a_dataset_and_goes_on_with_it(tmp_path, capsys):
    out = str(tmp_path / "set")
    assert main([*SMALL, "--episodes", "4", "--out", out]) == 0
    text = capsys.readouterr().out
    for words in ("4 in", "simulated", "of 4 attempts", "trueup episodes info"):
        assert words in text
    assert main([*SMALL, "--episodes", "6", "--out", out, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["episodes"], result["from_an_earlier_run"]) == (6, 4)
    assert result["label"] == "simulated"
    assert len(Dataset.open(out)) == 6


def test_a_task_can_be_said_otherwise(tmp_path, capsys):
    out = str(tmp_path / "set")
    assert main([*SMALL, "--episodes", "2", "--task", "go there", "--out", out]) == 0
    assert Dataset.open(out).info.tasks == ("go there",)


def test_bad_options_get_a_sentence(tmp_path, capsys):
    cases = {
        ("--episodes", "0"): "0 episodes cannot be generated",
        ("--mistakes", "2"): "mistake is 2.0",
        ("--source", "nowhere"): "neither the word script or expert, nor a dataset, nor a policy",
        ("--select", "latency"): "contradict each other",
        ("--pick", "1"): "--pick is about recorded episodes",
    }
    for options, words in cases.items():
        assert main([*SMALL, *options, "--out", str(tmp_path / "set")]) == 2
        assert words in capsys.readouterr().err
    assert main(["generate", "so101/arm", "--out", str(tmp_path / "set")]) == 2
    assert "no scripted expert" in capsys.readouterr().err
    assert not (tmp_path / "set" / "meta" / "info.json").exists()


def test_the_wording_of_every_task_is_varied():
    from trueup.generate.wording import texts

    for name in ("so101/lift", "so101/place", "so101/push", "so101/reach"):
        sayings = texts(get(name))
        assert len(set(sayings)) == len(sayings) >= 4
    assert texts(get("so101/arm")) == (get("so101/arm").summary,)
