"""Sensing: readings go wrong by the amount declared, and the truth stays what it is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import Trace, arm, run, worlds_at
from trueup.effects import Encoder, sensing

ENCODER, SPEED, CURRENT = "sensing/encoder", "sensing/speed", "sensing/current"


def rig(period_s: float = 0.02):
    return arm(*sensing(), period_s=period_s, timestep=0.01, limit=20.0)


def error(trace: Trace, name: str) -> np.ndarray:
    """Reading less truth, (T, n); world 0 must be the nominal one."""
    return trace[name][:, 1:] - trace[name][:, :1]


def watched(*points, steps: int = 500, command=lambda t: 0.5 * np.sin(t), period_s: float = 0.02):
    """The nominal world, and one world per point, on the same motion with seeds of their own."""
    first = dict.fromkeys((name for p in points for name in p), 0.0)
    first |= {name: 1.0 for name in first if name.endswith("gain")}
    seeds = range(len(points) + 1)
    trace = run(rig(period_s), first, *points, steps=steps, command=command, seeds=seeds)
    for name in ("truth/angle", "truth/tip"):  # readings do not act back on the arm
        assert (trace[name] == trace[name][:, :1]).all(), name
    return trace


class TestEncoder:
    def test_bias_shifts_the_reading_alone(self) -> None:
        trace = watched({"sensing/hinge/bias": 0.1}, {"sensing/hinge/bias": -0.05})
        np.testing.assert_allclose(error(trace, "angle"), [[0.1, -0.05]] * 501, atol=1e-12)
        assert (error(trace, "speed") == 0).all()
        assert (error(trace, "force") == 0).all()

    @pytest.mark.parametrize("quantum", [2 * np.pi / 4096, 0.02])
    def test_quantum_rounds_to_ticks(self, quantum: float) -> None:
        trace = watched({f"{ENCODER}/quantum": quantum})
        ticks = trace["angle"][:, 1] / quantum
        np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-9)
        off = error(trace, "angle")
        assert np.abs(off).max() <= 0.5 * quantum * (1 + 1e-9)
        np.testing.assert_allclose(off.std(), quantum / 12**0.5, rtol=0.1)

    @pytest.mark.parametrize("std", [0.002, 0.02])
    def test_noise_is_white_and_as_large_as_declared(self, std: float) -> None:
        noise = error(watched(*[{f"{ENCODER}/noise": std}] * 4), "angle")
        np.testing.assert_allclose(noise.std(axis=0), std, rtol=0.15)
        np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=5 * std / 500**0.5)
        assert abs(np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]) < 0.2
        assert np.abs(np.triu(np.corrcoef(noise.T), 1)).max() < 0.2

    @pytest.mark.parametrize("period_s", [0.02, 0.04])
    def test_drift_grows_with_the_root_of_time_at_any_rate(self, period_s: float) -> None:
        steps = round(16.0 / period_s)
        points = [{f"{ENCODER}/drift": 0.01}] * 300
        walk = error(watched(*points, steps=steps, period_s=period_s, command=0.0), "angle")
        for seconds in (1.0, 4.0, 16.0):
            spread = walk[round(seconds / period_s)].std()
            np.testing.assert_allclose(spread, 0.01 * seconds**0.5, rtol=0.15)

    def test_dropout_repeats_the_last_reading(self) -> None:
        trace = watched({f"{ENCODER}/dropout": 0.3}, steps=2000)
        read, true = trace["angle"][:, 1], trace["angle"][:, 0]
        fresh = read == true
        np.testing.assert_allclose(1 - fresh.mean(), 0.3, atol=0.04)
        stale = np.flatnonzero(~fresh)
        assert np.array_equal(read[stale], read[stale - 1])

    def test_the_servo_does_not_feel_the_encoder(self) -> None:
        watched({"sensing/hinge/bias": 0.3, f"{ENCODER}/noise": 0.02})  # asserts the truth

    def test_all_at_once_add_up(self) -> None:
        everything = {"sensing/hinge/bias": 0.1, f"{ENCODER}/noise": 0.002}
        off = error(watched(everything), "angle")
        np.testing.assert_allclose(off.mean(), 0.1, atol=5e-4)
        np.testing.assert_allclose(off.std(), 0.002, rtol=0.15)


class TestSpeed:
    def test_quantum(self) -> None:
        trace = watched({f"{SPEED}/quantum": 0.0767})
        ticks = trace["speed"][:, 1] / 0.0767
        np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-9)
        assert np.abs(error(trace, "speed")).max() <= 0.5 * 0.0767 * (1 + 1e-9)
        assert (error(trace, "angle") == 0).all()

    def test_noise(self) -> None:
        noise = error(watched(*[{f"{SPEED}/noise": 0.1}] * 2), "speed")
        np.testing.assert_allclose(noise.std(axis=0), 0.1, rtol=0.15)


class TestCurrent:
    def test_gain_and_offset(self) -> None:
        trace = watched({f"{CURRENT}/gain": 2.0}, {f"{CURRENT}/offset": 0.2})
        force = trace["force"]
        np.testing.assert_allclose(force[:, 1], 2.0 * force[:, 0], rtol=1e-12)
        np.testing.assert_allclose(force[:, 2] - force[:, 0], 0.2, rtol=1e-12)
        assert (error(trace, "angle") == 0).all()

    def test_noise_and_dropout(self) -> None:
        trace = watched({f"{CURRENT}/noise": 0.1}, {f"{CURRENT}/dropout": 0.4}, steps=2000)
        np.testing.assert_allclose(error(trace, "force")[:, 0].std(), 0.1, rtol=0.08)
        stale = trace["force"][1:, 2] == trace["force"][:-1, 2]
        np.testing.assert_allclose(stale.mean(), 0.4, atol=0.04)

    def test_drift(self) -> None:
        points = [{f"{CURRENT}/drift": 0.1}] * 300
        walk = error(watched(*points, steps=200, command=0.0), "force")
        np.testing.assert_allclose(walk[[50, 200]].std(axis=1), [0.1, 0.2], rtol=0.15)


NOISY = {f"{ENCODER}/noise": 0.01, f"{ENCODER}/dropout": 0.2, f"{SPEED}/noise": 0.1}


class TestSeeds:
    def test_equal_seeds_read_alike_and_others_do_not(self) -> None:
        trace = run(rig(), *[NOISY] * 3, steps=50, seeds=[3, 4, 3])
        for name in ("angle", "speed"):
            assert np.array_equal(trace[name][:, 0], trace[name][:, 2])
            assert not np.array_equal(trace[name][:, 0], trace[name][:, 1])

    def test_noise_of_one_sensor_is_not_that_of_another(self) -> None:
        noise = watched({f"{ENCODER}/noise": 0.01, f"{SPEED}/noise": 0.1})
        together = np.corrcoef(error(noise, "angle")[:, 0], error(noise, "speed")[:, 0])[0, 1]
        assert abs(together) < 0.15

    def test_a_world_reset_beside_others_reads_as_one_reset_with_them(self) -> None:
        points = [NOISY | {"sensing/hinge/bias": 0.1}] * 2
        together = worlds_at(rig(), *points, seeds=[5, 6])
        one_by_one = worlds_at(rig(), *points, seeds=[1, 2])
        for row in (0, 1):
            one_by_one.reset(one_by_one.space.points(points[row]), [5 + row], [row])
        for _ in range(10):
            for signal in ("angle", "speed", "force"):
                np.testing.assert_array_equal(
                    one_by_one.observation[signal], together.observation[signal], signal
                )
            for worlds in (together, one_by_one):
                worlds.step(np.zeros((2, 1)))

    def test_the_first_reading_is_measured_too(self) -> None:
        point = {"sensing/hinge/bias": 0.1}
        worlds = worlds_at(arm(Encoder()), point, point)
        np.testing.assert_allclose(worlds.observation["angle"], 0.1, atol=1e-12)
        worlds.reset(worlds.space.points(point), [1], [1])
        np.testing.assert_allclose(worlds.observation["angle"], 0.1, atol=1e-12)
