"""Human: a person answers late and trembles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import arrived, run, wall
from trueup.effects import Reaction, Tremor, operator

DELAY, AMPLITUDE, FREQUENCY = (
    "human/reaction_delay",
    "human/tremor_amplitude",
    "human/tremor_frequency",
)


class TestReaction:
    @pytest.mark.parametrize("delay_s", [0.02, 0.05, 0.25, 0.6])
    def test_a_ramp_arrives_that_many_seconds_later(self, delay_s: float) -> None:
        rig = wall(Reaction(), period_s=0.02)
        trace = run(rig, {DELAY: 0.0}, {DELAY: delay_s}, steps=60, command=lambda t: t)
        now, late = arrived(trace).T
        np.testing.assert_allclose((now - late)[-10:], delay_s, atol=1e-6)

    def test_a_step_arrives_no_sooner(self) -> None:
        rig = wall(Reaction(), period_s=0.02)
        trace = run(rig, {DELAY: 0.2}, {DELAY: 0.21}, steps=40, command=1.0)
        np.testing.assert_allclose(arrived(trace)[9:12, 0], [0, 1, 1], atol=1e-6)
        np.testing.assert_allclose(arrived(trace)[9:12, 1], [0, 0.5, 1], atol=1e-6)

    def test_is_the_same_at_any_control_rate(self) -> None:
        for period_s in (0.01, 0.04):
            trace = run(
                wall(Reaction(), period_s=period_s),
                {DELAY: 0.25},
                steps=round(1.0 / period_s),
                command=lambda t: t,
            )
            np.testing.assert_allclose(arrived(trace)[-1], 0.75 - period_s, atol=1e-6)


class TestTremor:
    period_s = 0.02

    def trembling(self, *points, seeds, steps: int = 500, side: str = "left") -> np.ndarray:
        rig = wall(Tremor(), period_s=self.period_s)
        return arrived(run(rig, *points, steps=steps, seeds=seeds), side)

    @pytest.mark.parametrize("frequency_hz", [4.0, 9.0, 12.0])
    @pytest.mark.parametrize("amplitude", [0.01, 0.1])
    def test_has_its_frequency_and_amplitude(self, frequency_hz: float, amplitude: float) -> None:
        point = {AMPLITUDE: amplitude, FREQUENCY: frequency_hz}
        shake = self.trembling(point, seeds=[1])[:, 0]
        power = 2 / len(shake) * np.abs(np.fft.rfft(shake))  # 10 s: bins of 0.1 Hz
        at = np.fft.rfftfreq(len(shake), self.period_s)
        assert at[np.argmax(power)] == pytest.approx(frequency_hz)
        np.testing.assert_allclose(power.max(), amplitude, rtol=1e-3)
        assert np.sort(power)[-2] < 1e-3 * amplitude  # and nothing else

    def test_each_joint_and_person_has_a_phase_of_its_own(self) -> None:
        points, seeds = [{AMPLITUDE: 0.05}] * 3, [1, 2, 1]
        left = self.trembling(*points, seeds=seeds)
        right = self.trembling(*points, seeds=seeds, side="right")
        assert np.array_equal(left[:, 0], left[:, 2])
        assert np.abs(left[:, 0] - left[:, 1]).max() > 0.01
        assert np.abs(left[:, 0] - right[:, 0]).max() > 0.01

    def test_a_steady_hand_changes_nothing(self) -> None:
        assert np.array_equal(self.trembling({AMPLITUDE: 0.0}, seeds=[1]), np.zeros((500, 1)))


def test_a_late_person_trembles_at_once() -> None:
    rig = wall(*operator(), period_s=0.02)
    trace = run(rig, {DELAY: 0.2, AMPLITUDE: 0.05}, steps=10, command=1.0)
    assert np.abs(arrived(trace)).max() > 0.01
    assert np.abs(arrived(trace)).max() < 0.051
