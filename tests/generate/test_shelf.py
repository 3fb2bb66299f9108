"""Storing in batches: the same dataset as one episode at a time, and never half of one."""

import numpy as np
import pytest

from trueup.episodes import Channel, Dataset, Episode, Outcome, Writer, problems
from trueup.episodes.storage import stats
from trueup.errors import TrueupError
from trueup.generate import Shelf
from trueup.generate.counting import counted, spread


def episode(i, frames=None, *, dtype=np.float32, task="lift"):
    rng = np.random.default_rng(i)
    k = frames or 10 + i % 7
    time_s = 0.04 * np.arange(k) + 0.001 * i

    def channel(size, unit):
        return Channel(
            values=rng.normal(size=(k, size)).astype(dtype),
            time_s=time_s,
            unit=unit,
            names=tuple(f"n{c}" for c in range(size)),
        )

    return Episode(
        signals={"joint_position": channel(6, "rad"), "command": channel(6, "rad")},
        period_s=0.04,
        task=f"{task} {i % 3}",
        outcome=Outcome.SUCCESS,
        labels={"recovery": "slip"} if i % 2 else {},
        origin={"attempt": i, "point": {"a/b": i / 3}},
    )


def same(a, b):
    assert a.task == b.task and a.outcome == b.outcome
    assert dict(a.labels) == dict(b.labels) and dict(a.origin) == dict(b.origin)
    assert a.signals.keys() == b.signals.keys()
    for name, channel in a.signals.items():
        assert np.array_equal(channel.values, b[name].values)
        assert np.array_equal(channel.time_s, b[name].time_s)
        assert (channel.unit, channel.names) == (b[name].unit, b[name].names)


def test_what_was_stored_is_read_back(tmp_path):
    given = [episode(i) for i in range(40)]
    with Shelf(tmp_path / "set", robot_type="so101") as shelf:
        shelf.add(given[:37])
        shelf.add(given[37:])
        assert len(shelf) == 40
    dataset = Dataset.open(tmp_path / "set")
    assert len(dataset) == 40
    for i in (0, 15, 16, 36, 37, 39):
        same(dataset[i], given[i])
    assert list(problems(dataset.folder)) == []
    assert dataset.info.robot_type == "so101"


def test_the_dataset_is_what_one_at_a_time_would_have_made(tmp_path):
    given = [episode(i) for i in range(5)]
    with Shelf(tmp_path / "many") as shelf:
        shelf.add(given)
    with Writer(tmp_path / "one") as writer:
        for one in given:
            writer.add(one)
    many, one = (Dataset.open(tmp_path / name) for name in ("many", "one"))
    assert many.info == one.info
    for i in range(5):
        assert many.frames(i).equals(one.frames(i))
        for key, values in one._rows.stats(i).items():
            for name, value in values.items():
                assert np.allclose(many._rows.stats(i)[key][name], value), (key, name)
    sums = [stats.read(tmp_path / name) or {} for name in ("many", "one")]
    for key in sums[1]:
        for name in sums[1][key]:
            assert np.allclose(sums[0][key][name], sums[1][key][name]), (key, name)


def test_others_may_add_to_it_and_it_to_theirs(tmp_path):
    folder = tmp_path / "set"
    with Writer(folder) as writer:
        writer.add(episode(0))
    with Shelf(folder) as shelf:
        shelf.add([episode(i) for i in range(1, 20)])
    with Writer(folder) as writer:
        writer.add(episode(20))
    dataset = Dataset.open(folder)
    assert len(dataset) == 21
    for i in (0, 1, 19, 20):
        same(dataset[i], episode(i))
    assert list(problems(folder)) == []


def test_statistics_are_those_of_each_episode():
    rng = np.random.default_rng(0)
    lengths = np.array([3, 1, 40])
    columns = {"a": rng.normal(size=(44, 2)), "n": rng.integers(0, 9, (44, 1))}
    found = counted(columns, lengths)
    ends = np.cumsum(lengths)[:-1]
    parts = zip(*(np.split(columns[key], ends) for key in columns), strict=True)
    each = [stats.of_columns(dict(zip(columns, part, strict=True))) for part in parts]
    for i, known in enumerate(each):
        for key, values in known.items():
            for name, value in values.items():
                assert np.allclose(found[key][name][i], value)
                assert found[key][name].dtype.kind == np.asarray(value).dtype.kind
    total, known = spread(found, lengths), stats.together(each)
    for key in known:
        for name in known[key]:
            assert np.allclose(total[key][name], known[key][name]), (key, name)


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path):
    folder = tmp_path / "set"
    with Shelf(folder) as shelf:
        shelf.add([episode(0)])
        other = episode(1)
        lacking = Episode(signals={"command": other["command"]}, period_s=0.04)
        with pytest.raises(TrueupError, match="lacks the signal 'joint_position'"):
            shelf.add([lacking])
        late = Channel(
            values=other["command"].values,
            time_s=other["command"].time_s + 0.01,
            unit="rad",
            names=other["command"].names,
        )
        apart = Episode(signals={**other.signals, "command": late}, period_s=0.04)
        with pytest.raises(TrueupError, match="clocks of their own"):
            shelf.add([apart])
    assert len(Dataset.open(folder)) == 1
    assert list(problems(folder)) == []


def test_one_writer_at_a_time(tmp_path):
    with (
        Shelf(tmp_path / "set") as shelf,
        pytest.raises(TrueupError, match="Another process is writing"),
    ):
        shelf.add([episode(0)])
        Writer(tmp_path / "set")
