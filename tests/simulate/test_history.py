"""Delays: an episode begins as if it had always been so, and a command acts when it should."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.pendulum import MJCF, Pendulum
from trueup import worlds
from trueup.effects import latency
from trueup.simulate import CpuWorlds
from trueup.worlds import Compiled

DELAYS = ("latency/action_delay", "latency/encoder_delay", "latency/current_delay")
WEIGHTLESS = MJCF.replace("<option ", "<option gravity='0 0 0' ")


@pytest.fixture(scope="module")
def weightless() -> Compiled:
    """Where nothing pulls, a servo told to hold does not move at all."""
    return Compiled(Pendulum(*latency(), mjcf=WEIGHTLESS))


def two(compiled: Compiled, values: dict[str, float]) -> CpuWorlds:
    """The nominal world beside one that differs, with the same seed."""
    batch = CpuWorlds(compiled, 2)
    batch.reset(compiled.space.points([{}, values]), 5)
    return batch


@pytest.mark.parametrize("delay_s", [0.003, 0.0125, 0.1, 0.15])
def test_a_delayed_servo_holds_from_the_first_moment(weightless, delay_s):
    batch = two(weightless, {"latency/action_delay": delay_s})
    assert np.abs(batch.hold).min() > 0.01  # not zero, where MuJoCo's empty buffers would pull it
    for _ in range(15):
        batch.step(batch.hold)
        np.testing.assert_allclose(batch.truth["swing_position"], batch.hold, rtol=0, atol=1e-12)


def test_a_delayed_arm_sags_like_one_without_delay():
    compiled = Compiled(worlds.get("so101/reach"))
    batch = two(compiled, {"latency/action_delay": 0.1})
    for _ in range(5):
        step = batch.step(batch.hold)
        one, other = step.privileged["true_tcp_position"]
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", DELAYS)
def test_the_first_readings_are_those_of_a_world_without_delay(name):
    compiled = Compiled(worlds.get("so101/reach"))
    batch = two(compiled, {name: 0.1})
    for key, values in batch.observation.items():
        np.testing.assert_array_equal(values[0], values[1], err_msg=key)


def test_a_delayed_encoder_reads_the_start_first(weightless):
    batch = two(weightless, {"latency/encoder_delay": 0.1})
    start = batch.observation["position"].copy()
    seen = [batch.step(batch.hold + 0.5).observation["position"][:, 0] for _ in range(12)]
    assert [abs(value[1] - start[1, 0]) < 1e-12 for value in seen] == [True] * 5 + [False] * 7
    assert abs(seen[0][0] - start[0, 0]) > 1e-4


@pytest.mark.parametrize("delay_s", [0.02, 0.05, 0.1])
def test_a_command_acts_after_its_delay(weightless, delay_s):
    batch = two(weightless, {"latency/action_delay": delay_s})
    moved = np.zeros((2, 40))
    for k in range(40):
        batch.step(batch.hold + 0.5)
        moved[:, k] = batch.truth["swing_position"][:, 0] - batch.hold[:, 0]
    late = round(delay_s / 0.02 + 0.499)
    np.testing.assert_array_equal(np.argmax(moved > 1e-9, axis=1), [0, int(delay_s / 0.02)])
    if delay_s % 0.02 == 0:
        np.testing.assert_allclose(moved[1, late:], moved[0, :-late], rtol=1e-6, atol=1e-9)


def test_a_delay_below_half_a_physics_step_is_none(weightless):
    batch = two(weightless, {"latency/action_delay": 0.002, "latency/encoder_delay": 0.002})
    for _ in range(10):
        step = batch.step(batch.hold + 0.3)
        np.testing.assert_array_equal(
            step.observation["position"][0], step.observation["position"][1]
        )


def test_a_reset_forgets_commands_on_their_way(weightless):
    batch = two(weightless, {"latency/action_delay": 0.1})
    for _ in range(3):
        batch.step(batch.hold + 0.8)
    batch.reset(weightless.space.point({"latency/action_delay": 0.1}), 5, [1])
    for _ in range(8):
        batch.step(batch.hold)
        assert abs(batch.truth["swing_position"][1, 0] - batch.hold[1, 0]) < 1e-12


def test_a_slower_loop_lets_more_time_pass(weightless):
    batch = two(weightless, {"latency/control_period_error": 0.25})
    for _ in range(4):
        batch.step(batch.hold)
    np.testing.assert_allclose(batch.time_s, [0.08, 0.10])
