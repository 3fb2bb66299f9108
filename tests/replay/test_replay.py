"""An episode of a simulation, replayed: nothing is left at its own point, something at another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.replay.recordings import simulated_episode
from tests.replay.test_bad_input import swung
from tests.worlds.pendulum import Pendulum, damping
from trueup.errors import TrueupError
from trueup.replay import Replayer, replayed
from trueup.space import Points, Space
from trueup.worlds import get

ARM = get("so101/arm")
BENT = {"actuation/elbow_flex/kp": 9.0, "actuation/shoulder_pan/damping": 1.6}
DELAYED = {"latency/action_delay": 0.037, "latency/encoder_delay": 0.013}
EXACT = [
    {},
    BENT,
    DELAYED,
    {"actuation/elbow_flex/zero_offset": 0.1},
    {"actuation/fade_rate": 0.02},
    {"actuation/wrist_flex/backlash": 0.02},
    {"actuation/elbow_flex/stribeck_torque": 0.1},
    {"actuation/lower_arm/mass": 0.15},
]


def largest(replay, name="joint_position"):
    return np.abs(replay.residual(name)).max(axis=(1, 2))


@pytest.mark.parametrize(
    "values",
    [*EXACT, {"latency/control_period_error": 0.1}],
    ids=lambda v: "+".join(v) or "nominal",
)
def test_at_its_own_point_nothing_is_left(values):
    replay = replayed(ARM, [simulated_episode(values=values, seconds=2.0)], values)
    assert replay.signals == ("joint_position", "joint_velocity", "joint_force")
    for name in replay.signals:
        np.testing.assert_allclose(replay.residual(name), 0.0, atol=1e-9, err_msg=name)
    assert not replay.broken.any()


@pytest.mark.parametrize("values", EXACT[1:], ids="+".join)
def test_at_another_point_something_is_left(values):
    replay = replayed(ARM, [simulated_episode(values=values, seconds=2.0)])
    assert largest(replay)[0] > 1e-5


def test_a_slow_loop_is_in_the_record_and_needs_no_parameter():
    episode = simulated_episode(values={"latency/control_period_error": 0.1}, seconds=2.0)
    assert largest(replayed(ARM, [episode]))[0] < 5e-3


def test_a_biased_encoder_is_seen_through():
    bias = {"sensing/elbow_flex/bias": 0.08}
    episode = simulated_episode(values=bias, seconds=2.0)
    assert largest(replayed(ARM, [episode], bias))[0] < 1e-9
    left = replayed(ARM, [episode]).residual("joint_position")[0, -1]
    np.testing.assert_allclose(left[2], -0.08, atol=5e-3)


def test_a_grasped_cube_goes_where_it_went():
    episode = simulated_episode("so101/lift", seconds=3.2, script=True, seed=3)
    assert np.ptp(episode["true_cube_position"].values[:, 2]) > 0.05
    replay = replayed(get("so101/lift"), [episode])
    cube = replay.tracks[0]["true_cube_position"]
    np.testing.assert_array_equal(cube.residual[0, 0], 0.0)
    assert np.abs(cube.residual).max() < 1e-9
    turned = replayed(get("so101/lift"), [episode], {"actuation/shoulder_pan/zero_offset": 0.2})
    assert np.abs(turned.residual("true_cube_position")).max() > 0.02


def test_an_arm_that_saw_no_cube_meets_none():
    bare = simulated_episode(seconds=2.0)
    one, other = (replayed(get(name), [bare]) for name in ("so101/arm", "so101/lift"))
    np.testing.assert_allclose(
        one.residual("joint_position"), other.residual("joint_position"), atol=1e-9
    )


# Batches ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three():
    lengths = {1.0: BENT, 2.0: {}, 1.48: DELAYED}
    return [
        simulated_episode(values=v, seconds=s, seed=i) for i, (s, v) in enumerate(lengths.items())
    ]


def points(n=3):
    names = (*BENT, *DELAYED, "latency/control_period_error")
    space = Space(tuple(ARM.catalogue[name] for name in names))
    return space, space.sample(np.random.default_rng(0), n)


@pytest.mark.parametrize("window_s", [None, 0.3])
def test_together_is_as_alone(three, window_s):
    space, drawn = points()
    together = Replayer(ARM, three, space, window_s=window_s)(drawn)
    for e, episode in enumerate(three):
        for p in range(len(drawn)):
            # the longest delay among all points sets how early the runs begin
            alone = Replayer(ARM, [episode], space, window_s=window_s)(drawn[p])
            for name, track in together.tracks[e].items():
                np.testing.assert_allclose(
                    track.simulated[p],
                    alone.tracks[0][name].simulated[0],
                    atol=1e-9 if window_s is None else 2e-3,
                    err_msg=f"{name} of episode {e} at point {p}",
                )


def test_blocks_threads_and_repetition_change_nothing(three):
    space, drawn = points(5)
    whole = Replayer(ARM, three, space, threads=1)
    blocks = Replayer(ARM, three, space, threads=2, batch=6)
    first, again, parts = whole(drawn), whole(drawn), blocks(drawn)
    for name in first.signals:
        np.testing.assert_array_equal(first.residual(name), again.residual(name))
        np.testing.assert_array_equal(first.residual(name), parts.residual(name))
    assert first.rmse("joint_position").shape == (5, 3, 6)


def test_noise_follows_from_the_seed(three):
    noisy = {"sensing/encoder/noise": 0.01, "latency/drop_probability": 0.2}
    one, same, other = (replayed(ARM, three, noisy, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.residual("joint_position"), same.residual("joint_position"))
    assert largest(replayed(ARM, three)) < largest(one)
    assert (one.residual("joint_position") != other.residual("joint_position")).mean() > 0.9


def test_points_may_share_noise(three):
    noisy = Points(
        ("sensing/encoder/noise", "actuation/elbow_flex/kp"), np.array([[0.01, 13.0], [0.01, 13.0]])
    )
    residual = replayed(ARM, three, noisy).residual("joint_position")
    np.testing.assert_array_equal(residual[0], residual[1])


# Times ------------------------------------------------------------------------------------------


def test_commands_act_when_they_were_sent():
    """Frames of uneven length: every second command is taken out, and its time with it."""
    episode = simulated_episode(seconds=2.0)
    command = episode["command"]
    kept = np.arange(len(command)) % 2 == 0
    held = np.repeat(command.values[kept], 2, axis=0)[: len(command)]
    sparse = replace(command, values=command.values[kept], time_s=command.time_s[kept])
    one, other = (
        replayed(ARM, [replace(episode, signals={**episode.signals, "command": told})])
        for told in (replace(command, values=held), sparse)
    )
    np.testing.assert_array_equal(one.residual("joint_position"), other.residual("joint_position"))


def test_readings_between_physics_steps_are_interpolated_on_the_simulated_side():
    episode = simulated_episode(seconds=2.0)
    replay = replayed(ARM, [episode])
    track = replay.tracks[0]["joint_position"]
    late = replace(episode["joint_position"], time_s=episode["joint_position"].time_s + 0.0025)
    moved = replayed(ARM, [replace(episode, signals={**episode.signals, "joint_position": late})])
    other = moved.tracks[0]["joint_position"]
    np.testing.assert_array_equal(other.measured, track.measured)
    velocity = episode["joint_velocity"].values
    np.testing.assert_allclose(
        other.simulated[0] - track.simulated[0], 0.0025 * velocity, atol=1.5e-3
    )


def test_a_clock_that_does_not_begin_at_zero_changes_nothing():
    episode = simulated_episode(values=DELAYED, seconds=1.0)
    later = replace(
        episode,
        signals={n: replace(c, time_s=c.time_s + 1234.5) for n, c in episode.signals.items()},
    )
    np.testing.assert_allclose(
        replayed(ARM, [later], DELAYED).residual("joint_position"), 0, atol=1e-9
    )


def test_columns_are_found_by_name():
    episode = simulated_episode(seconds=1.0)
    order = [3, 1, 5, 0, 2, 4]
    mixed = {
        n: replace(c, values=c.values[:, order], names=tuple(f"{c.names[i]}.pos" for i in order))
        for n, c in episode.signals.items()
    }
    replay = replayed(ARM, [replace(episode, signals=mixed)], signals=["joint_position"])
    assert replay.tracks[0]["joint_position"].names[0] == "shoulder_pan.pos"
    assert largest(replay)[0] < 1e-9


def test_a_joint_that_was_not_read_begins_where_it_was_told():
    episode = simulated_episode(seconds=1.0)
    position = episode["joint_position"]
    five = replace(position, values=position.values[:, :5], names=position.names[:5])
    signals = {"command": episode["command"], "joint_position": five}
    replay = replayed(ARM, [replace(episode, signals=signals)])
    assert replay.tracks[0]["joint_position"].names == position.names[:5]
    assert largest(replay)[0] < 5e-3


def test_readings_that_are_missing_are_passed_over():
    episode = simulated_episode(seconds=1.0)
    values = episode["joint_position"].values.copy()
    values[3:6, 2] = np.nan
    gap = replace(episode["joint_position"], values=values)
    replay = replayed(ARM, [replace(episode, signals={**episode.signals, "joint_position": gap})])
    residual = replay.residual("joint_position")[0]
    assert np.isnan(residual).sum() == 3
    assert np.nanmax(np.abs(residual)) < 1e-9
    assert (replay.rmse("joint_position") < 1e-9).all()


# Windows ----------------------------------------------------------------------------------------


def test_windows_at_the_own_point_leave_nothing():
    episode = simulated_episode(values=BENT, seconds=2.0)
    replay = replayed(ARM, [episode], BENT, window_s=0.4)
    np.testing.assert_allclose(replay.residual("joint_position"), 0.0, atol=2e-5)
    ages = replay.tracks[0]["joint_position"].age_s
    assert ages[0] == 0.0
    np.testing.assert_allclose(ages[1:11], 0.04 * np.arange(1, 11))
    np.testing.assert_allclose(ages[11], 0.04)


def test_windows_know_the_commands_that_are_still_on_their_way():
    episode = simulated_episode(values=DELAYED, seconds=2.0)
    replay = replayed(ARM, [episode], DELAYED, window_s=0.4)
    delayed_readings = 0.02  # rad: a window begins at a reading that is 13 ms old
    assert largest(replay)[0] < delayed_readings
    late = {"latency/action_delay": 0.1}
    episode = simulated_episode(values=late, seconds=2.0)
    np.testing.assert_allclose(
        replayed(ARM, [episode], late, window_s=0.4).residual("joint_position"), 0.0, atol=1e-4
    )


def test_shorter_windows_leave_less():
    episode = simulated_episode(values=BENT, seconds=4.0)
    left = [
        float(
            np.sqrt(np.mean(replayed(ARM, [episode], window_s=w).residual("joint_position") ** 2))
        )
        for w in (0.08, 0.4, None)
    ]
    assert left[0] < 0.7 * left[1] < 0.7 * left[2]


# Bad input --------------------------------------------------------------------------------------


def test_what_breaks_down_is_nan_and_the_others_are_not():
    world = Pendulum(damping(low=-1e4))
    drawn = Points(("actuation/swing/damping",), np.array([[0.2], [-5e3]]))
    replay = replayed(world, [swung()], drawn)
    assert replay.broken.tolist() == [[False], [True]]
    assert np.isfinite(replay.tracks[0]["position"].simulated[0]).all()


def test_saved_numbers_are_those_of_the_replay(tmp_path):
    replay = replayed(ARM, [simulated_episode(seconds=1.0)], BENT)
    replay.save(tmp_path / "replay.npz")
    with np.load(tmp_path / "replay.npz") as stored:
        simulated = stored["0/joint_position/simulated"]
        assert stored["parameters"].tolist() == list(BENT)
    np.testing.assert_array_equal(simulated, replay.tracks[0]["joint_position"].simulated)


def test_an_unknown_parameter_is_named():
    with pytest.raises(TrueupError, match="elbow_flex/kq"):
        replayed(ARM, [simulated_episode(seconds=0.4)], {"actuation/elbow_flex/kq": 1.0})
