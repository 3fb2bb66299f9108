"""The register of participants, and what consent covers."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.episodes.recordings import recording, same
from trueup.cli import main
from trueup.episodes import Dataset, Episode, Writer
from trueup.episodes.consent import (
    Admission,
    Consent,
    Purpose,
    Register,
    check_for_people,
    covered,
    people_in,
)
from trueup.errors import TrueupError

DAY = date(2026, 3, 1)
BOTH = (Purpose.RECORDING, Purpose.TRAINING)


def register(folder: Path) -> Register:
    """P07 may be trained with, P08 also published until the end of the year."""
    every = Consent(scope=tuple(Purpose), given=DAY, until=date(2026, 12, 31))
    return (
        Register(folder=folder)
        .with_consent("P07", Consent(scope=BOTH, given=DAY), age="18-34", handedness="left")
        .with_consent("P08", every)
    )


def with_people(index: int, people: str, **options) -> Episode:
    made = recording(index, **options)
    return replace(made, labels={"participant": people} if people else {})


def write(folder: Path, people: list[str], **options) -> Path:
    with Writer(folder) as writer:
        for index, names in enumerate(people):
            writer.add(with_people(index, names, **options))
    return folder


def test_a_register_comes_back_from_its_file(tmp_path):
    made = register(tmp_path)
    made = made.with_export(tmp_path / "copy", Purpose.TRAINING, ["P08", "P07"], DAY)
    made = made.without("P07", date(2026, 4, 1))
    made.save()
    assert Register.open(tmp_path) == made
    assert made.copies_of("P08") == (str((tmp_path / "copy").resolve()),)


@pytest.mark.parametrize("word", ["Anna", "anna smith", "a@b.org", "P", "07", "p07", "P123456", ""])
def test_what_may_be_a_name_is_refused(tmp_path, word):
    with pytest.raises(TrueupError, match="is no pseudonym"):
        register(tmp_path).with_consent(word, Consent(scope=BOTH, given=DAY))


@pytest.mark.parametrize(
    ("who", "purpose", "on", "words"),
    [
        ("P07", Purpose.PUBLICATION, DAY, "agreed to recording and training, not to publication"),
        ("P07", Purpose.TRAINING, date(2026, 2, 28), "begins on 2026-03-01"),
        ("P08", Purpose.TRAINING, date(2027, 1, 1), "ended on 2026-12-31"),
        ("P09", Purpose.TRAINING, DAY, "no participant named 'P09'"),
        ("Anna", Purpose.TRAINING, DAY, "is no pseudonym"),
    ],
)
def test_nobody_is_recorded_without_consent_that_covers_it(tmp_path, who, purpose, on, words):
    with pytest.raises(TrueupError, match=words):
        register(tmp_path).admitted([who], purpose, on)
    admitted = register(tmp_path).admitted(["P07", "P08"], Purpose.TRAINING, DAY)
    assert admitted.labels == {"participant": "P07 P08", "purpose": "training"}


def test_a_new_consent_takes_the_place_of_the_old_and_the_withdrawn_do_not_come_back(tmp_path):
    less = Consent(scope=(Purpose.RECORDING,), given=DAY)
    with pytest.raises(TrueupError, match="in the register already"):
        register(tmp_path).with_consent("P07", less)
    changed = register(tmp_path).with_consent("P07", less, again=True)
    assert not changed["P07"].covers(Purpose.TRAINING, DAY)
    assert changed["P07"].age == "18-34"
    gone = changed.without("P07", DAY)
    with pytest.raises(TrueupError, match="withdrew on 2026-03-01"):
        gone.admitted(["P07"], Purpose.RECORDING, DAY)
    with pytest.raises(TrueupError, match="new pseudonym"):
        gone.with_consent("P07", less, again=True)


def test_a_consent_that_makes_no_sense_is_refused():
    with pytest.raises(TrueupError, match="does not cover recording"):
        Consent(scope=(Purpose.TRAINING,), given=DAY)
    with pytest.raises(TrueupError, match="before it begins"):
        Consent(scope=BOTH, given=DAY, until=date(2025, 1, 1))


def test_a_register_that_cannot_be_read_admits_nobody(tmp_path):
    with pytest.raises(TrueupError, match="There is no register"):
        Register.open(tmp_path)
    for text in ("{", "{}", '{"format": "trueup/participants", "version": 1}'):
        (tmp_path / "participants.json").write_text(text)
        with pytest.raises(TrueupError, match="could not be read"):
            Register.open(tmp_path, missing=True)


def test_labels_that_name_people_need_leave():
    check_for_people({"lighting": "dim"}, None)
    leave = Admission(participants=("P07",), purpose=Purpose.TRAINING, on=DAY)
    check_for_people({"participant": "P07"}, leave)
    for labels in ({"person": "Anna"}, {"participant": "P07 P08"}):
        with pytest.raises(TrueupError, match="no consent of theirs"):
            check_for_people(labels, leave)
    assert people_in({"participant": "P07, P08", "person": "P07"}) == ("P07", "P08")


def test_only_what_consent_covers_is_copied_and_the_rest_is_counted(tmp_path):
    data = Dataset.open(write(tmp_path / "data", ["", "P07", "P08", "P07 P08", "P09"]))
    assert covered(data, register(tmp_path), Purpose.TRAINING, DAY).kept == (0, 1, 2, 3)
    public = covered(data, register(tmp_path), Purpose.PUBLICATION, DAY)
    assert public.kept == (0, 2)
    assert public.participants == ("P08",)
    assert "Left out 3 of 5 episodes" in public.sentence
    assert "1 as P09 is not in the register" in public.sentence


def test_convert_asks_what_a_copy_of_people_is_for(capsys, tmp_path):
    data, out = write(tmp_path / "data", ["", "P07", "P08"]), tmp_path / "public"
    register(tmp_path / "people").save()
    words = ["episodes", "convert", str(data), "--out", str(out)]
    assert main(words) == 2
    assert "2 of 3 episodes" in capsys.readouterr().err
    assert not out.exists()
    words += ["--purpose", "publication", "--participants", str(tmp_path / "people")]
    assert main(words) == 0
    assert "Left out 1 of 3 episodes" in capsys.readouterr().err
    copied = Dataset.open(out)
    assert len(copied) == 2
    same(copied[1], with_people(2, "P08"))
    assert Register.open(tmp_path / "people").copies_of("P08") == (str(out.resolve()),)
    assert Register.open(tmp_path / "people").copies_of("P07") == ()


def test_the_command_line_enters_and_lists(capsys, tmp_path):
    folder = ["--participants", str(tmp_path)]
    add = ["participants", "add", "P01", "--scope", "recording", "training", *folder]
    assert main([*add, "--given", "2026-01-31", "--age", "55+"]) == 0
    assert main([*add[:2], "Anna Smith", *add[3:]]) == 2
    assert main([*add[:2], "P02", *add[3:], "--given", "31.1.2026"]) == 2
    assert "Give a day as 2026-01-31" in capsys.readouterr().err
    assert main(["participants", "--json", *folder]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["pseudonym"] == "P01"
    assert row["consents"][0]["given"] == "2026-01-31"
