"""Planted damage: each kind is named, and a sound dataset raises no alarm."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.episodes.recordings import recording
from trueup.episodes import Dataset, Writer
from trueup.episodes.storage import pictures
from trueup.episodes.validation import problems
from trueup.errors import TrueupError

DATA = "data/chunk-000/file-000.parquet"
ROWS = "meta/episodes/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.camera0/chunk-000/file-000.mp4"


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "set"
    with Writer(folder) as writer:
        for i in range(3):
            writer.add(recording(i, frames=20, cameras=1, pictures=12))
    return folder


@pytest.fixture
def folder(sound, tmp_path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "set"))


def told(folder: Path) -> list[str]:
    return [problem.what for problem in problems(folder)]


def edit(path: Path, change) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def replaced(table: pa.Table, name: str, values) -> pa.Table:
    i = table.column_names.index(name)
    return table.set_column(i, table.schema.field(i), pa.array(values, table.schema.field(i).type))


def edit_json(path: Path, change) -> None:
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))


def test_a_sound_dataset_raises_no_alarm(folder):
    assert told(folder) == []


def test_columns_in_another_order_are_found_by_name(folder):
    before = Dataset.open(folder)[1]
    edit(folder / DATA, lambda t: t.select(t.column_names[::-1]))
    after = Dataset.open(folder)[1]
    np.testing.assert_array_equal(before["command"].values, after["command"].values)
    assert told(folder) == []


def test_a_missing_column_is_named_with_what_is_there(folder):
    edit(folder / DATA, lambda t: t.drop_columns(["observation.state"]))
    sentences = told(folder)
    assert len(sentences) == 3
    assert (
        "Episode 0: data/chunk-000/file-000.parquet has no column 'observation.state'"
        in (sentences[0])
    )
    with pytest.raises(TrueupError, match=r"no column 'observation.state'.*it has action, "):
        Dataset.open(folder)[0]


def test_joints_in_another_order_than_the_commands_are_told(folder):
    def swap(info):
        names = info["features"]["action"]["names"]
        names[0], names[1] = names[1], names[0]

    edit_json(folder / "meta/info.json", swap)
    assert told(folder) == [
        "meta/info.json: action has the columns shoulder_lift, shoulder_pan, elbow_flex, "
        "wrist_flex, wrist_roll, gripper, but observation.state has them as shoulder_pan, "
        "shoulder_lift, elbow_flex, wrist_flex, wrist_roll, gripper."
    ]


def test_mixed_rates_are_told(folder):
    def slower(table):
        times = table["timestamp"].to_numpy().copy()
        second = table["episode_index"].to_numpy() == 1
        times[second] *= 2
        return replaced(table, "timestamp", times)

    edit(folder / DATA, slower)
    assert told(folder) == [
        "Episode 1: its frames follow each other at 25 Hz, or unevenly; the dataset is one of "
        "50 Hz."
    ]


def test_numbers_that_are_not_finite_are_told_with_their_place(folder):
    def broken(table):
        values = np.stack(table["action"].to_numpy())
        values[25, 3] = np.nan
        values[27, 1] = np.inf
        return replaced(table, "action", list(values))

    edit(folder / DATA, broken)
    assert told(folder) == [
        "Episode 1: action has 2 numbers that are not finite, the first in frame 5, column "
        "'wrist_flex'."
    ]


def test_lost_frames_are_counted(folder):
    edit(folder / DATA, lambda t: t.slice(0, 55))
    assert told(folder)[0] == f"Episode 2: {DATA} has 15 frames of it, but its row says 20."
    with pytest.raises(TrueupError, match="has 15 frames, but its row in meta/episodes says 20"):
        Dataset.open(folder)[2]


def test_a_video_shorter_than_its_frames_is_told(folder):
    short = folder / "short.mp4"
    assert pictures.copy(folder / VIDEO, 0.0, 50, short)
    short.replace(folder / VIDEO)
    (sentence,) = told(folder)
    assert sentence.startswith("Episode 2:") and sentence.endswith(
        "ends after 50 pictures, but its 20 frames need 60."
    )
    with pytest.raises(TrueupError, match=r"ends before picture \d+ of 12"):
        list(Dataset.open(folder)[2].videos["camera0"].pictures())


@pytest.mark.parametrize("name", [DATA, VIDEO, ROWS, "meta/tasks.parquet", "meta/info.json"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_truncated_file_is_one_sentence(folder, name, share):
    path = folder / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    try:
        sentences = told(folder)
    except TrueupError as error:
        sentences = [str(error)]
    assert sentences
    assert any(name.split("/")[-1] in sentence for sentence in sentences)
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in sentences)


@pytest.mark.parametrize("name", [DATA, VIDEO])
def test_a_missing_file_is_told(folder, name):
    (folder / name).unlink()
    sentences = told(folder)
    assert any(name in sentence and "missing" in sentence for sentence in sentences)


def test_statistics_that_do_not_fit_are_told(folder):
    def wrong(stats):
        stats["action"]["max"][2] = 90.0  # as if it had been degrees

    edit_json(folder / "meta/stats.json", wrong)
    (sentence,) = told(folder)
    assert sentence.startswith("meta/stats.json says that action goes from")
    (folder / "meta/stats.json").unlink()
    assert told(folder) == ["meta/stats.json is missing: LeRobot cannot normalize without it."]


def test_totals_that_lag_and_leftovers_are_only_notes(folder):
    edit_json(folder / "meta/info.json", lambda info: info.update(total_episodes=2))
    (folder / "data/chunk-000/file-001.parquet").write_bytes((folder / DATA).read_bytes())
    (folder / "data/chunk-000/.file-002.parquet.partial").write_bytes(b"PAR1")
    found = list(problems(folder))
    assert len(found) == 3 and all(problem.harmless for problem in found)
    assert len(Dataset.open(folder)) == 3
    Writer(folder).close()
    assert told(folder) == []
    assert json.loads((folder / "meta/info.json").read_text())["total_episodes"] == 3


def test_a_format_that_we_do_not_know_is_told(folder):
    edit_json(folder / "meta/info.json", lambda info: info.update(codebase_version="v4.0"))
    with pytest.raises(TrueupError, match=r"its format is v4\.0; trueup reads"):
        Dataset.open(folder)
    edit_json(folder / "meta/info.json", lambda info: info.pop("fps"))
    with pytest.raises(TrueupError, match="fps: field required"):
        Dataset.open(folder)
