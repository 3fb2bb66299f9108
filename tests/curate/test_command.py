"""`trueup curate`: what it says and writes, and its exit codes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.curate.reaches import reaches
from tests.curate.test_curation import spiked
from trueup.cli import main
from trueup.curate import KeepList
from trueup.episodes import Dataset, Writer
from trueup.episodes.consent import Register


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    sets = {
        "mixed": [*reaches(12), spiked(reaches(1, seed=5)[0])],
        "real": reaches(12, seed=2),
        "other": reaches(2, names=("hip", "knee")),
    }
    for name, episodes in sets.items():
        with Writer(folder / name) as writer:
            for episode in episodes:
                writer.add(episode)
    return folder


def test_it_prints_the_worst_and_why(capsys, folders):
    assert main(["curate", str(folders / "mixed"), "--worst", "3"]) == 0
    text = capsys.readouterr().out
    assert "12 of 13 episodes are kept, 1 dropped." in text
    (line,) = [line for line in text.splitlines() if line.split()[1:2] == ["dropped"]]
    assert line.split()[0] == "12" and "shoulder of command" in line
    assert "of the way to being dropped" in text and "limits did not look: " in text


def test_it_writes_a_list_and_a_copy(capsys, folders, tmp_path):
    words = ["curate", str(folders / "mixed"), "--reference", str(folders / "real")]
    words += ["--out", str(tmp_path / "out"), "--copy", str(tmp_path / "copy"), "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert err == "" and told["kept"] == list(range(12)) and told["discriminator"]["by_signal"]
    assert KeepList.load(tmp_path / "out/keep.json").to_json() == told
    assert len(Dataset.open(tmp_path / "copy")) == 12
    assert main(words) == 2
    assert "nothing is written over" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no"], "There is no dataset at"),
        (["mixed", "--reference", "other"], "is of another robot"),
        (["mixed", "--ignore", "jrek"], "There is no rule named 'jrek'"),
        (["mixed", "--world", "so101/nothing"], "There is no world named"),
    ],
)
def test_what_is_wrong_is_one_sentence(capsys, folders, words, told):
    words = [str(folders / w) if w in ("no", "mixed", "other") else w for w in words]
    assert main(["curate", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and told in err


@pytest.fixture
def studied(tmp_path, monkeypatch):
    """Nine episodes of P07, one of P08, three without people; only P07 agreed to training."""
    monkeypatch.chdir(tmp_path)
    people = [*["P07"] * 9, "P08", *[""] * 3]
    with Writer("set") as writer:
        for episode, name in zip(reaches(13), people, strict=True):
            writer.add(replace(episode, labels={"participant": name} if name else {}))
    for name, scope in (("P07", ["recording", "training"]), ("P08", ["recording"])):
        assert main(["participants", "add", name, "--scope", *scope]) == 0


def test_episodes_of_people_who_did_not_agree_to_training_are_dropped_unread(capsys, studied):
    capsys.readouterr()
    assert main(["curate", "set", "--copy", "copy", "--json"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["kept"] == [i for i in range(13) if i != 9]
    (reason,) = told["verdicts"][9]["reasons"]
    assert reason["rule"] == "consent" and "P08 agreed to recording, not to training" in err
    assert len(Dataset.open("copy")) == 12
    (export,) = Register.open("participants").exports
    assert export.participants == ("P07",)


def test_where_consent_covers_nothing_it_says_what_to_do(capsys, studied):
    capsys.readouterr()
    with Writer("one") as writer:
        for episode in reaches(3):
            writer.add(replace(episode, labels={"participant": "P09"}))
    assert main(["curate", "one"]) == 2
    said = capsys.readouterr().err
    assert "may be read" in said and "P09 is not in the register" in said
    assert "--participants" in said
