"""Other people's recordings become episodes by a mapping alone, or are refused by line."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from trueup.episodes import Dataset, import_recordings, load_mapping
from trueup.errors import TrueupError

TWO_FILES = """
format = "trueup/mapping"
version = 1
period_s = 0.02
task = "play {name}"
labels = { motion = "{name}" }
origin = { robot = "arm", real = true }
names.arm = { file = "joints.txt", rename = { B = "elbow" }, order = ["shoulder", "elbow"] }

[[files]]
path = "told.csv.gz"
time = { column = "t", unit = "us" }
where = { kind = "GO" }
signals = [{ name = "command", unit = "rad", column = "goal", names = "arm", scale = 0.5 }]

[[files]]
path = "seen.csv"
time = { column = "clock", unit = "ms" }

[[files.signals]]
name = "joint_position"
unit = "rad"
columns = ["pa", "pb"]
names = ["shoulder", "elbow"]
scale = { elbow = 2.0 }
offset = [0.0, 1.0]

[[files.signals]]
name = "current"
unit = "A"
column = "amps"
"""


def write_source(folder: Path) -> Path:
    """Two recordings; in the second one the joints are listed the other way round."""
    for number, (name, order) in enumerate({"wave": "shoulder\nB", "nod": "B\nshoulder"}.items()):
        here = folder / name
        here.mkdir(parents=True)
        (here / "joints.txt").write_text(order)
        with gzip.open(here / "told.csv.gz", "wt") as file:
            rows = csv.writer(file)
            rows.writerow(["kind", "t", "goal"])
            for k in range(5):
                rows.writerow(["GO", 20_000.25 * k, [k + number, 10 * k]])
                rows.writerow(["NOTE", "", "whatever"])
        with (here / "seen.csv").open("w") as file:
            file.write("amps,clock,pb,pa\n")
            file.writelines(f"{0.1 * k},{10 * k},{2 * k},{k}\n" for k in range(9))
    return folder


@pytest.fixture
def source(tmp_path) -> Path:
    return write_source(tmp_path / "logs")


def mapping_file(tmp_path: Path, text: str = TWO_FILES, name: str = "map.toml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def imported(tmp_path: Path, source: Path, text: str = TWO_FILES) -> Dataset:
    import_recordings(source, load_mapping(mapping_file(tmp_path, text)), tmp_path / "set")
    return Dataset.open(tmp_path / "set")


def test_each_file_keeps_its_clock_and_each_column_finds_its_name(tmp_path, source):
    dataset = imported(tmp_path, source)
    assert [dataset.task(i) for i in range(2)] == ["play nod", "play wave"]
    nod, wave = dataset
    k, j = np.arange(5), np.arange(9)
    np.testing.assert_array_equal(wave["command"].time_s, 20_000.25 * k * 1e-6)
    np.testing.assert_array_equal(wave["joint_position"].time_s, 10 * j * 1e-3)
    np.testing.assert_array_equal(wave["command"].values, 0.5 * np.stack([k, 10 * k], 1))
    np.testing.assert_array_equal(nod["command"].values, 0.5 * np.stack([10 * k, k + 1], 1))
    assert nod["command"].names == wave["command"].names == ("shoulder", "elbow")
    np.testing.assert_array_equal(wave["joint_position"].values, np.stack([j, 4 * j + 1], 1))
    np.testing.assert_array_equal(wave["current"].values[:, 0], 0.1 * j)
    assert wave["current"].names == ("amps",) and wave["current"].unit == "A"
    assert wave.labels == {"motion": "wave"}
    assert wave.origin == {"robot": "arm", "real": True, "recording": "wave"}


def test_arrays_of_numpy_one_episode_in_each_file(tmp_path):
    source = tmp_path / "logs"
    source.mkdir()
    rng = np.random.default_rng(0)
    arrays = {}
    for name in ("a", "b"):
        arrays[name] = rng.normal(size=(30, 2)).astype(np.float32)
        np.savez(source / f"{name}.npz", t=0.01 * np.arange(30), q=arrays[name])
    mapping = {
        "format": "trueup/mapping",
        "version": 1,
        "each": "file",
        "period_s": 0.01,
        "files": [
            {
                "path": "*.npz",
                "time": {"column": "t"},
                "signals": [
                    {"name": "joint_position", "unit": "rad", "column": "q", "float32": True}
                ],
            }
        ],
    }
    file = mapping_file(tmp_path, json.dumps(mapping), "map.json")
    import_recordings(source, load_mapping(file), tmp_path / "set")
    for name, episode in zip("ab", Dataset.open(tmp_path / "set"), strict=True):
        assert episode.task == name
        np.testing.assert_array_equal(episode["joint_position"].values, arrays[name])
        assert episode["joint_position"].names == ("joint_position_0", "joint_position_1")


def test_more_can_be_added_later_if_that_is_asked_for(tmp_path, source):
    imported(tmp_path, source)
    mapping = load_mapping(tmp_path / "map.toml")
    with pytest.raises(TrueupError, match="nothing is written over"):
        import_recordings(source, mapping, tmp_path / "set")
    summary = import_recordings(source / "wave", mapping, tmp_path / "set", append=True)
    assert summary.episodes == 3


BROKEN_FILES = [
    ("told.csv.gz", lambda t: t.replace("[4, 40]", "[4, x]"), ["told.csv.gz line 10", "'goal'"]),
    ("told.csv.gz", lambda t: t.replace("[4, 40]", "[4]"), ["line 10", "1 numbers, 2 in the rows"]),
    ("told.csv.gz", lambda t: t.replace("60000.75", "0"), ["line 8", "'t'", "time does not rise"]),
    ("seen.csv", lambda t: t.replace("clock", "time"), ["no column 'clock'", "amps, time, pb, pa"]),
    ("seen.csv", lambda t: t + "0.9,90\n", ["seen.csv line 11", "2 cells, its header 4"]),
    ("seen.csv", lambda t: t.replace("20,4,2", "20,nan,2"), ["line 4", "'pb'", 'missing = "keep"']),
    ("seen.csv", lambda t: t.replace("20,4,2", "20,,2"), ["line 4", "'pb'", "no finite number"]),
    ("seen.csv", lambda t: "", ["no column 'clock'", "It has: nothing"]),
    ("joints.txt", lambda t: t + "\nwrist", ["2 numbers for 'command', but 3 names"]),
    ("joints.txt", lambda t: t.replace("shoulder", "hip"), ["wants shoulder, elbow", "has hip"]),
]


@pytest.mark.parametrize(("name", "change", "words"), BROKEN_FILES)
def test_a_broken_recording_is_refused_by_line_and_column(tmp_path, source, name, change, words):
    path = source / "wave" / name
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        text = file.read()
    with opened(path, "wt") as file:
        file.write(change(text))
    with pytest.raises(TrueupError) as refused:
        imported(tmp_path, source)
    for word in words:
        assert word in str(refused.value)
    assert not (tmp_path / "set").exists()


def test_a_file_that_is_cut_off_is_told(tmp_path, source):
    path = source / "wave/told.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TrueupError, match="damaged or cut off"):
        imported(tmp_path, source)


def test_lost_readings_can_be_kept_as_lost(tmp_path, source):
    path = source / "wave/seen.csv"
    path.write_text(path.read_text().replace("20,4,2", "20,,2"))
    kept = 'path = "seen.csv"\nmissing = "keep"'
    dataset = imported(tmp_path, source, TWO_FILES.replace('path = "seen.csv"', kept))
    np.testing.assert_array_equal(dataset[1]["joint_position"].values[2], [2, np.nan])


BROKEN_MAPPINGS = [
    (lambda t: t.replace("version = 1", "version = 2"), "version: input should be 1"),
    (lambda t: t.replace('column = "amps"', ""), "files[1].signals[1]: signal 'current' needs"),
    (lambda t: t.replace('"us"', '"fortnights"'), "files[0].time.unit: input should be 's', 'ms'"),
    (lambda t: t.replace("period_s = 0.02", "period_s = 0"), "period_s: input should be greater"),
    (lambda t: t.replace("scale =", "sclae ="), "sclae: extra inputs are not permitted"),
    (lambda t: t.replace('names = "arm"', 'names = "leg"'), "refers to names 'leg'"),
    (lambda t: t.replace('"current"', '"command"'), "signal 'command' is mapped twice"),
    (lambda t: t.replace("[[files]]", "[[files]", 1), "line 10, column"),
    (lambda t: t.replace("{ elbow = 2.0 }", "{ knee = 2.0 }"), "scale of 'joint_position' names"),
    (lambda t: t.replace("[0.0, 1.0]", "[0.0]"), "has 1 numbers for 2 columns"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN_MAPPINGS)
def test_a_mapping_that_makes_no_sense_is_refused(tmp_path, source, change, words):
    with pytest.raises(TrueupError) as refused:
        imported(tmp_path, source, change(TWO_FILES))
    assert words in str(refused.value)
    assert not (tmp_path / "set").exists()


def test_a_source_without_recordings_is_told(tmp_path):
    mapping = load_mapping("so101-sage")
    with pytest.raises(TrueupError, match="nothing at"):
        import_recordings(tmp_path / "nowhere", mapping, tmp_path / "set")
    (tmp_path / "logs").mkdir()
    with pytest.raises(TrueupError, match=r"no folder with a file 'control\.csv\.gz'"):
        import_recordings(tmp_path / "logs", mapping, tmp_path / "set")
    with pytest.raises(TrueupError, match="Did you mean 'so101-sage'"):
        load_mapping("so101_sage")


def test_logs_of_a_real_arm_come_in_by_the_mapping_that_is_shipped(tmp_path, real_data):
    motion = real_data / "so101-real-motions" / "single_joint_elbow"
    import_recordings(motion, load_mapping("so101-sage"), tmp_path / "set")
    (episode,) = Dataset.open(tmp_path / "set")
    with gzip.open(motion / "state_motor.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    lists = {
        name: np.array([json.loads(r[name]) for r in rows]) for name in ("positions", "torques")
    }
    assert len(episode["joint_position"]) == len(rows) == 3040
    times = np.array([float(row["timestamp"]) for row in rows]) * 1e-6
    np.testing.assert_array_equal(episode["joint_position"].time_s, times)
    np.testing.assert_array_equal(
        episode["joint_position"].values[:, :5], lists["positions"][:, :5]
    )
    jaw = episode["joint_position"].values[:, 5]
    np.testing.assert_allclose(jaw, -0.174533 + 1.919862 * lists["positions"][:, 5], atol=1e-6)
    counts = np.round(lists["torques"] / 0.022814)  # what the servo's register said
    np.testing.assert_allclose(episode["current"].values, counts * 0.0065, atol=1e-7)
    assert episode["command"].names[0] == "shoulder_pan"
    assert episode.labels == {"motion": "single_joint_elbow"} and episode.origin["real"] is True
    moved = np.ptp(episode["command"].values, axis=0)
    assert episode["command"].names[int(np.argmax(moved))] == "elbow_flex"
