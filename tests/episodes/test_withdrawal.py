"""Withdrawal: everything of a person goes, nothing else does, whatever interrupts it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.episodes.older import write_v21
from tests.episodes.recordings import greys, same, shown
from tests.episodes.test_consent import register, with_people, write
from trueup.cli import main
from trueup.episodes import Dataset, Writer, problems
from trueup.episodes.consent import Receipt, Register, verified, withdrawn
from trueup.episodes.consent.reading import checks, fingerprint
from trueup.errors import TrueupError

ROOT = Path(__file__).parents[2]
PEOPLE = ["", "P07", "P08", "P07 P08", "P70", "P07"]
STAY = [0, 2, 4]
DAY = date(2026, 5, 1)


def withdraw(folder: Path, *data: Path, who: str = "P07") -> tuple[Receipt, Path]:
    register(folder).save()
    return withdrawn(Register.open(folder), who, data, on=DAY)


def check_gone(data: Path, cameras: int) -> None:
    """Only those who stay are there, to the last bit, with their pictures."""
    dataset = Dataset.open(data)
    assert len(dataset) == len(STAY)
    for episode, index in zip(dataset, STAY, strict=True):
        same(episode, with_people(index, PEOPLE[index], cameras=cameras))
        for camera in range(cameras):
            wanted = greys(index, camera, 24)
            np.testing.assert_allclose(shown(episode.videos[f"camera{camera}"]), wanted, atol=3)
    assert list(problems(data)) == []


def texts(folder: Path) -> str:
    """Every word of every file, found without trueup."""
    found = [path.read_text() for path in folder.rglob("*.json")]
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path)
        found += [
            str(table[n].to_pylist()) for n in table.column_names if "string" in str(table[n].type)
        ]
    return "\n".join(found)


def test_a_person_goes_from_rows_videos_and_statistics(tmp_path):
    data = write(tmp_path / "data", PEOPLE, cameras=1)
    (data / "README.md").write_text("Recorded on the bench.")
    assert list(data.rglob("*.mp4"))
    low = json.loads((data / "meta/stats.json").read_text())["action"]["min"]
    receipt, path = withdraw(tmp_path / "people", data)
    check_gone(data, cameras=1)
    words = texts(data)
    assert "P08" in words
    assert "P70" in words
    assert "P07" not in words
    assert (data / "README.md").read_text() == "Recorded on the bench."
    assert json.loads((data / "meta/stats.json").read_text())["action"]["min"] != low
    assert [gone.episode for gone in receipt.removals[0].gone] == [1, 3, 5]
    assert all(check.holds for check in receipt.removals[0].checks)
    assert Receipt.load(path) == receipt
    assert verified(receipt) == ()
    assert not list(tmp_path.glob(".data*"))
    assert Register.open(tmp_path / "people")["P07"].withdrawn == DAY


def test_only_the_datasets_that_are_given_are_touched_and_copies_are_named(tmp_path):
    data, other = (write(tmp_path / n, ["P07", ""], frames=20) for n in ("data", "other"))
    known = register(tmp_path / "people")
    known.with_export(other, known["P07"].consent.scope[0], ["P07"], DAY).save()
    receipt, _ = withdrawn(Register.open(tmp_path / "people"), "P07", [data], on=DAY)
    assert receipt.copies == (str(other.resolve()),)
    assert receipt.removed == 1
    assert len(Dataset.open(other)) == 2


def test_the_last_person_leaves_an_empty_dataset_that_can_be_added_to(tmp_path):
    data = write(tmp_path / "data", ["P07", "P07"], frames=20)
    withdraw(tmp_path / "people", data)
    assert len(Dataset.open(data)) == 0
    with Writer(data) as writer:
        writer.add(with_people(1, "", frames=20))
    assert len(Dataset.open(data)) == 1


def test_twice_is_once_and_nobody_there_changes_nothing(tmp_path):
    data, older = write(tmp_path / "data", ["P08", ""], frames=20), tmp_path / "older"
    write_v21(older)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for _ in range(2):
        receipt, _ = withdraw(tmp_path / "people", data, older)
        assert receipt.removed == 0
    assert {path: path.read_bytes() for path in before} == before


def test_a_dataset_that_is_being_recorded_is_left_alone(tmp_path):
    data = write(tmp_path / "data", ["P07", ""], frames=20)
    with Writer(data), pytest.raises(TrueupError, match="Another process is writing"):
        withdraw(tmp_path / "people", data)
    assert len(Dataset.open(data)) == 2
    with pytest.raises(TrueupError, match="There is no dataset at"):
        withdraw(tmp_path / "people", tmp_path / "nowhere")


def test_a_name_in_a_file_of_ones_own_stops_it_and_nothing_is_lost(tmp_path):
    data = write(tmp_path / "data", ["P07", ""], frames=20)
    (data / "notes.txt").write_text("P07 was tired that day.")
    with pytest.raises(TrueupError, match="words that name the person should be 0, and are 1"):
        withdraw(tmp_path / "people", data)
    assert len(Dataset.open(data)) == 2
    assert (data / "notes.txt").exists()


def test_what_is_left_behind_is_found(tmp_path):
    """Each check can fail: a dataset that still has what should be gone."""
    data = write(tmp_path / "data", ["", "P07"], frames=20, cameras=1, pictures=8)
    kept = fingerprint(Dataset.open(data)[0])
    found = {c.what: c for c in checks(data, [kept], 20, 20, "P07")}
    failed = {what for what, check in found.items() if not check.holds}
    counted = {"episodes", "rows in data/", "rows in meta/episodes/", "episodes in trueup/"}
    counted |= {"pictures in videos/", "rows in meta/stats.json", "words that name the person"}
    assert failed == counted
    other = checks(data, [kept, kept], 40, 40, "P07")
    assert "episodes that are the same to the last bit" in {c.what for c in other if not c.holds}


def test_a_receipt_that_was_changed_is_refused_and_a_person_who_is_back_is_found(tmp_path, capsys):
    data = write(tmp_path / "data", ["P07", ""], frames=20)
    receipt, path = withdraw(tmp_path / "people", data)
    assert main(["participants", "verify", str(path)]) == 0
    path.write_text(path.read_text().replace('"before": 2', '"before": 1'))
    with pytest.raises(TrueupError, match="was changed after it was written"):
        Receipt.load(path)
    receipt.save(path)
    with Writer(data) as writer:
        writer.add(with_people(0, "P07", frames=20))
    assert main(["participants", "verify", str(path)]) == 2
    assert "Episode 1" in capsys.readouterr().err


def test_the_command_line_withdraws(tmp_path, capsys):
    data = write(tmp_path / "data", ["P07", ""], frames=20)
    register(tmp_path / "people").save()
    words = ["participants", "withdraw", "P07", "--data", str(data)]
    assert main([*words, "--participants", str(tmp_path / "people"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["removals"][0]["gone"][0]["episode"] == 0
    assert Receipt.load(told["receipt"]).removed == 1


_KILLED = """
import os, signal, sys, datetime
from pathlib import Path
data, people, stop = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
from trueup.episodes.consent import Register, withdrawn
moves = 0
def hook(event, arguments):
    global moves
    if event not in ("os.rename", "shutil.rmtree"):
        return
    paths = [Path(a) for a in arguments[:2] if isinstance(a, (str, os.PathLike))]
    if any(path.parent == data.parent for path in paths):  # the swap, and what it clears away
        moves += 1
        if moves == stop:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
withdrawn(Register.open(people), "P07", [data], on=datetime.date(2026, 5, 1))
"""


@pytest.mark.parametrize("stop", range(1, 6))
def test_killed_at_any_move_it_is_whole_and_the_next_call_finishes(tmp_path, stop):
    data = write(tmp_path / "place" / "data", PEOPLE, frames=20).resolve()
    people = tmp_path / "people"
    register(people).save()
    program = [sys.executable, "-c", _KILLED, str(data), str(people), str(stop)]
    killed = subprocess.run(program, env={**os.environ, "OMP_NUM_THREADS": "1"}, cwd=ROOT)
    assert killed.returncode == -9
    there = [p for p in (data, data.with_name(".data.old")) if p.exists()]
    assert there
    assert len(Dataset.open(there[0])) in (len(STAY), len(PEOPLE))
    receipt, _ = withdrawn(Register.open(people), "P07", [data], on=DAY)
    assert [len(e.labels) for e in Dataset.open(data)] == [0, 1, 1]
    assert not list(data.parent.glob(".data*"))
    assert all(check.holds for check in receipt.removals[0].checks)
    shutil.rmtree(data)
    assert verified(receipt) == ()
