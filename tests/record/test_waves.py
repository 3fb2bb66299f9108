"""Waves: they begin and end at rest, stay inside their amplitude, and are what their names say."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.arm import CENTRE, PERIOD_S, body
from trueup.errors import TrueupError
from trueup.record import Chirp, Excitation, Holds, Motion, Multisine, Prbs, Steps, Triangle
from trueup.record.motions.smooth import FINE_S, ramp, ramp_s, rounded
from trueup.record.motions.waves import _TAPS, _sequence

KINDS = [Chirp, Multisine, Prbs, Steps, Triangle, Holds]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)


def wave(motion: Excitation, period_s: float = PERIOD_S) -> np.ndarray:
    """(k, nu) offsets from the centre."""
    return motion.commands(body(), period_s) - np.array(motion.center_rad)


@each_kind
class TestEveryKind:
    def test_it_begins_and_ends_at_its_centre_at_rest(self, kind):
        offsets = wave(kind(center_rad=CENTRE))
        for end in (offsets[0], offsets[-1]):
            assert np.abs(end).max() < 0.01
        for step in (offsets[1] - offsets[0], offsets[-1] - offsets[-2]):
            assert np.abs(step).max() < 0.2 * np.abs(np.diff(offsets, axis=0)).max()

    def test_it_stays_within_its_amplitude_and_comes_near_it(self, kind):
        amplitudes = np.array([0.1, 0.2, 0.3, 0.15, 0.25, 0.05])
        offsets = np.abs(wave(kind(center_rad=CENTRE, amplitude_rad=tuple(amplitudes))))
        assert (offsets.max(axis=0) <= amplitudes + 1e-12).all()
        assert (offsets.max(axis=0) >= 0.3 * amplitudes).all()

    def test_it_takes_its_time(self, kind):
        for duration_s in (6.0, 12.0):
            rows = len(wave(kind(center_rad=CENTRE, duration_s=duration_s, **_few(kind))))
            assert (rows - 1) * PERIOD_S == pytest.approx(duration_s, abs=0.1)

    def test_the_rate_of_the_robot_does_not_change_it(self, kind):
        motion = kind(center_rad=CENTRE)
        slow, quick = wave(motion, 0.04), wave(motion, 0.02)
        np.testing.assert_allclose(quick[::2][: len(slow)], slow, atol=1e-12)

    def test_scaled_scales_every_command(self, kind):
        motion = kind(center_rad=CENTRE)
        np.testing.assert_allclose(wave(motion.scaled(0.7)), 0.7 * wave(motion), atol=1e-12)

    def test_only_named_joints_move(self, kind):
        offsets = wave(kind(center_rad=CENTRE, joints=("elbow_flex", "gripper")))
        moved = np.ptp(offsets, axis=0) > 0
        assert moved.tolist() == [False, False, True, False, False, True]

    def test_one_after_the_other(self, kind):
        offsets = wave(kind(center_rad=CENTRE, together=False, duration_s=24.0, **_few(kind)))
        moving = np.abs(offsets) > 1e-9
        assert moving.any(axis=0).all()
        assert (moving.sum(axis=1) <= 1).all()

    def test_joints_that_move_together_differ(self, kind):
        offsets = wave(kind(center_rad=CENTRE))
        assert np.abs(np.corrcoef(offsets.T) - np.eye(6)).max() < 0.9

    def test_json_gives_it_back(self, kind):
        motion = kind(center_rad=CENTRE, joints=("gripper",), duration_s=20.0, name="mine")
        assert Motion.from_json(json.loads(json.dumps(motion.to_json()))) == motion

    def test_it_comes_from_a_pose_and_goes_back(self, kind):
        start = np.array(body().ready)
        commands = kind(center_rad=CENTRE).commands(body(), PERIOD_S, start=start)
        np.testing.assert_array_equal(commands[0], start)
        np.testing.assert_allclose(commands[-1], start, atol=1e-12)
        path = kind(center_rad=CENTRE).commands(body(), PERIOD_S)
        assert np.abs(np.diff(commands, axis=0)).max() <= (
            max(np.abs(np.diff(path, axis=0)).max(), 0.6 * PERIOD_S) + 1e-9
        )


def _few(kind: type[Excitation]) -> dict[str, int]:
    return {Holds: {"poses": 3}, Multisine: {"lines": 2}}.get(kind, {})


def test_a_chirp_rises():
    offsets = wave(Chirp(center_rad=CENTRE, joints=("elbow_flex",), low_hz=0.3, high_hz=3.0), 0.001)
    crossings = np.flatnonzero(np.diff(np.sign(offsets[5:, 2])) != 0)
    gaps = np.diff(crossings)
    assert gaps[0] > 5 * gaps[-1]
    assert (np.diff(gaps) <= 3).all()


def test_a_chirp_keeps_its_speed_above_the_corner():
    motion = Chirp(
        center_rad=CENTRE, joints=("elbow_flex",), amplitude_rad=(0.4,), corner_hz=0.5, low_hz=0.1
    )
    speed = np.abs(np.diff(wave(motion, 0.001)[:, 2])) / 0.001
    assert speed.max() == pytest.approx(0.4 * 2 * np.pi * 0.5, rel=0.15)


def test_joints_of_a_multisine_share_no_frequency():
    motion = Multisine(center_rad=CENTRE, duration_s=20.0, lines=3)
    lines = motion.wave(6, 20.0)
    spectrum = np.abs(np.fft.rfft(lines[: round(20.0 / FINE_S)], axis=0))
    peaks = [set(np.argsort(column)[-3:].tolist()) for column in spectrum.T]
    assert sum(map(len, peaks)) == len(set().union(*peaks)) == 18


@pytest.mark.parametrize("length", _TAPS)
def test_a_binary_sequence_looks_like_chance(length):
    """Of a maximal-length sequence, every shift but none at all agrees with it in half its bits."""
    bits = _sequence(2**length - 1)
    assert len(bits) == 2**length - 1
    likeness = np.fft.ifft(np.abs(np.fft.fft(bits)) ** 2).real
    np.testing.assert_allclose(likeness[1:], -1.0, atol=1e-6)


def test_a_triangle_goes_at_one_speed():
    motion = Triangle(center_rad=CENTRE, joints=("elbow_flex",), cycles=2)
    speed = np.abs(np.diff(wave(motion)[:, 2])) / PERIOD_S
    assert np.quantile(speed, 0.2) == pytest.approx(np.quantile(speed, 0.9), rel=0.01)


def test_stairs_have_time_to_settle():
    motion = Steps(center_rad=CENTRE, joints=("elbow_flex",), hold_s=1.0, blend_s=0.4)
    still = np.abs(np.diff(wave(motion)[:, 2])) < 1e-12
    assert still.mean() > 0.5


def test_holds_are_still_in_poses_that_differ_in_every_joint():
    motion = Holds(center_rad=CENTRE, poses=6, duration_s=18.0, blend_s=1.0)
    offsets = wave(motion)
    still = np.abs(np.diff(offsets, axis=0)).max(axis=1) < 1e-12
    poses = np.unique(offsets[1:][still].round(9), axis=0)
    poses = poses[np.abs(poses).max(axis=1) > 0]
    assert len(poses) == 6
    for column in poses.T:
        assert len(np.unique(column)) == 6


@given(width_s=st.floats(0.05, 1.0), height=st.floats(0.01, 2.0))
def test_a_rounded_step_is_as_quick_as_it_says(width_s, height):
    step = np.full((2000, 1), height)
    path = rounded(step, width_s)[:, 0]
    speed = np.diff(path) / FINE_S
    assert path.max() == pytest.approx(height)
    assert speed.max() <= 2.0 * height / width_s * 1.05
    assert np.abs(np.diff(speed)).max() / FINE_S <= 2 * np.pi * height / width_s**2 * 1.1


@given(distance=st.floats(0.001, 3.0), speed=st.floats(0.1, 3.0), acceleration=st.floats(0.5, 20.0))
def test_a_ramp_keeps_to_speed_and_acceleration(distance, speed, acceleration):
    start, end = np.zeros(2), np.array([distance, -0.5 * distance])
    period_s = 0.001
    path = ramp(start, end, ramp_s(end - start, speed, acceleration), period_s)
    np.testing.assert_allclose(path[-1], end, atol=1e-12)
    rate = np.diff(np.concatenate([start[None], path]), axis=0) / period_s
    assert np.abs(rate).max() <= speed * 1.001
    assert np.abs(np.diff(rate, axis=0)).max() / period_s <= acceleration * 1.05


BAD = [
    (lambda: Chirp(amplitude_rad=(-0.1,)), "amplitudes (-0.1,)"),
    (lambda: Chirp(amplitude_rad=()), "amplitudes ()"),
    (lambda: Chirp(joints=("a", "b", "c"), amplitude_rad=(0.1, 0.2)), "2 amplitudes for 3 joints"),
    (lambda: Chirp(duration_s=0.1), "a duration of 0.1 s"),
    (lambda: Chirp(low_hz=3.0, high_hz=1.0), "frequencies from 3.0 to 1.0 Hz"),
    (lambda: Multisine(lines=0), "0 lines"),
    (lambda: Multisine(lines=40).commands(body(), PERIOD_S), "240 lines of 6 joints"),
    (lambda: Holds(poses=100), "0.1 s for each pose"),
    (lambda: Prbs(bit_s=20.0), "bits of 20.0 s"),
    (lambda: Steps(hold_s=0.0), "stairs of 0.0 s"),
    (lambda: Triangle(cycles=0), "0 cycles"),
    (lambda: Chirp(center_rad=(0.0, 0.1)).commands(body(), PERIOD_S), "a centre of 2 angles"),
    (lambda: Chirp(joints=("elbow",)).commands(body(), PERIOD_S), "'elbow_flex'"),
    (lambda: Chirp().scaled(0.0), "cannot be scaled by 0.0"),
    (
        lambda: Chirp(together=False, duration_s=2.0).commands(body(), PERIOD_S),
        "2.0 s for 6 joints, one after the other",
    ),
]


@pytest.mark.parametrize(("make", "words"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_numbers_that_make_no_sense_are_refused(make, words):
    with pytest.raises(TrueupError) as error:
        make()
    assert words in str(error.value)
    assert error.value.fix


def test_a_joint_keeps_its_amplitude_when_it_moves_alone():
    motion = Chirp(center_rad=CENTRE, amplitude_rad=(0.1, 0.2, 0.3, 0.15, 0.25, 0.05))
    alone = motion.only(body(), ("gripper", "elbow_flex"))
    assert alone.amplitude_rad == (0.05, 0.3)
    assert replace(alone, joints=(), amplitude_rad=motion.amplitude_rad) == motion
