"""The rehearsal robot: physics behind a contract, exactly repeatable."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

from tests.hardware.robots import played, verdict
from trueup.errors import TrueupError
from trueup.evaluate import evaluate
from trueup.hardware import Pace, Robot, RobotLost, WallClock, open_robot
from trueup.hardware.hidden import Hidden
from trueup.hardware.hidden_motion import ThermalFade
from trueup.hardware.reality import Reality, read_reality
from trueup.hardware.rehearsal.cells import MujocoCells
from trueup.hardware.rehearsal.orders import Orders
from trueup.hardware.rehearsal.server import opened
from trueup.worlds import get
from trueup.worlds.scripted import ScriptedLift

LIFT = get("so101/lift")


def robot_of(reality: str, **options) -> Robot:
    return open_robot(f"rehearsal:{reality}", **options)


@pytest.fixture(scope="module")
def arm():
    """One robot of three bodies for the tests that only ask it things."""
    with robot_of("second-hand-arm", cells=3) as robot:
        yield robot


def scripted(robot: Robot, seeds: np.ndarray) -> np.ndarray:
    """Successes of the scripted grasp."""
    robot.enable()
    robot.reset(seeds=seeds)
    script, now = ScriptedLift(LIFT, robot.observe()), robot.clock.now_s()
    for k in range(LIFT.steps):
        robot.act(script(k, robot.observe()))
        now += robot.interface.period_s
        robot.clock.wait_until(now)
        if verdict(robot)["over"].all():
            break
    return verdict(robot)["success"]


def _held(cells: MujocoCells) -> np.ndarray:
    """Where the joints are after a second of holding still."""
    cells.reset(np.array([0]), np.array([3], np.uint64))
    for _ in range(25):
        cells.step()
    return cells.observation["joint_position"].copy()


class TestTruth:
    def test_trials_end_as_in_simulation_at_the_same_point(self) -> None:
        seeds = np.arange(12)
        with robot_of("loaded-cube", cells=12) as robot:
            found = scripted(robot, seeds)
        simulated = evaluate(
            LIFT,
            lambda worlds: ScriptedLift(LIFT, worlds.observation),
            read_reality("loaded-cube").point(LIFT),
            seeds,
        )
        assert np.array_equal(found, simulated.success)
        assert 0 < found.sum() < 12  # or the comparison would say nothing

    def test_what_a_body_does_depends_on_its_own_seed_alone(self) -> None:
        with robot_of("garage", cells=1) as robot:
            alone = played(robot, [5])
        with robot_of("garage", cells=4) as robot:
            together = played(robot, [9, 1, 5, 5])
        for name, values in together.items():
            assert np.array_equal(values[:, 2:3], alone[name])
            assert np.array_equal(values[:, 2], values[:, 3])
            assert not np.array_equal(values[:, 0], values[:, 1])

    def test_motors_stay_warm_from_trial_to_trial(self) -> None:
        def droops(*beyond: Hidden) -> list[np.ndarray]:
            cells = MujocoCells(Reality(story="A test.", beyond=beyond), LIFT, 1, threads=1)
            cells.power(True)
            return [_held(cells) for _ in range(2)]

        cold, warm = droops(ThermalFade(loss=0.6, minutes=0.05))
        first, second = droops()
        assert np.abs(warm - cold).max() > 1e-3
        assert np.array_equal(first, second)

    def test_seeds_are_counted_where_none_are_given(self, arm) -> None:
        arm.reset(seeds=[0, 1, 2])
        given = arm.observe()["cube_position"]
        with robot_of("second-hand-arm", cells=3) as fresh:
            assert np.array_equal(fresh.observe()["cube_position"], given)
            fresh.reset()
            assert not np.isin(fresh.observe()["cube_position"][:, :2], given).any()


class TestContract:
    def test_it_says_what_it_is(self, arm) -> None:
        assert (arm.kind, arm.real, arm.n) == ("rehearsal", False, 3)
        assert "sim-to-sim" in arm.name and "so101/lift" in arm.name
        assert arm.interface.measured == "joint_position"
        assert arm.interface.commands == LIFT.commands
        assert arm.columns["joint_velocity"] == LIFT.commands
        assert arm.columns["cube_orientation"] == ("w", "x", "y", "z")

    def test_without_torque_the_arm_is_limp_and_falls(self, arm) -> None:
        arm.disable()
        arm.reset(seeds=[1, 1, 1])
        before = arm.observe()["joint_position"]
        arm.clock.wait_until(arm.clock.now_s() + 3.0)
        fallen = np.abs(arm.observe()["joint_position"] - before)
        assert fallen.max() > 0.3

    def test_torque_holds_where_the_arm_has_fallen_to(self, arm) -> None:
        arm.disable()
        arm.reset(seeds=[1, 2, 3])
        arm.clock.wait_until(arm.clock.now_s() + 1.0)
        arm.enable()
        before = arm.observe()["joint_position"]
        np.testing.assert_allclose(arm.hold, before, atol=0.08)  # offsets and play included
        arm.clock.wait_until(arm.clock.now_s() + 1.0)
        np.testing.assert_allclose(arm.observe()["joint_position"], before, atol=0.1)

    def test_a_command_beyond_the_limits_is_cut(self, arm) -> None:
        arm.enable()
        sent = arm.act(np.full((3, 6), 9.0))
        assert np.array_equal(sent, np.tile(arm.interface.high, (3, 1)))
        assert np.array_equal(arm.hold, sent)

    @pytest.mark.parametrize(
        ("commands", "words"),
        [
            (np.zeros((2, 6)), r"shape \(2, 6\).*3 bodies"),
            (np.zeros(6), r"shape \(6,\)"),
            (np.where(np.arange(18).reshape(3, 6) == 9, np.nan, 0.0), "'wrist_flex' of body 1"),
        ],
    )
    def test_what_is_no_command_is_refused(self, arm, commands, words) -> None:
        arm.enable()
        hold = arm.hold
        with pytest.raises(TrueupError, match=words):
            arm.act(commands)
        assert np.array_equal(arm.hold, hold)

    def test_a_command_without_torque_is_refused(self, arm) -> None:
        arm.disable()
        with pytest.raises(TrueupError, match="torque is off"):
            arm.act(np.zeros((3, 6)))

    def test_time_passes_only_while_it_is_waited_for(self, arm) -> None:
        now = arm.clock.now_s()
        before = arm.observe()
        time.sleep(0.05)
        assert arm.clock.now_s() == now
        assert all(np.array_equal(v, before[k]) for k, v in arm.observe().items())
        arm.clock.wait_until(now + 0.1)  # not a whole number of periods of 0.04 s
        assert arm.clock.now_s() == pytest.approx(now + 0.12)

    def test_pace_keeps_its_rate_on_it(self, arm) -> None:
        pace = Pace(arm.clock, arm.interface.period_s)
        for _ in range(40):
            pace.wait()
        np.testing.assert_allclose(pace.timing.periods_s, 0.04, atol=1e-9)
        assert pace.timing.late_s.max() < 1e-9

    def test_a_wait_that_is_broken_off_does_no_harm(self, arm) -> None:
        """Ctrl-C, or a watchdog's bark, in the middle of an exchange."""

        def bark(*_: object) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, bark)
        broken = 0
        try:
            for delay_s in np.linspace(0.0005, 0.02, 40):
                start = arm.clock.now_s()
                signal.setitimer(signal.ITIMER_REAL, float(delay_s))
                try:
                    arm.clock.wait_until(start + 2.0)
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                except KeyboardInterrupt:
                    broken += 1
                arm.disable()
                arm.enable()
                now, seen = arm.clock.now_s(), arm.observe()["joint_position"]
                arm.clock.wait_until(now + 0.04)
                assert arm.clock.now_s() == pytest.approx(now + 0.04)
                np.testing.assert_allclose(arm.observe()["joint_position"], seen, atol=0.1)
        finally:
            signal.signal(signal.SIGALRM, before)
        assert broken > 10

    def test_some_bodies_begin_anew_while_others_go_on(self, arm) -> None:
        arm.enable()
        arm.reset(seeds=[1, 2, 3])
        target = arm.act(arm.hold + 0.3)
        arm.clock.wait_until(arm.clock.now_s() + 0.4)
        before = arm.observe()["joint_position"]
        arm.reset(seeds=[7], rows=np.array([1]))
        after = arm.observe()["joint_position"]
        assert np.array_equal(after[[0, 2]], before[[0, 2]])
        assert not np.isclose(after[1], before[1]).any()
        np.testing.assert_allclose(arm.hold[[0, 2]], target[[0, 2]])
        arm.reset(seeds=[7, 8, 9], rows=np.array([False, True, False]))  # one for each body will do
        assert not np.array_equal(arm.observe()["cube_position"][1], after[1])

    @pytest.mark.parametrize(
        ("seeds", "rows"),
        [([1, 2], None), ([-1, 0, 1], None), ([0.5, 1, 2], None), ([1], [5]), ([1, 2], [1, 0])],
    )
    def test_impossible_resets_are_refused(self, arm, seeds, rows) -> None:
        with pytest.raises(TrueupError, match="seed"):
            arm.reset(seeds=np.array(seeds), rows=None if rows is None else np.array(rows))
        arm.observe()  # and it is still there

    def test_an_episode_begins_undecided_and_ends_in_time(self, arm) -> None:
        arm.enable()
        arm.reset(seeds=[1, 2, 3])
        assert not verdict(arm)["over"].any()
        arm.clock.wait_until(arm.clock.now_s() + LIFT.episode_s)
        assert verdict(arm)["over"].all()
        assert not verdict(arm)["success"].any()

    def test_closing_twice_does_no_harm_and_then_it_is_gone(self) -> None:
        robot = robot_of("benign")
        with pytest.raises(TrueupError, match="not connected"):
            robot.observe()
        robot.connect()
        robot.disconnect()
        robot.disconnect()
        for call in (robot.observe, robot.connect, robot.enable):
            with pytest.raises(RobotLost, match="open_robot"):
                call()


class TestRate:
    def test_another_period_may_be_chosen(self) -> None:
        with robot_of("benign", period_s=0.02) as robot:
            assert robot.interface.period_s == 0.02
            robot.enable()
            robot.clock.wait_until(0.02)
            assert robot.clock.now_s() == pytest.approx(0.02)
            robot.clock.wait_until(robot.clock.now_s() + LIFT.episode_s - 0.04)
            assert not verdict(robot)["over"].any()
            robot.clock.wait_until(robot.clock.now_s() + 0.04)
            assert verdict(robot)["over"].all()


@pytest.fixture(scope="module")
def live():
    with robot_of("benign", realtime=True, period_s=0.02) as robot:
        yield robot


class TestRealTime:
    def test_time_passes_by_itself(self, live) -> None:
        assert isinstance(live.clock, WallClock)
        live.reset()
        before = live.observe()["joint_position"]
        time.sleep(1.0)
        assert np.abs(live.observe()["joint_position"] - before).max() > 0.05  # limp

    def test_a_command_acts_when_it_arrives(self, live) -> None:
        live.reset()
        live.enable()
        time.sleep(0.3)
        start = live.observe()["joint_position"][0, 0]
        live.act(live.hold + np.array([0.5, 0, 0, 0, 0, 0]))
        time.sleep(1.0)
        assert live.observe()["joint_position"][0, 0] - start == pytest.approx(0.5, abs=0.1)

    def test_nothing_else_can_make_it_pass(self, live) -> None:
        with pytest.raises(TrueupError, match="Time cannot pass"):
            live.pass_ticks(5)


class TestOpening:
    @pytest.mark.parametrize(
        ("address", "options", "words"),
        [
            ("rehearsal:", {}, "no robot at 'rehearsal:'"),
            ("robot", {}, "no robot at 'robot'.*tcp:HOST:PORT"),
            ("rehearsal:benign", {"cells": 0}, "of 0 cells"),
            ("tcp:127.0.0.1:1", {}, "No rehearsal robot answers at tcp:127.0.0.1:1"),
            ("tcp:nowhere", {}, "not HOST:PORT"),
            ("unix:/nowhere/at/all", {}, "No rehearsal robot answers"),
            ("tcp:127.0.0.1:1", {"cells": 4}, "cells cannot be 4"),
            ("unix:/nowhere", {"realtime": True}, "realtime cannot be True"),
            ("so101:/dev/null", {"cells": 2}, "cells cannot be 2"),
        ],
    )
    def test_a_wrong_address_is_a_sentence(self, address: str, options, words: str) -> None:
        with pytest.raises(TrueupError, match=words):
            open_robot(address, **options)

    @pytest.mark.parametrize(
        ("orders", "words"),
        [
            ({"reality": "benig"}, "Did you mean 'benign'"),
            ({"reality": "benign", "world": "so101/lif"}, "no world named 'so101/lif'"),
            ({"reality": "loaded-cube", "world": "so101/reach"}, "the world 'so101/reach'"),
            ({"reality": "not-a-cube", "world": "so101/reach"}, "no object named 'cube'"),
            ({"reality": "benign", "period_s": 0.012}, r"physics steps of 0\.005 s"),
            ({"reality": "benign", "period_s": 0.001}, r"Give a multiple of 0\.005"),
            ({"reality": "benign", "period_s": -1.0}, "whole number of physics steps"),
        ],
    )
    def test_wrong_orders_are_a_sentence(self, orders, words: str) -> None:
        with pytest.raises(TrueupError, match=words):
            opened(Orders(**orders))
