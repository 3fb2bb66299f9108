"""What is written is what is read: every number, clock, unit and word."""

from __future__ import annotations

import json
from dataclasses import replace

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.episodes.recordings import channel, greys, recording, same, shown, video
from trueup.episodes import Channel, Dataset, Episode, Video, Writer
from trueup.errors import TrueupError


def write(folder, episodes):
    with Writer(folder) as writer:
        for episode in episodes:
            writer.add(episode)
    return Dataset.open(folder)


def test_signals_clocks_and_words_survive_to_the_last_bit(tmp_path):
    episodes = [recording(i, frames=30 + i) for i in range(5)]
    dataset = write(tmp_path / "set", episodes)
    assert len(dataset) == 5
    for written, read in zip(episodes, dataset, strict=True):
        same(written, read)
    assert [a.outcome for a in dataset.abouts()] == [e.outcome for e in episodes]
    assert dataset.about(3).labels == episodes[3].labels


def test_a_camera_keeps_its_own_clock_whether_slower_or_faster_than_the_frames(tmp_path):
    base = recording(0, frames=40)
    videos = {
        "slow": video(0, 0, 24),
        "fast": Video(time_s=np.arange(100) / 120, frames=video(0, 1, 100).frames),
        "paired": Video(time_s=base["command"].time_s + 0.001, frames=video(0, 2, 40).frames),
    }
    dataset = write(tmp_path / "set", [replace(base, videos=videos), replace(base, videos=videos)])
    for episode in dataset:
        for number, (name, k) in enumerate({"slow": 24, "fast": 100, "paired": 40}.items()):
            read = episode.videos[name]
            np.testing.assert_array_equal(read.time_s, videos[name].time_s)
            np.testing.assert_allclose(shown(read), greys(0, number, k), atol=3)


def test_pictures_from_a_file_go_into_frames_of_another_rate(tmp_path):
    first = write(tmp_path / "first", [recording(i, cameras=1) for i in range(2)])[1]
    slower = {
        name: replace(first[name], values=first[name].values[::2], time_s=first[name].time_s[::2])
        for name in ("command", "joint_position")
    }
    episode = replace(first, signals=slower, period_s=0.04)
    dataset = write(tmp_path / "second", [episode, episode])
    assert dataset.info.fps == 25
    for read in dataset:
        same(episode, read)
        np.testing.assert_allclose(shown(read.videos["camera0"]), greys(1, 0, 24), atol=5)


def test_the_frames_show_what_was_known_when_each_command_was_sent(tmp_path):
    """LeRobot's view: at each frame the last picture and the last reading, none from later."""
    episode = recording(0, frames=40, cameras=1)
    dataset = write(tmp_path / "set", [episode])
    clock = episode["command"].time_s
    table = dataset.frames(0)
    np.testing.assert_array_equal(table["time_s"].to_numpy(), clock)
    np.testing.assert_array_equal(
        table["timestamp"].to_numpy(), (np.arange(40) / 50).astype(np.float32)
    )
    current = episode["current"]
    last = np.maximum(np.searchsorted(current.time_s, clock, side="right") - 1, 0)
    view = np.stack(table["observation.current"].to_numpy())
    np.testing.assert_array_equal(view, current.values[last])
    taken = episode.videos["camera0"].time_s
    last = np.maximum(np.searchsorted(taken, clock, side="right") - 1, 0)
    read = replace(dataset[0].videos["camera0"], places=np.arange(40), time_s=clock)
    np.testing.assert_allclose(shown(read), greys(0, 0, 24)[last], atol=3)


def test_an_odd_sized_picture_and_a_single_frame(tmp_path):
    base = recording(0, frames=1)
    odd = Video(time_s=np.array([0.0]), frames=video(0, 0, 1, size=(33, 35)).frames)
    dataset = write(tmp_path / "set", [replace(base, videos={"eye": odd})] * 3)
    for episode in dataset:
        np.testing.assert_allclose(shown(episode.videos["eye"]), greys(0, 0, 1), atol=3)


def test_adding_later_goes_on_where_it_ended(tmp_path):
    folder = tmp_path / "set"
    for i in range(6):
        with Writer(folder) as writer:
            assert len(writer) == i
            assert writer.add(recording(i, cameras=1)) == i
    dataset = Dataset.open(folder)
    for i, episode in enumerate(dataset):
        same(recording(i, cameras=1), episode)
        np.testing.assert_allclose(shown(episode.videos["camera0"]), greys(i, 0, 24), atol=3)


def test_many_episodes_lie_in_few_files(tmp_path):
    folder = tmp_path / "set"
    dataset = write(folder, [recording(i, frames=5) for i in range(40)])
    assert len(list(folder.glob("data/*/*.parquet"))) == 1
    assert len(list(folder.glob("meta/episodes/*/*.parquet"))) == 1
    assert len(list(folder.glob("trueup/*/*.parquet"))) == 1
    for i, episode in enumerate(dataset):
        same(recording(i, frames=5), episode)


def test_a_video_of_many_episodes_runs_at_a_constant_rate(tmp_path):
    """Decoders count pictures by time and rate, so that one that is off shifts all after it."""
    folder = tmp_path / "set"
    episodes = [recording(i, frames=7 + 5 * i, cameras=1, pictures=3 + i) for i in range(5)]
    dataset = write(folder, episodes)
    (path,) = folder.glob("videos/*/*/*.mp4")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        times = [frame.time for frame in container.decode(stream)]
        assert stream.average_rate == 50
    assert len(times) == sum(7 + 5 * i for i in range(5))
    np.testing.assert_allclose(times, np.arange(len(times)) / 50, atol=1e-9)
    for i, episode in enumerate(dataset):
        np.testing.assert_allclose(shown(episode.videos["camera0"]), greys(i, 0, 3 + i), atol=3)


def test_a_reader_finds_its_episodes_while_a_writer_merges_files(tmp_path):
    folder = tmp_path / "set"
    with Writer(folder) as writer:
        for i in range(3):
            writer.add(recording(i))
        dataset = Dataset.open(folder)
        same(recording(0), dataset[0])
        writer.compact()
        for i in range(3):
            same(recording(i), dataset[i])


def test_statistics_are_those_of_all_frames(tmp_path):
    episodes = [recording(i, frames=20 + 10 * i) for i in range(4)]
    write(tmp_path / "set", episodes)
    stats = json.loads((tmp_path / "set/meta/stats.json").read_text())
    values = np.concatenate([e["joint_position"].values for e in episodes])
    found = stats["observation.state"]
    for name, wanted in {
        "min": values.min(0),
        "max": values.max(0),
        "mean": values.mean(0),
        "std": values.std(0),
    }.items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-9, atol=1e-12)
    assert found["count"] == [len(values)]
    row = pq.read_table(tmp_path / "set/meta/episodes/chunk-000/file-000.parquet").to_pylist()[2]
    own = episodes[2]["joint_position"].values
    for q in (1, 10, 50, 90, 99):
        wanted = np.sort(own, axis=0)[int(np.ceil(q / 100 * len(own))) - 1]
        np.testing.assert_allclose(row[f"stats/observation.state/q{q:02d}"], wanted)


def test_a_lost_reading_is_kept_as_lost_and_does_not_spoil_the_statistics(tmp_path):
    episode = recording(0)
    values = episode["joint_position"].values.copy()
    values[7, 2] = np.nan
    broken = {
        **episode.signals,
        "joint_position": replace(episode["joint_position"], values=values),
    }
    dataset = write(tmp_path / "set", [replace(episode, signals=broken)])
    np.testing.assert_array_equal(dataset[0]["joint_position"].values, values)
    stats = json.loads((tmp_path / "set/meta/stats.json").read_text())["observation.state"]
    np.testing.assert_allclose(stats["mean"], np.nanmean(values, axis=0))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 12),
    others=st.integers(1, 12),
    size=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_two_clocks_survive(tmp_path_factory, rows, others, size, seed):
    rng = np.random.default_rng(seed)
    names = tuple("xyz"[:size])

    def any_channel(k: int) -> Channel:
        times = np.sort(rng.uniform(-1, 1, k)) * 10.0 ** rng.integers(-6, 6)
        return channel(rng.normal(size=(k, size)), times, "m", names)

    episode = Episode(
        signals={"command": any_channel(rows), "pose": any_channel(others)},
        period_s=float(rng.uniform(0.01, 1.0)),
    )
    if episode.duration_s / episode.period_s > 1e4:
        return  # a grid of so many frames is nobody's recording
    dataset = write(tmp_path_factory.mktemp("any") / "set", [episode, episode])
    for read in dataset:
        same(episode, read)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: replace(e, period_s=0.04), "it runs at 25 Hz, the dataset at 50 Hz"),
        (lambda e: without(e, "current"), "it lacks the signal 'current'"),
        (lambda e: added(e, "torque"), "it has the signal 'torque' too"),
        (lambda e: renamed(e, reverse=True), "order of the signal 'command': gripper, wrist_roll"),
        (lambda e: renamed(e), "columns of the signal 'command': a, b"),
        (lambda e: united(e, "deg"), "unit of the signal 'command': deg instead of rad"),
        (lambda e: replace(e, videos={"eye": video(0, 0, 24)}), "it has the camera 'eye' too"),
    ],
)
def test_an_episode_that_does_not_fit_is_refused_and_nothing_changes(tmp_path, change, words):
    with Writer(tmp_path / "set") as writer:
        writer.add(recording(0))
        with pytest.raises(TrueupError) as refused:
            writer.add(change(recording(1)))
        assert words in str(refused.value)
        assert str(tmp_path / "set") in str(refused.value)
        writer.add(recording(1))
    assert [same(recording(i), e) for i, e in enumerate(Dataset.open(tmp_path / "set"))]


def without(episode: Episode, name: str) -> Episode:
    return replace(episode, signals={k: v for k, v in episode.signals.items() if k != name})


def added(episode: Episode, name: str) -> Episode:
    return replace(episode, signals={**episode.signals, name: episode["joint_position"]})


def renamed(episode: Episode, *, reverse: bool = False) -> Episode:
    names = episode["command"].names[::-1] if reverse else tuple("abcdef")
    command = replace(episode["command"], names=names)
    return replace(episode, signals={**episode.signals, "command": command})


def united(episode: Episode, unit: str) -> Episode:
    command = replace(episode["command"], unit=unit)
    return replace(episode, signals={**episode.signals, "command": command})


def test_only_one_writer_at_a_time(tmp_path):
    first = Writer(tmp_path / "set")
    with pytest.raises(TrueupError, match="Another process is writing"):
        Writer(tmp_path / "set")
    first.close()
    Writer(tmp_path / "set").close()


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("...")
    for open_it in (Writer, Dataset.open):
        with pytest.raises(TrueupError, match="not a dataset"):
            open_it(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_dataset_has_no_episodes(tmp_path):
    Writer(tmp_path / "set").close()
    dataset = Dataset.open(tmp_path / "set")
    assert len(dataset) == 0 and list(dataset) == []
    with pytest.raises(IndexError, match="no episode 0: it has none yet"):
        dataset[0]


def test_an_episode_that_is_not_there_is_named(tmp_path):
    dataset = write(tmp_path / "set", [recording(0), recording(1)])
    same(recording(1), dataset[-1])
    with pytest.raises(IndexError, match="no episode 2: it has episodes 0 to 1"):
        dataset[2]
