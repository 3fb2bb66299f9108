"""Latency: a delay is that many seconds, and only where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effects.rigs import arm, arrived, run, wall
from trueup.effects import (
    ActionDelay,
    ControlPeriod,
    JointDelay,
    LostCommands,
    SensorDelay,
    latency,
)


def crossing(time: np.ndarray, x: np.ndarray, level: float) -> float:
    """When a rising signal passes a level, between samples."""
    k = int(np.argmax(x > level))
    return float(np.interp(level, x[k - 1 : k + 1], time[k - 1 : k + 1]))


class TestActionDelay:
    name = "latency/action_delay"

    @pytest.mark.parametrize("delay_s", [0.02, 0.0375, 0.05, 0.1, 0.15])
    @pytest.mark.parametrize("period_s", [0.002, 0.02])
    def test_a_step_is_answered_that_many_seconds_later(
        self, delay_s: float, period_s: float
    ) -> None:
        steps = round(0.4 / period_s)
        points = ({self.name: 0.0}, {self.name: delay_s})
        rig = arm(ActionDelay(), gravity=0.0, period_s=period_s)
        trace = run(rig, *points, steps=steps, command=0.5)
        now, late = (crossing(trace["time"][:, i], trace["angle"][:, i], 0.05) for i in (0, 1))
        # between the samples of a slow loop the crossing is known less well
        np.testing.assert_allclose(late - now, delay_s, atol=0.0021 + 0.1 * period_s)

    @pytest.mark.parametrize("delay_s", [0.002, 0.02, 0.1])
    def test_whole_steps_are_exact(self, delay_s: float) -> None:
        trace = run(wall(ActionDelay()), {self.name: delay_s}, steps=100, command=1.0)
        assert np.count_nonzero(arrived(trace) < 0.5) == round(delay_s / 0.002)

    def test_a_fraction_of_a_step_lies_between(self) -> None:
        trace = run(
            wall(ActionDelay(), timestep=0.005, period_s=0.005),
            *({self.name: d} for d in (0.0, 0.035, 0.0375, 0.04)),
            steps=60,
            command=lambda t: t,
        )
        lag = (arrived(trace)[:, :1] - arrived(trace))[-1]
        np.testing.assert_allclose(lag, [0.0, 0.035, 0.0375, 0.04], atol=1e-9)

    def test_below_half_a_physics_step_is_none(self) -> None:
        trace = run(wall(ActionDelay()), {self.name: 0.0009}, steps=5, command=1.0)
        np.testing.assert_allclose(arrived(trace), 1.0, rtol=1e-9)

    def test_a_delayed_servo_starts_by_holding_where_it_is(self) -> None:
        rig = arm(ActionDelay(), gravity=0.0)
        rig._start = {"hinge": [0.4]}
        trace = run(rig, {self.name: 0.1}, steps=40, command=0.4)
        np.testing.assert_allclose(trace["angle"], 0.4, atol=1e-9)


class TestActionJitter:
    delay, jitter = "latency/action_delay", "latency/action_jitter"

    def extra(self, jitter_s: float, *, delay_s: float = 0.02) -> np.ndarray:
        """Delays beyond the constant one, from a command that rises by 1 a second."""
        trace = run(
            wall(ActionDelay(), period_s=0.002),
            {self.delay: 0.0, self.jitter: 0.0},
            *[{self.delay: delay_s, self.jitter: jitter_s}] * 4,
            steps=1000,
            command=lambda t: t,
            seeds=range(5),
        )
        sent = arrived(trace)
        return (sent[:, :1] - sent)[200:, 1:] - delay_s

    @pytest.mark.parametrize("jitter_s", [0.005, 0.02])
    def test_spreads_the_delay(self, jitter_s: float) -> None:
        extra = self.extra(jitter_s)
        assert extra.min() > -1e-9  # jitter never makes a command early
        assert extra.max() < 3.0 / 0.6028 * jitter_s * (1 + 1e-6)  # draws are single precision
        # "standard deviation of the extra delay", as the parameter says of itself
        np.testing.assert_allclose(extra.std(), jitter_s, rtol=0.1)

    def test_is_proportional(self) -> None:
        small, large = self.extra(0.005), self.extra(0.02)
        np.testing.assert_allclose(large.mean() / small.mean(), 4.0, rtol=0.05)

    def test_a_little_jitter_alone_is_a_little_delay(self) -> None:
        # the physics step is 2 ms: 0.2 ms of jitter must not count as a whole step
        extra = self.extra(0.0002, delay_s=0.0)
        assert extra.mean() < 0.0005

    def test_differs_between_seeds(self) -> None:
        extra = self.extra(0.01)
        assert np.abs(np.triu(np.corrcoef(extra.T), 1)).max() < 0.15


class TestSensorDelay:
    encoder, current = "latency/encoder_delay", "latency/current_delay"

    @pytest.mark.parametrize("delay_s", [0.01, 0.0375, 0.1])
    def test_readings_are_that_many_seconds_old(self, delay_s: float) -> None:
        trace = run(arm(*latency(), gravity=0.0), {self.encoder: delay_s}, steps=400, command=0.5)
        time, true, read = trace["time"][:, 0], trace["truth/angle"][:, 0], trace["angle"][:, 0]
        age = crossing(time, read, 0.05) - crossing(time, true, 0.05)
        np.testing.assert_allclose(age, delay_s, atol=0.0005)
        old = np.interp(time - delay_s, time, true)
        np.testing.assert_allclose(read, old, atol=0.002 * np.abs(np.diff(true)).max() / 0.002)

    def test_the_truth_and_other_sensors_are_not_delayed(self) -> None:
        points = ({self.encoder: 0.0, self.current: 0.0}, {self.encoder: 0.05, self.current: 0.0})
        trace = run(arm(*latency(), gravity=0.0), *points, steps=100, command=0.5)
        for name in ("truth/angle", "truth/tip", "force"):
            assert np.array_equal(trace[name][:, 0], trace[name][:, 1]), name
        for name in ("angle", "speed"):
            assert not np.array_equal(trace[name][:, 0], trace[name][:, 1]), name

    def test_currents_have_a_delay_of_their_own(self) -> None:
        points = ({self.current: 0.0}, {self.current: 0.04})
        trace = run(arm(*latency(), gravity=0.0), *points, steps=100, command=0.5)
        assert np.array_equal(trace["angle"][:, 0], trace["angle"][:, 1])
        force, late = trace["force"].T
        np.testing.assert_allclose(late[21:], force[1:-20], atol=1e-12)

    def test_a_delayed_sensor_starts_with_the_first_reading(self) -> None:
        rig = arm(*latency(), gravity=0.0)
        rig._start = {"hinge": [0.4]}
        trace = run(rig, {self.encoder: 0.1}, steps=40, command=1.0)
        np.testing.assert_allclose(trace["angle"], 0.4, atol=1e-12)


class TestLostCommands:
    drop, repeat = "latency/drop_probability", "latency/repeat_probability"
    sent = np.arange(1.0, 3001.0)[:, None] * np.full(2, 1e-3)

    def numbers(self, trace) -> np.ndarray:
        """Which command the servo acted on at each step, counted from 1."""
        return np.round(arrived(trace) / 1e-3)

    def test_dropped_commands_leave_the_last_one_standing(self) -> None:
        trace = run(wall(LostCommands()), {self.drop: 0.3}, steps=3000, command=self.sent)
        got, sent = self.numbers(trace)[:, 0], np.arange(1, 3001)
        fresh = got == sent
        np.testing.assert_allclose(1 - fresh.mean(), 0.3, atol=0.03)
        held = np.concatenate([[0.0], got[:-1]])
        assert np.array_equal(got, np.where(fresh, sent, held))

    def test_repeated_commands_are_the_one_before(self) -> None:
        trace = run(wall(LostCommands()), {self.repeat: 0.3}, steps=3000, command=self.sent)
        late = np.arange(1, 3001) - self.numbers(trace)[:, 0]
        assert set(late) == {0.0, 1.0}
        np.testing.assert_allclose(late.mean(), 0.3, atol=0.03)

    def test_a_lost_packet_is_lost_for_all_servos(self) -> None:
        trace = run(wall(LostCommands()), {self.drop: 0.3}, steps=300, command=self.sent)
        assert np.array_equal(arrived(trace), arrived(trace, "right"))

    def test_differs_between_seeds(self) -> None:
        points = [{self.drop: 0.3}] * 3
        trace = run(wall(LostCommands()), *points, steps=300, command=self.sent, seeds=[1, 2, 1])
        got = arrived(trace)
        assert np.array_equal(got[:, 0], got[:, 2])
        assert not np.array_equal(got[:, 0], got[:, 1])


class TestControlPeriod:
    name = "latency/control_period_error"

    def test_time_passes_faster_or_slower(self) -> None:
        errors = np.array([-0.3, 0.0, 0.1, 0.3])
        trace = run(
            arm(ControlPeriod(), period_s=0.02), *({self.name: e} for e in errors), steps=50
        )
        np.testing.assert_allclose(trace["time"][-1], 1.0 + errors, rtol=1e-9)

    def test_a_late_loop_finds_the_arm_further(self) -> None:
        rig = arm(ControlPeriod(), period_s=0.02, gravity=0.0)
        trace = run(rig, {self.name: 0.0}, {self.name: 0.3}, steps=10, command=1.0)
        time, angle = trace["time"], trace["angle"]
        assert angle[3, 1] > 1.15 * angle[3, 0]
        # the same motion, seen at other times
        then = np.interp(time[:7, 1], time[:, 0], angle[:, 0])
        np.testing.assert_allclose(angle[:7, 1], then, atol=0.02)


@pytest.mark.parametrize("effect", [ActionDelay(), *latency()[1:3]])
def test_longest_delay_fits_at_the_shortest_step(effect: ActionDelay | SensorDelay) -> None:
    rig = arm(effect, ControlPeriod(), gravity=0.0)
    name = effect.parameters(rig.model)[0].name
    longest = rig.catalogue[name].high
    trace = run(
        rig,
        {name: longest, "latency/control_period_error": -0.3},
        {name: 0.0, "latency/control_period_error": -0.3},
        steps=300,
        command=0.5,
    )
    late, now = trace["force" if "current" in name else "angle"].T
    shift = longest / (0.7 * 0.002)  # in steps
    then = np.interp(np.arange(301) - shift, np.arange(301), now)
    first = round(shift) + 5  # a step's jump is blurred between two samples
    np.testing.assert_allclose(late[first:], then[first:], atol=0.03 * np.ptp(now))


class TestJointDelay:
    shared = "latency/action_delay"
    left, right = "latency/left/delay", "latency/right/delay"

    def test_each_servo_is_late_by_its_own_and_by_what_all_share(self) -> None:
        points = (
            {self.shared: 0.0, self.left: 0.0, self.right: 0.0},
            {self.shared: 0.0, self.left: 0.02, self.right: 0.0},
            {self.shared: 0.01, self.left: 0.02, self.right: 0.05},
        )
        trace = run(wall(ActionDelay(), JointDelay()), *points, steps=100, command=1.0)
        for side, wanted in (("left", (0, 10, 15)), ("right", (0, 0, 30))):
            late = np.count_nonzero(arrived(trace, side) < 0.5, axis=0)
            np.testing.assert_array_equal(late, wanted)

    def test_alone_it_needs_no_shared_delay(self) -> None:
        points = ({self.left: 0.0, self.right: 0.04}, {self.left: 0.06, self.right: 0.0})
        trace = run(wall(JointDelay()), *points, steps=100, command=1.0)
        assert np.count_nonzero(arrived(trace, "left") < 0.5, axis=0).tolist() == [0, 30]
        assert np.count_nonzero(arrived(trace, "right") < 0.5, axis=0).tolist() == [20, 0]

    def test_jitter_comes_on_top(self) -> None:
        point = {self.left: 0.02, self.right: 0.0, "latency/action_jitter": 0.01}
        trace = run(wall(ActionDelay(), JointDelay()), point, steps=400, command=lambda t: t)
        lag = {s: trace["time"][:-1] - arrived(trace, s) for s in ("left", "right")}
        assert lag["left"][100:].min() >= 0.02 - 1e-9
        assert lag["left"][100:].mean() - lag["right"][100:].mean() == pytest.approx(0.02, abs=2e-3)
