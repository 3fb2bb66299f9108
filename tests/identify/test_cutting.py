"""Of a long recording the part is fitted that tells most, and its beginning where that does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trueup.episodes import Channel, Episode
from trueup.identify.cutting import after, liveliest, settled, shortened

PERIOD_S = 0.02


def swung(rate_hz, seconds: float = 60.0) -> Episode:
    """One joint that swings at a rate which may depend on the time."""
    time_s = PERIOD_S * np.arange(round(seconds / PERIOD_S))
    phase = np.cumsum(2 * np.pi * rate_hz(time_s) * PERIOD_S)
    values = 0.5 * np.sin(phase)[:, None]
    channel = Channel(values=values, time_s=time_s, unit="rad", names=("elbow_flex.pos",))
    signals = {"joint_position": channel, "command": channel}
    return Episode(period_s=PERIOD_S, signals=signals)


def begin_of(episode: Episode) -> float:
    return float(episode["joint_position"].time_s[0])


def test_a_sweep_is_cut_where_it_is_fast():
    part = liveliest(swung(lambda t: 0.02 + 0.001 * t**1.5), 20.0)
    assert begin_of(part) > 25.0
    assert part.duration_s == pytest.approx(20.0, abs=1.0)
    assert begin_of(part) == float(part["command"].time_s[0])


def test_a_part_begins_as_near_to_rest_as_it_can():
    whole = swung(lambda t: np.where(t < 30.0, 0.02, 0.4))
    speed = np.abs(np.gradient(whole["joint_position"].values[:, 0], PERIOD_S))
    time_s = whole["joint_position"].time_s
    part = liveliest(whole, 20.0)
    assert speed[np.searchsorted(time_s, begin_of(part))] < 0.3 * speed[time_s > 30.0].max()


def test_a_recording_that_is_alike_throughout_is_cut_at_its_beginning():
    whole = swung(lambda t: np.full_like(t, 0.4))
    assert begin_of(liveliest(whole, 20.0)) == begin_of(shortened(whole, 20.0)) == 0.0


def test_a_short_recording_stays_whole():
    whole = swung(lambda t: np.full_like(t, 0.4), seconds=10.0)
    assert len(liveliest(whole, 20.0)["joint_position"].values) == 500


def test_readings_that_nobody_trusts_make_no_part_livelier():
    whole = swung(lambda t: np.full_like(t, 0.4))
    values = whole["joint_position"].values
    values[2000:] = np.nan
    values[1000:2000:7] = np.nan
    assert begin_of(liveliest(whole, 20.0)) == 0.0


def test_what_comes_after_keeps_its_beginning_and_its_commands():
    whole = swung(lambda t: np.full_like(t, 0.4))
    part = after(whole, 12.0, 37.0)
    read = np.isfinite(part["joint_position"].values[:, 0])
    time_s = part["joint_position"].time_s
    assert part.duration_s == pytest.approx(37.0, abs=0.1)
    assert read[time_s >= 12.0].all() and read[time_s < 0.1].all()
    assert not read[(time_s > 0.5) & (time_s < 11.9)].any()
    assert np.isfinite(part["command"].values).all()
    assert np.isfinite(whole["joint_position"].values).all()


def test_joints_are_looked_at_once_nothing_acts_that_was_told_before():
    episode = swung(lambda t: 0.3 + 0.0 * t, 3.0)
    before, after_ = episode["joint_position"], settled(episode, 1.0)["joint_position"]
    seen = np.flatnonzero(np.isfinite(after_.values[:, 0]))
    assert seen[:3].tolist() == [0, 1, 2]
    assert before.time_s[seen[3]] == pytest.approx(before.time_s[0] + 1.0)
    assert np.array_equal(after_.values[seen], before.values[seen])
    assert np.isfinite(before.values).all()


def test_where_joints_are_led_by_what_was_told_before_only_their_beginning_is_looked_at():
    """The next reading is where that led them; without speeds it is needed to begin with."""
    episode = swung(lambda t: 0.3 + 0.0 * t, 3.0)
    speeds = {**episode.signals, "joint_velocity": episode["joint_position"]}
    for read, first in ((replace(episode, signals=speeds), [0]), (episode, [0, 1, 2])):
        joints = settled(read, 1.0, driven=True)["joint_position"]
        seen = np.flatnonzero(np.isfinite(joints.values[:, 0]))
        assert seen[: len(first)].tolist() == first
        assert joints.time_s[seen[len(first)]] == pytest.approx(joints.time_s[0] + 1.0)
