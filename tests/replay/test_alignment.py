"""Clocks that were set wrong on purpose, and what is made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.replay.recordings import simulated_episode
from trueup.errors import TrueupError
from trueup.replay import alignment_of, errors_of, lag_of, realigned, replayed
from trueup.worlds import get

ARM = get("so101/arm")


def clocked(episode, *, offset_s, drift):
    """The episode as a state clock that is set wrong would have stamped it."""
    moved = {
        n: c if n == "command" else replace(c, time_s=c.time_s * (1.0 + drift) + offset_s)
        for n, c in episode.signals.items()
    }
    return replace(episode, signals=moved)


def estimated(episode, **options):
    track = replayed(ARM, [episode], signals=["joint_position"]).tracks[0]["joint_position"]
    found = alignment_of(track.time_s, track.simulated[0], track.measured, **options)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def episode():
    return simulated_episode(seconds=20.0)


@pytest.mark.parametrize("offset_s", [0.03, -0.03, 0.2])
@pytest.mark.parametrize("drift", [0.0, 2e-3, -2e-3])
def test_planted_offset_and_drift_are_found(episode, offset_s, drift):
    found = estimated(clocked(episode, offset_s=offset_s, drift=drift))
    # the replay begins at a pose that is late, too, so that its first moments mislead a little
    assert found.offset_s == pytest.approx(offset_s, abs=1e-3 + 0.02 * abs(offset_s))
    assert found.drift == pytest.approx(drift, abs=3e-4)
    assert found.rmse_after < 0.3 * found.rmse_before
    assert found.told_apart


def test_a_clock_that_is_right_is_left_alone(episode):
    found = estimated(episode)
    assert abs(found.offset_s) < 1e-6
    assert abs(found.drift) < 1e-7


def test_aligned_and_replayed_again_little_is_left(episode):
    wrong = clocked(episode, offset_s=0.08, drift=1e-3)
    found = estimated(wrong)
    before, after = (
        replayed(ARM, [e], signals=["joint_position"]).rmse("joint_position").max()
        for e in (wrong, realigned(wrong, found))
    )
    assert after < 0.05 * before
    np.testing.assert_array_equal(
        realigned(wrong, found)["command"].time_s, wrong["command"].time_s
    )


@pytest.mark.parametrize("delay_s", [0.02, 0.05, 0.11])
def test_a_planted_lag_is_measured(delay_s):
    late = simulated_episode(values={"latency/action_delay": delay_s}, seconds=10.0)
    errors = errors_of(replayed(ARM, [late]).tracks[0]["joint_position"])
    assert errors.overall.lag_s == pytest.approx(delay_s, abs=5e-3)
    for name, column in errors.columns.items():
        assert column.lag_s == pytest.approx(delay_s, abs=5e-3), name


def test_a_lag_between_readings_is_exact_for_pure_shifts():
    t = 0.02 * np.arange(400)
    wave = np.stack([np.sin(3 * t), np.sin(5 * t + 1)], axis=1)
    later = np.stack([np.sin(3 * (t - 0.0537)), np.sin(5 * (t - 0.0537) + 1)], axis=1)
    assert lag_of(t, wave, later) == pytest.approx(0.0537, abs=1e-5)
    assert lag_of(t, later, wave) == pytest.approx(-0.0537, abs=1e-5)


def test_ticks_and_noise_are_no_hindrance(episode):
    channel = clocked(episode, offset_s=0.03, drift=1e-3)["joint_position"]
    tick = 2 * np.pi / 4096
    noise = 0.003 * np.random.default_rng(0).normal(size=channel.values.shape)
    rough = replace(channel, values=np.round((channel.values + noise) / tick) * tick)
    wrong = replace(
        clocked(episode, offset_s=0.03, drift=1e-3),
        signals={"command": episode["command"], "joint_position": rough},
    )
    found = estimated(wrong)
    assert found.offset_s == pytest.approx(0.03, abs=3e-3)
    assert found.drift == pytest.approx(1e-3, abs=3e-4)


def test_what_does_not_move_says_nothing_about_time():
    t = 0.02 * np.arange(100)
    assert alignment_of(t, np.zeros((100, 2)), np.zeros((100, 2))) is None
    assert lag_of(t[:4], np.eye(4), np.eye(4)) is None


def test_readings_that_are_missing_are_passed_over():
    t = 0.02 * np.arange(400)
    later = np.sin(3 * (t - 0.04))[:, None]
    later[50:90] = np.nan
    assert lag_of(t, np.sin(3 * t)[:, None], later) == pytest.approx(0.04, abs=1e-4)


def test_an_impossible_drift_is_refused(episode):
    found = estimated(clocked(episode, offset_s=0.03, drift=0.0))
    with pytest.raises(TrueupError, match="wrong by 70 %"):
        realigned(episode, replace(found, drift=0.7))
