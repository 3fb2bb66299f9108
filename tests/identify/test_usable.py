"""Each fault that is planted into a good recording is found and said; good ones are left alone."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.episodes import Channel, Dataset, Episode, Writer
from trueup.episodes.imports.importing import imported
from trueup.episodes.imports.mapping import load_mapping
from trueup.errors import TrueupError
from trueup.identify import identify
from trueup.identify.answers import Lags
from trueup.identify.faults import Remedy
from trueup.identify.faults.lags import _moment
from trueup.identify.usable import cleaned, readable, usable

JOINTS = ("pan", "lift", "roll")
PERIOD = 0.02


@pytest.fixture(scope="module")
def good() -> list[Episode]:
    return [recorded({}, seconds=8.0, seed=seed) for seed in range(3)]


def changed(episode: Episode, **channels: Channel) -> Episode:
    return replace(episode, signals={**episode.signals, **channels})


def with_values(episode: Episode, name: str, change) -> Episode:
    channel = episode[name]
    return changed(episode, **{name: replace(channel, values=change(channel.values.copy()))})


def with_times(episode: Episode, change) -> Episode:
    return changed(
        episode,
        **{name: replace(c, time_s=change(c.time_s.copy())) for name, c in episode.signals.items()},
    )


def follower(*, stop: float = -np.inf, seconds: float = 20.0, names=JOINTS, **origin) -> Episode:
    """Slow sines, followed 0.1 s later; the last joint goes no further down than a stop."""
    time_s = PERIOD * np.arange(round(seconds / PERIOD))
    phase = np.arange(len(names))
    wave = lambda t: 0.6 * np.sin(2 * np.pi * (0.15 + 0.1 * phase) * t[:, None] + phase)  # noqa: E731
    values = wave(np.maximum(time_s - 0.1, 0.0))
    values[:, -1] = np.maximum(values[:, -1], stop)
    channel = {"time_s": time_s, "unit": "rad", "names": tuple(names)}
    return Episode(
        signals={
            "command": Channel(values=wave(time_s), **channel),
            "joint_position": Channel(values=values, **channel),
        },
        period_s=PERIOD,
        origin=origin,
    )


def test_good_recordings_are_left_alone(good):
    found = cleaned(good)
    assert found.flaws == ()
    assert found.notes == ()
    for before, after in zip(good, found.episodes, strict=True):
        for name in before.signals:
            np.testing.assert_array_equal(before[name].values, after[name].values)


def degrees(x):
    return np.degrees(x)


LEFT_OUT = [
    ("degrees", lambda e: with_values(e, "joint_position", degrees), "degrees"),
    (
        "ticks",
        lambda e: with_values(e, "joint_position", lambda x: np.rint(x * 652 + 2048)),
        "tick",
    ),
    (
        "per cent",
        lambda e: with_values(e, "joint_position", lambda x: np.clip(400 * x, -100, 100)),
        "per cent",
    ),
    (
        "small degrees",
        lambda e: with_values(
            with_values(
                e, "joint_position", lambda x: np.degrees(x) * 0.1 // 0.087890625 * 0.087890625
            ),
            "command",
            lambda x: np.degrees(x) * 0.1,
        ),
        "in degrees",
    ),
    (
        "commands in degrees",
        lambda e: with_values(e, "command", lambda x: 3 * degrees(x)),
        "command",
    ),
    ("milliseconds", lambda e: with_times(e, lambda t: 1000 * t), "milliseconds"),
    ("constant", lambda e: with_values(e, "command", lambda x: 0 * x), "do not change"),
    ("frozen", lambda e: with_values(e, "joint_position", lambda x: 0 * x), "never move"),
    ("nothing", lambda e: with_values(e, "joint_position", lambda x: x * np.nan), "no numbers"),
    (
        "another order",
        lambda e: with_values(e, "joint_position", lambda x: x[:, [1, 2, 0, 3, 4, 5]]),
        "another order",
    ),
    (
        "another robot",
        lambda e: changed(
            e,
            joint_position=replace(e["joint_position"], names=("a", "b", "c", "d", "e", "f")),
        ),
        "another robot",
    ),
    ("robot's name", lambda e: replace(e, origin={**e.origin, "robot": "other"}), "'other'"),
]


@pytest.mark.parametrize(
    ("plant", "words"), [row[1:] for row in LEFT_OUT], ids=[r[0] for r in LEFT_OUT]
)
def test_what_cannot_be_right_is_left_out_with_a_reason(good, plant, words):
    named = [replace(e, origin={**e.origin, "robot": "ours"}) for e in good]
    found = cleaned([named[0], plant(named[1]), named[2]])
    assert found.numbers == (0, 2)
    (note,) = found.notes
    assert note.startswith("Episode 1 was left out")
    assert words in note


def test_when_nothing_is_left_the_reason_is_said(good):
    still = with_values(good[0], "command", lambda x: 0 * x)
    with pytest.raises(TrueupError, match="do not change"):
        usable([still])


def test_readings_that_repeat_a_time_are_merged(good):
    def repeat(time_s):
        time_s[50] = time_s[49]
        return time_s

    found = cleaned([with_times(good[0], repeat), good[1]])
    assert "two readings at one time" in found.notes[0]
    channel = found.episodes[0]["joint_position"]
    assert len(channel) == len(good[0]["joint_position"]) - 1
    assert (np.diff(channel.time_s) > 0).all()


def test_what_follows_a_gap_in_the_commands_is_masked_until_it_no_longer_shows(good):
    gap = with_times(good[0], lambda t: np.where(t > 3.0, t + 2.0, t))
    found = cleaned([gap, good[1]])
    assert any("no command is known from 3.0" in note for note in found.notes)
    joints = found.episodes[0]["joint_position"]
    masked = np.asarray(np.isnan(joints.values).all(axis=1))
    assert masked[(joints.time_s > 3.05) & (joints.time_s < 5.9)].all()
    assert not masked[joints.time_s < 3.0].any()
    assert not masked[joints.time_s > 6.1].any()
    assert np.isfinite(found.episodes[0]["command"].values).all()


def test_a_pace_that_changes_is_said(good):
    slower = with_times(good[0], lambda t: np.where(t > 4.0, 4.0 + 1.5 * (t - 4.0), t))
    (flaw, *_) = [f for n, f in cleaned([slower, *good[1:]]).flaws if n == 0 and f.begin_s < 5]
    assert flaw.remedy is Remedy.NOTE
    assert "every 40 ms until" in flaw.what
    assert "every 60 ms" in flaw.what
    assert flaw.begin_s == pytest.approx(4.0, abs=1.1)


def test_joints_that_answer_later_from_some_moment_on_are_masked_from_there():
    episodes = [recorded({}, seconds=16.0, seed=seed) for seed in range(3)]
    time_s = episodes[1]["joint_position"].time_s

    def late(values):
        shifted = np.stack([np.interp(time_s - 0.07, time_s, x) for x in values.T], axis=1)
        return np.where(time_s[:, None] > 10.0, shifted, values)

    found = cleaned([episodes[0], with_values(episodes[1], "joint_position", late), episodes[2]])
    ((number, flaw),) = found.flaws
    assert number == 1
    assert flaw.kind == "clock"
    assert flaw.begin_s == pytest.approx(10.0, abs=1.1)
    assert flaw.where == pytest.approx(0.07, abs=0.02)
    masked = np.isnan(found.episodes[1]["joint_position"].values).all(axis=1)
    np.testing.assert_array_equal(masked, time_s >= flaw.begin_s)


def test_a_leap_is_none_where_lags_go_up_and_down_all_the_time():
    begin_s, std_s = np.arange(60.0), np.full(60, 5e-4)
    calm = np.where(begin_s < 40, 0.0, 0.03)
    restless = 0.009 * np.random.default_rng(0).standard_normal(60)
    chance = np.where((begin_s >= 20) & (begin_s < 24), -0.004, restless)
    chance[24:28] = 0.02  # four windows that happen to agree, beside four others
    assert _moment(Lags(begin_s=begin_s, lag_s=calm, std_s=std_s)) == pytest.approx(40.0, abs=1.0)
    for lag_s in (restless, chance):
        assert _moment(Lags(begin_s=begin_s, lag_s=lag_s, std_s=std_s)) is None


def test_a_stall_is_masked_for_its_joint_and_its_time_alone():
    found = cleaned([follower(), follower(stop=-0.3), follower()])
    assert {(n, f.kind, f.columns) for n, f in found.flaws} == {(1, "stall", ("roll",))}
    assert all(f.where == pytest.approx(-0.3, abs=0.01) for _, f in found.flaws)
    assert "near -0.30 rad" in found.notes[0]
    assert "go on to -0.60 rad" in found.notes[0]
    joints = found.episodes[1]["joint_position"]
    masked = np.isnan(joints.values)
    assert not masked[:, :2].any()
    told = follower()["joint_position"].values[:, 2]
    assert masked[told < -0.5, 2].all()
    assert not masked[told > 0.0, 2].any()
    assert cleaned([follower(), follower(stop=-0.3)], keep_stalls=True).flaws == ()


def test_a_joint_without_torque_is_masked_and_the_others_are_kept(good):
    def held(values):
        values[:, 2] = values[0, 2]
        return values

    found = cleaned([good[0], with_values(good[1], "joint_position", held), good[2]])
    assert "never did" in found.notes[0]
    masked = np.isnan(found.episodes[1]["joint_position"].values)
    assert masked[:, 2].all()
    assert not masked[:, [0, 1, 3, 4, 5]].any()
    assert np.isnan(found.episodes[1]["joint_velocity"].values[:, 2]).all()


def test_a_joint_with_the_wrong_sign_is_masked():
    turned = with_values(follower(), "joint_position", lambda x: x * [1, -1, 1])
    found = cleaned([follower(), turned, follower()])
    assert "wrong sign" in found.notes[0]
    assert np.isnan(found.episodes[1]["joint_position"].values[:, 1]).all()


def test_a_single_reading_far_off_is_masked():
    def spike(values):
        values[100, 1] += 1.0
        return values

    found = cleaned([with_values(follower(), "joint_position", spike), follower()])
    (masked,) = np.argwhere(np.isnan(found.episodes[0]["joint_position"].values))
    assert tuple(masked) == (100, 1)


def test_joints_beyond_the_limits_of_the_model_are_of_another_robot():
    limits = {"pan": (-0.1, 0.1), "lift": (-1.0, 1.0)}
    with pytest.raises(TrueupError, match="another zero"):
        usable([follower()], limits=limits)


def test_joints_that_nobody_moves_are_named():
    still = [with_values(follower(), "command", lambda x: x * [1, 1, 0]) for _ in range(2)]
    assert any("tells roll to move" in note for note in cleaned(still).notes)


def test_a_clock_that_runs_backwards_leaves_out_its_episode_alone(good, tmp_path):
    with Writer(tmp_path) as writer:
        for episode in good:
            writer.add(episode)
    for file in sorted((tmp_path / "data").rglob("*.parquet")):
        table = pq.read_table(file)
        mine = np.array(table["episode_index"]) == 1
        time_s = np.array(table["time_s"])
        time_s[mine] = time_s[mine][::-1]
        place = table.schema.get_field_index("time_s")
        pq.write_table(table.set_column(place, "time_s", pa.array(time_s)), file)
    episodes, notes = readable(Dataset.open(tmp_path))
    assert len(episodes) == 2
    assert notes[0].startswith("Episode 1 was left out, as it cannot be read")


def test_one_recording_is_parted_and_several_are_split(good):
    alone = usable(good[:1])
    assert alone.held[0]["command"].time_s[0] > alone.fitted[0]["command"].time_s[-1]
    several = usable(good)
    assert (len(several.fitted), len(several.held)) == (2, 1)


@pytest.mark.parametrize(("often", "missed", "left_rad"), [(0.1, 0.02, 0.001), (0.45, 0.05, 0.01)])
def test_packets_that_were_handed_out_twice_are_left_out_and_the_arm_is_found(
    often, missed, left_rad
):
    """What is left, the steps of encoders leave; and very old readings, where many are old."""
    truth = {"actuation/shoulder_lift/kp": 9.0, "sensing/encoder/dropout": often}
    stale = [recorded(truth, seconds=8.0, seed=seed) for seed in range(3)]
    found = cleaned(stale)
    again = [(np.diff(e["joint_position"].values, axis=0) == 0.0).all(axis=1).mean() for e in stale]
    hidden = [np.isnan(e["joint_position"].values[:, 0]).mean() for e in found.episodes]
    assert np.mean(again) == pytest.approx(often, abs=0.05)
    assert hidden == pytest.approx(again, abs=missed)
    assert "what they read before" in found.notes[0] and "times more" in found.notes[0]
    space = WORLD.catalogue.select("actuation/shoulder_lift/kp", "latency/action_delay")
    estimate = identify(WORLD, stale, space, check=False)
    assert estimate.point["actuation/shoulder_lift/kp"] == pytest.approx(9.0, rel=0.01)
    assert max(estimate.held.after.values()) < left_rad


@pytest.mark.slow
def test_the_stall_and_the_late_part_of_real_motions_are_found_and_nothing_else(real_data):
    folder, mapping = real_data / "so101-real-motions", load_mapping("so101-sage")
    if not folder.is_dir():
        pytest.skip("no recordings of a real SO-101 in the folder of real data")
    names = [path.name for path in sorted(folder.iterdir()) if (path / "event.csv").exists()]
    found = cleaned([imported(folder / name, mapping) for name in names])
    assert len(found.episodes) == len(names)
    about = {(names[n], f.kind, f.columns) for n, f in found.flaws}
    assert about == {
        ("chirp_sweep", "clock", ()),
        ("single_joint_wrist_roll", "stall", ("wrist_roll",)),
    }
    for _, flaw in found.flaws:
        assert flaw.kind != "stall" or flaw.where == pytest.approx(-1.03, abs=0.02)
    (late,) = [f.begin_s for _, f in found.flaws if f.kind == "clock"]
    assert late / 0.02006 == pytest.approx(5500, abs=100)
