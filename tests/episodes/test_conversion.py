"""Older datasets, other units, fewer files: the same episodes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.episodes.older import FPS, NAMES, degrees, write_v21
from tests.episodes.recordings import JOINTS, channel, greys, recording, same, shown
from trueup.episodes import Dataset, Episode, JointUnits, Writer, convert
from trueup.episodes.storage.features import UNSTATED
from trueup.episodes.units import SO101, converted, spans_from
from trueup.episodes.validation import problems
from trueup.errors import TrueupError
from trueup.worlds.so101 import so101


def test_the_older_layout_is_read(tmp_path):
    write_v21(tmp_path / "old")
    dataset = Dataset.open(tmp_path / "old")
    assert dataset.info.version == "v2.1" and len(dataset) == 3
    assert dataset.info.tasks == ("pick the cube", "place the cube")
    for i, (episode, n) in enumerate(zip(dataset, (6, 9, 4), strict=True)):
        np.testing.assert_array_equal(episode["command"].values, degrees(i, n))
        np.testing.assert_array_equal(episode["joint_position"].values, degrees(100 + i, n))
        assert episode["command"].names == tuple(NAMES)
        assert episode["command"].unit == UNSTATED
        assert episode.task == ("pick the cube", "place the cube")[i % 2]
        assert episode.period_s == 1 / FPS
        np.testing.assert_allclose(shown(episode.videos["front"]), greys(i, 0, n), atol=3)
    assert list(problems(tmp_path / "old")) == []


def test_the_older_layout_becomes_the_newer_one_without_encoding_again(tmp_path):
    write_v21(tmp_path / "old")
    summary = convert(tmp_path / "old", tmp_path / "new")
    assert (summary.version, summary.episodes, summary.robot_type) == ("v3.0", 3, "so101")
    old, new = Dataset.open(tmp_path / "old"), Dataset.open(tmp_path / "new")
    for before, after in zip(old, new, strict=True):
        same(before, after)
        was, now = (np.stack(list(e.videos["front"].pictures())) for e in (before, after))
        np.testing.assert_array_equal(was, now)  # a second encoding would show
    assert len(list((tmp_path / "new").glob("videos/*/*/*.mp4"))) == 1
    assert list(problems(tmp_path / "new")) == []


def test_converting_ours_changes_nothing_but_the_files(tmp_path):
    for i in range(4):
        with Writer(tmp_path / "old") as writer:
            writer.add(recording(i, cameras=2))
    convert(tmp_path / "old", tmp_path / "new")
    for before, after in zip(Dataset(tmp_path / "old"), Dataset(tmp_path / "new"), strict=True):
        same(before, after)
        for name in before.videos:
            np.testing.assert_array_equal(shown(before.videos[name]), shown(after.videos[name]))


def test_nothing_is_written_over(tmp_path):
    write_v21(tmp_path / "old")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/notes.txt").write_text("mine")
    with pytest.raises(TrueupError, match="there already"):
        convert(tmp_path / "old", tmp_path / "new")


def test_an_older_dataset_is_not_added_to(tmp_path):
    write_v21(tmp_path / "old")
    with pytest.raises(TrueupError, match="trueup episodes convert"):
        Writer(tmp_path / "old")


def joints(values: np.ndarray, unit: str = "rad", names=JOINTS) -> Episode:
    times = 0.02 * np.arange(len(values))
    both = channel(values, times, unit, names)
    return Episode(signals={"command": both, "joint_position": both}, period_s=0.02)


@pytest.mark.parametrize("units", [JointUnits.DEGREES, JointUnits.NORMALIZED])
def test_there_and_back_is_the_same_pose(units):
    rad = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 6))
    there = converted(joints(rad), units)
    assert there["command"].unit == f"lerobot-{units}"
    assert there["command"].names == tuple(NAMES)
    assert there["command"].values.dtype == np.float32
    back = converted(there, JointUnits.RAD)
    assert back["command"].names == JOINTS
    np.testing.assert_allclose(back["command"].values, rad, atol=1e-6)


def test_the_ends_of_lerobots_scales_are_the_ends_of_the_models_joints():
    """Poses that LeRobot calls 0, 100 and -100, by hand."""
    model = so101(visual=False).compile()
    low, high = np.array([model.joint(joint).range for joint in JOINTS]).T
    ends = np.array([[-100.0] * 5 + [0.0], [100.0] * 6, [0.0] * 5 + [50.0]])
    rad = converted(joints(ends, UNSTATED), JointUnits.RAD, read_as=JointUnits.NORMALIZED)
    values = rad["command"].values
    free = [0, 1, 2, 3, 5]  # LeRobot lets the wrist roll turn all the way
    np.testing.assert_allclose(values[0, free], low[free], atol=1e-4)
    np.testing.assert_allclose(values[1, free], high[free], atol=1e-4)
    np.testing.assert_allclose(values[2], (low + high) / 2, atol=1e-4)
    right = converted(
        joints(np.array([[90.0, 0, 0, 0, 0, 100]]), UNSTATED),
        JointUnits.RAD,
        read_as=JointUnits.DEGREES,
    )
    np.testing.assert_allclose(right["command"].values[0, 0], math.pi / 2, rtol=3e-4)
    np.testing.assert_allclose(right["command"].values[0, 5], high[5], atol=1e-4)


def test_an_arms_own_calibration_says_how_far_100_is(tmp_path):
    file = tmp_path / "arm.json"
    motor = dict(drive_mode=0, homing_offset=0)
    ticks = {
        j: motor | {"id": i, "range_min": 1000, "range_max": 3000} for i, j in enumerate(JOINTS)
    }
    file.write_text(json.dumps(ticks))
    spans = spans_from(file)
    values = converted(
        joints(np.full((1, 6), 100.0), UNSTATED),
        JointUnits.RAD,
        read_as=JointUnits.NORMALIZED,
        spans=spans,
    )["command"].values[0]
    np.testing.assert_allclose(values[0], 1000 * 2 * math.pi / 4096)
    np.testing.assert_allclose(values[5], SO101["gripper"].middle + SO101["gripper"].half)
    file.write_text("{}")
    with pytest.raises(TrueupError, match="not LeRobot's calibration"):
        spans_from(file)


def test_units_that_nobody_stated_are_asked_for(tmp_path):
    write_v21(tmp_path / "old")
    with pytest.raises(TrueupError, match=r"Episode 0 of .*'unstated'.*Say what it is read as"):
        convert(tmp_path / "old", tmp_path / "new", units=JointUnits.RAD)
    assert not (tmp_path / "new").exists()
    convert(tmp_path / "old", tmp_path / "new", units=JointUnits.RAD, read_as=JointUnits.DEGREES)
    episode = Dataset.open(tmp_path / "new")[1]
    assert episode["command"].unit == "rad" and episode["command"].names == JOINTS
    arm = np.radians(degrees(1, 9)[:, :4].astype(float)) * 4095 / 4096
    np.testing.assert_allclose(episode["command"].values[:, :4], arm, rtol=1e-12)


def test_units_that_are_stated_are_not_read_as_others():
    with pytest.raises(TrueupError, match="stored in rad, but was to be read as degrees"):
        converted(joints(np.zeros((1, 6))), JointUnits.RAD, read_as=JointUnits.DEGREES)
    with pytest.raises(TrueupError, match="range of the joint 'knee' is not known"):
        converted(joints(np.zeros((1, 1)), names=("knee",)), JointUnits.DEGREES)


def test_signals_become_one_that_lerobot_reads(tmp_path):
    with Writer(tmp_path / "set") as writer:
        for i in range(2):
            made = recording(i, frames=10)
            place = channel(
                made["command"].values[:, :3], made["command"].time_s, "m", ("x", "y", "z")
            )
            writer.add(replace(made, signals={**made.signals, "cube": place}, videos={}))
    before = Dataset.open(tmp_path / "set")[1]
    convert(tmp_path / "set", tmp_path / "new", environment=["cube"])
    after = Dataset.open(tmp_path / "new")
    joined = after[1]["environment_state"]
    assert joined.names == ("cube.x", "cube.y", "cube.z") and joined.unit == "m, m, m"
    np.testing.assert_allclose(joined.values, before["cube"].values, rtol=1e-6)
    assert "cube" not in after[1].signals
    keys = {signal.key for signal in after.info.features.signals}
    assert "observation.environment_state" in keys
    with pytest.raises(TrueupError, match="no signal 'ball' to be made part"):
        convert(tmp_path / "set", tmp_path / "other", environment=["ball"])
    assert not (tmp_path / "other").exists()
