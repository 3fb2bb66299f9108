"""LeRobot's own library opens what we write, and we open what it writes."""

# pyright: reportMissingImports=false

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.episodes.crashes import command
from tests.episodes.older import degrees, write_v21
from tests.episodes.recordings import channel, greys, recording, same, shown
from trueup.episodes import Dataset, Episode, JointUnits, Writer, convert
from trueup.episodes.storage.features import UNSTATED
from trueup.episodes.storage.info import Info
from trueup.episodes.validation import problems

FRAMES, PICTURES = 40, 24


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Nothing may come out of a cache of an earlier test."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def opened(folder: Path, **options: Any) -> Any:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    # PyAV decodes wherever it is installed; torchcodec needs FFmpeg from the system
    return LeRobotDataset("someone/set", root=folder, video_backend="pyav", **options)


def write(folder: Path, count: int, **options: Any) -> list[Episode]:
    episodes = [recording(i, frames=FRAMES, pictures=PICTURES, **options) for i in range(count)]
    with Writer(folder, robot_type="so101_follower") as writer:
        for episode in episodes:
            writer.add(episode)
    return episodes


def test_it_opens_what_we_write(tmp_path):
    episodes = write(tmp_path / "set", 5, cameras=2)
    theirs = opened(tmp_path / "set")
    assert (theirs.num_episodes, len(theirs), theirs.fps) == (5, 5 * FRAMES, 50)
    assert theirs.meta.robot_type == "so101_follower"
    for i, episode in enumerate(episodes):
        clock = episode["command"].time_s
        for frame in (0, 17, FRAMES - 1):
            item = theirs[i * FRAMES + frame]
            assert item["task"] == episode.task
            assert (int(item["episode_index"]), int(item["frame_index"])) == (i, frame)
            command = episode["command"].values[frame]
            np.testing.assert_allclose(item["action"].numpy(), command, rtol=1e-6)
            state = episode["joint_position"].values[frame]
            np.testing.assert_allclose(item["observation.state"].numpy(), state, rtol=1e-6)
            np.testing.assert_allclose(float(item["time_s"]), clock[frame], rtol=1e-6)
            last = max(np.searchsorted(episode.videos["camera0"].time_s, clock[frame], "right"), 1)
            for camera in range(2):
                grey = greys(i, camera, PICTURES)[last - 1]
                picture = item[f"observation.images.camera{camera}"]
                assert picture.shape == (3, 48, 64)
                np.testing.assert_allclose(255 * float(picture.mean()), grey, atol=3)


def test_it_computes_the_same_statistics(tmp_path):
    from lerobot.datasets.compute_stats import aggregate_stats, get_feature_stats

    episodes = write(tmp_path / "set", 3, cameras=1)
    stats = opened(tmp_path / "set").meta.stats
    theirs = [
        {"action": get_feature_stats(e["command"].values, axis=0, keepdims=False)} for e in episodes
    ]
    wanted = aggregate_stats(theirs)["action"]
    for name in ("min", "max", "mean", "std", "count"):
        np.testing.assert_allclose(stats["action"][name], wanted[name], rtol=1e-6, atol=1e-9)
    for name in ("q01", "q10", "q50", "q90", "q99"):  # theirs are read off a histogram
        np.testing.assert_allclose(stats["action"][name], wanted[name], atol=0.002)
    image = stats["observation.images.camera0"]
    assert image["mean"].shape == (3, 1, 1)
    grey = np.concatenate([greys(i, 0, PICTURES) for i in range(3)]) / 255
    np.testing.assert_allclose(image["mean"].ravel(), grey.mean(), atol=0.01)
    np.testing.assert_allclose(image["std"].ravel(), grey.std(), atol=0.01)


def test_a_loader_of_theirs_makes_batches_with_history(tmp_path):
    import torch

    write(tmp_path / "set", 3, cameras=1)
    deltas = {"observation.state": [-0.04, -0.02, 0.0], "action": [0.0, 0.02]}
    theirs = opened(tmp_path / "set", delta_timestamps=deltas)
    batch = next(iter(torch.utils.data.DataLoader(theirs, batch_size=16, shuffle=True)))
    assert batch["observation.state"].shape == (16, 3, 6)
    assert batch["action"].shape == (16, 2, 6)
    assert torch.isfinite(batch["action"]).all()


def test_some_episodes_alone(tmp_path):
    episodes = write(tmp_path / "set", 4)
    theirs = opened(tmp_path / "set", episodes=[1, 3])
    assert len(theirs) == 2 * FRAMES
    item = theirs[FRAMES]
    np.testing.assert_allclose(item["action"], episodes[3]["command"].values[0], rtol=1e-6)


def theirs_written(folder: Path, episodes: int = 3, frames: int = 15) -> None:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    joints = {"dtype": "float32", "shape": (6,), "names": [f"j{i}.pos" for i in range(6)]}
    image = {"dtype": "video", "shape": (48, 64, 3), "names": ["height", "width", "channels"]}
    dataset = LeRobotDataset.create(
        "someone/set",
        fps=30,
        features={"action": joints, "observation.state": joints, "observation.images.top": image},
        root=folder,
        robot_type="so101_follower",
        vcodec="h264",
    )
    for index in range(episodes):
        told, seen = degrees(index, frames), degrees(100 + index, frames)
        for k, grey in enumerate(greys(index, 0, frames)):
            picture = np.full((48, 64, 3), grey, np.uint8)
            words = {"task": f"task {index % 2}"}
            signals = {"action": told[k], "observation.state": seen[k]}
            dataset.add_frame({**signals, "observation.images.top": picture, **words})
        dataset.save_episode(parallel_encoding=False)
    dataset.finalize()


def test_we_open_what_it_writes(tmp_path):
    theirs_written(tmp_path / "set")
    ours = Dataset.open(tmp_path / "set")
    assert (len(ours), ours.info.frames, ours.info.fps) == (3, 45, 30.0)
    for i, episode in enumerate(ours):
        np.testing.assert_array_equal(episode["command"].values, degrees(i, 15))
        np.testing.assert_array_equal(episode["joint_position"].values, degrees(100 + i, 15))
        assert episode.task == f"task {i % 2}"
        np.testing.assert_allclose(shown(episode.videos["top"]), greys(i, 0, 15), atol=4)
    assert list(problems(tmp_path / "set")) == []


def test_we_add_to_what_it_wrote_and_it_opens_both(tmp_path):
    theirs_written(tmp_path / "set")
    before = Dataset.open(tmp_path / "set")[0]
    clock = np.linspace(0, 0.5, 15) ** 1.1  # anything but nominal
    names = before["command"].names
    told = np.random.default_rng(7).normal(size=(15, 6))  # more bits than float32 holds
    added = Episode(
        signals={
            "command": channel(told, clock, UNSTATED, names),
            "joint_position": channel(told + 1, clock, UNSTATED, names),
        },
        period_s=1 / 30,
        task="a new one",
        labels={"who": "we"},
        videos={"top": before.videos["top"]},
    )
    with Writer(tmp_path / "set") as writer:
        assert writer.add(added) == 3
        assert writer.add(added) == 4
    ours = Dataset.open(tmp_path / "set")
    same(before, ours[0])
    for i in (3, 4):
        same(added, ours[i])
    theirs = opened(tmp_path / "set")
    assert (theirs.num_episodes, len(theirs)) == (5, 75)
    item = theirs[3 * 15 + 4]
    assert item["task"] == "a new one"
    np.testing.assert_allclose(item["action"].numpy(), told[4], rtol=1e-6)
    grey = 255 * float(item["observation.images.top"].mean())
    np.testing.assert_allclose(grey, greys(0, 0, 15)[4], atol=4)
    assert list(problems(tmp_path / "set")) == []


def test_it_opens_what_we_convert(tmp_path):
    write_v21(tmp_path / "old")
    convert(tmp_path / "old", tmp_path / "new")
    theirs = opened(tmp_path / "new")
    assert (theirs.num_episodes, len(theirs)) == (3, 19)
    np.testing.assert_allclose(theirs[7]["action"].numpy(), degrees(1, 9)[1], rtol=1e-6)
    grey = 255 * float(theirs[7]["observation.images.front"].mean())
    np.testing.assert_allclose(grey, greys(1, 0, 9)[1], atol=3)


def test_its_units_and_names_come_back_as_its_own_robot_has_them(tmp_path):
    write(tmp_path / "set", 2)
    convert(tmp_path / "set", tmp_path / "degrees", units=JointUnits.DEGREES)
    theirs = opened(tmp_path / "degrees")
    assert theirs.features["action"]["names"][0] == "shoulder_pan.pos"
    assert theirs.features["action"]["dtype"] == "float32"
    rad = recording(0, frames=FRAMES)["command"].values[3, :5]
    middle = np.array([0, 0, 0, 0, 0.0486795])
    wanted = np.degrees(rad - middle) * 4096 / 4095
    np.testing.assert_allclose(theirs[3]["action"].numpy()[:5], wanted, rtol=1e-5)


def test_it_opens_what_a_killed_recorder_left(tmp_path):
    """Stopped before each move of the file system in turn; checked wherever an episode was told."""
    subprocess.run(**command(tmp_path), check=True)
    checked = 0
    for folder in sorted(path for path in tmp_path.iterdir() if path.name.isdecimal()):
        info = Info.read(folder)
        if info is None or info.total_episodes == 0:
            continue  # LeRobot itself cannot open a dataset without episodes
        acknowledged = int(folder.with_suffix(".acknowledged").read_text())
        theirs = opened(folder)
        assert acknowledged <= theirs.num_episodes <= acknowledged + 1
        for i in range(theirs.num_episodes):
            item, made = theirs[12 * i + 5], recording(i, frames=12)
            np.testing.assert_allclose(item["action"], made["command"].values[5], rtol=1e-6)
            assert item["task"] == made.task
        checked += 1
    assert checked > 15
