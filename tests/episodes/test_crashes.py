"""A recorder that is stopped at any moment loses at most the episode it was writing."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.episodes.crashes import CAMERAS, EPISODES, command
from tests.episodes.recordings import greys, recording, same, shown
from trueup.episodes import Dataset, Writer
from trueup.episodes.storage.info import Info
from trueup.episodes.validation import problems

KILLS = 10


def made(i: int):
    return recording(i, frames=12, cameras=CAMERAS, pictures=8)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> list[Path]:
    """A dataset for each move of a session, stopped before that move."""
    folder = tmp_path_factory.mktemp("stopped")
    subprocess.run(**command(folder), check=True)
    return sorted(path for path in folder.iterdir() if path.is_dir())


def test_a_stop_before_any_move_loses_no_finished_episode(stopped):
    assert len(stopped) > 25  # the moves of 3 episodes and a merge; the last folder has them all
    for folder in stopped:
        mark = folder.with_suffix(".acknowledged")
        acknowledged = int(mark.read_text()) if mark.exists() else 0
        if not (folder / "meta/trueup.json").exists():
            assert acknowledged == 0
            continue
        dataset = Dataset.open(folder)
        assert acknowledged <= len(dataset) <= acknowledged + 1
        for i, episode in enumerate(dataset):
            same(made(i), episode)
            np.testing.assert_allclose(shown(episode.videos["camera0"]), greys(i, 0, 8), atol=3)


def test_after_a_stop_the_frames_are_where_lerobot_looks_for_them(stopped):
    """LeRobot reads all files in order and takes row i for frame i, up to the total it is told."""
    for folder in stopped:
        info = Info.read(folder)
        if info is None:
            continue
        files = sorted(folder.glob("data/*/*.parquet"))
        frames = [pq.read_table(file, columns=["index"])["index"].to_numpy() for file in files]
        rows = sorted(folder.glob("meta/episodes/*/*.parquet"))
        episodes = [pq.read_table(file)["episode_index"].to_numpy() for file in rows]
        for parts, total in ((frames, info.total_frames), (episodes, info.total_episodes)):
            there = np.concatenate([np.zeros(0, int), *parts])
            np.testing.assert_array_equal(there[:total], np.arange(total))
        for path in (*files, *rows, *folder.glob("videos/*/*/*.mp4")):
            assert path.stat().st_size > 0


def test_whatever_was_left_the_next_writer_puts_it_in_order(stopped, tmp_path):
    for source in stopped:
        folder = tmp_path / source.name
        shutil.copytree(source, folder)
        with Writer(folder) as writer:
            begin = len(writer)
            for i in range(begin, EPISODES + 1):
                writer.add(made(i))
        assert list(problems(folder)) == []
        dataset = Dataset.open(folder)
        assert len(dataset) == EPISODES + 1
        for i, episode in enumerate(dataset):
            same(made(i), episode)
        assert list(folder.rglob(".*")) == []


@pytest.mark.slow
def test_kills_at_any_moment(tmp_path):
    """One dataset, many recorders, each killed while it works."""
    folder, rng, finished = tmp_path / "set", np.random.default_rng(4), 0
    for _ in range(KILLS):
        finished = max(finished, kill_one(folder, float(rng.uniform(0.05, 0.6))))
        dataset = Dataset.open(folder)
        assert len(dataset) >= finished
        if len(dataset):  # on a busy machine the first may be killed before it stored anything
            same(made(0), dataset[0])
    assert finished > KILLS
    for i, episode in enumerate(Dataset.open(folder)):
        same(recording(i, frames=12 + i % 5, cameras=CAMERAS, pictures=8), episode)


def kill_one(folder: Path, after_s: float) -> int:
    """Start a recorder, kill it a while after it began; how many episodes it said were stored."""
    with subprocess.Popen(
        **command(folder, "--for-ever"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        reader = threading.Thread(target=lambda: said.extend(process.stdout or []))
        reader.start()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        reader.join()
    return max(int(line) for line in said if line.endswith("\n"))


def test_a_full_disk_costs_the_episode_that_did_not_fit_and_no_other(tmp_path):
    """The system itself refuses: no file of that process may grow beyond a limit."""
    folder = tmp_path / "set"
    told = subprocess.run(
        **command(folder, "--full-disk"), stderr=subprocess.PIPE, text=True
    ).stderr
    assert "Episode 1 was not stored:" in told
    assert "File too large. The 1 before it are safe. Choose another place, or make room" in told
    dataset = Dataset.open(folder)
    assert len(dataset) == 2
    for i, episode in enumerate(dataset):
        same(recording(i), episode)
    assert list(problems(folder)) == []
