"""Recordings with people: nothing starts without leave, and every episode says who. Sim-to-sim."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.record.arm import world
from tests.record.test_recorder import HOLDS, robot  # noqa: F401  (a fixture)
from trueup.cli import main
from trueup.episodes import Dataset
from trueup.episodes.consent import Consent, Purpose, Register
from trueup.errors import TrueupError
from trueup.record import record

RECORD = ["record", "--robot", "rehearsal:benign@so101/lift", "--motion", "chirp"]


def register(folder: Path) -> Register:
    agreed = Consent(scope=(Purpose.RECORDING, Purpose.TRAINING), given=date(2026, 1, 1))
    return Register(folder=folder).with_consent("P07", agreed)


def test_every_episode_says_who_is_in_it_and_what_for(tmp_path, robot):  # noqa: F811
    leave = register(tmp_path).admitted(["P07"], Purpose.TRAINING, date(2026, 2, 1))
    found = record(robot, HOLDS, world=world(), people=leave, labels={"lighting": "dim"})
    assert len(found.episodes) == robot.n
    for episode in found.episodes:
        assert episode.labels["participant"] == "P07"
        assert episode.labels["purpose"] == "training"
        assert episode.labels["lighting"] == "dim"


def test_a_label_with_a_name_is_refused_before_anything_moves(robot):  # noqa: F811
    before = robot.observe()["joint_position"].copy()
    for name in ("person", "participant"):
        with pytest.raises(TrueupError, match="no consent of theirs"):
            record(robot, HOLDS, world=world(), labels={name: "P07"})
    assert (robot.observe()["joint_position"] == before).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--participant", "P07"], "--participant is given without --purpose"),
        (["--purpose", "training"], "--purpose is given without --participant"),
        (["--participant", "P07", "--purpose", "publication"], "not to publication"),
        (["--participant", "P08", "--purpose", "training"], "no participant named 'P08'"),
        (["--label", "person=ana"], "no consent of theirs"),
    ],
)
def test_the_command_line_refuses_and_writes_nothing(capsys, tmp_path, options, words):
    register(tmp_path / "people").save()
    data = tmp_path / "data"
    told = ["--out", str(data), "--participants", str(tmp_path / "people"), *options]
    assert main([*RECORD, *told]) == 2
    assert words in capsys.readouterr().err
    assert not data.exists()


def test_the_command_line_records_who_agreed(capsys, tmp_path):
    register(tmp_path / "people").save()
    told = ["--out", str(tmp_path / "data"), "--participants", str(tmp_path / "people")]
    told += ["--participant", "P07", "--purpose", "training", "--duration", "1"]
    assert main([*RECORD, *told]) == 0
    (episode,) = Dataset.open(tmp_path / "data")
    assert episode.labels["participant"] == "P07"
