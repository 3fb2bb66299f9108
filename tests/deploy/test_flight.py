"""The control loop: what is sent, what is kept, and what ends it."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from tests.deploy.robots import REACH, still, world
from trueup.deploy import Flight, fly, guard_for
from trueup.episodes import Episode, Outcome
from trueup.hardware import RobotLost, Stopped, open_robot


@pytest.fixture(scope="module")
def robot():
    with open_robot(f"rehearsal:benign@{REACH}", cells=2, threads=1) as robot:
        robot.enable()
        yield robot


def begun(robot):
    robot.reset(np.array([3, 4]))
    guard = guard_for(still(), robot, world())
    guard.begin(robot.hold, robot.clock.now_s())
    return guard, Flight.of(robot)


def episode(flight, row) -> Episode:
    kept = flight.tape.episode(
        row, int(flight.ended[row]), task="t", outcome=Outcome.FAILURE, labels={}, origin={}
    )
    assert kept is not None
    return kept


def test_a_flight_ends_with_the_episode_and_keeps_every_turn(robot):
    guard, flight = begun(robot)
    pilot = still().pilot(robot.n)
    pilot.begin(robot.observe(), robot.hold)
    fly(robot, pilot, guard, flight, turns=500)
    assert (flight.ended == world().steps).all()
    kept = episode(flight, 1)
    assert {"command", "joint_position", "target_position"} <= set(kept.signals)
    assert len(kept["command"]) == world().steps
    assert kept["joint_position"].names == robot.columns["joint_position"]
    np.testing.assert_allclose(np.diff(kept["joint_position"].time_s), 0.04)
    turns = flight.tape.turns
    assert len(turns) == world().steps
    assert (turns.late_s < 1e-9).all()
    assert (turns.infer_s > 0).all()


def test_commands_are_recorded_as_they_were_sent_within_the_limits(robot):
    guard, flight = begun(robot)
    far = robot.hold + np.array([0.0, 0.0, 0.0, 0.0, 9.0, 0.0])
    fly(robot, lambda seen: far, guard, flight, turns=200)
    told = episode(flight, 0)["command"].values
    assert told[-1, 4] == pytest.approx(robot.interface.high[4])
    assert np.abs(np.diff(told[:, 4])).max() <= guard.limits.speed[4] * 0.04 + 1e-9
    assert guard.clipped[4] > 0


def test_a_shadow_sends_nothing_and_keeps_what_it_would_have_sent(robot):
    guard, flight = begun(robot)
    hold = robot.hold
    away = hold + 0.1
    fly(robot, lambda seen: away, guard, flight, turns=10, shadow=True)
    kept = episode(flight, 0)
    np.testing.assert_array_equal(robot.hold, hold)
    np.testing.assert_allclose(kept["proposed"].values, np.tile(away[0], (10, 1)))
    np.testing.assert_allclose(kept["command"].values, np.tile(hold[0], (10, 1)))
    assert np.ptp(kept["joint_position"].values, axis=0).max() < 0.05


def test_a_policy_that_answers_nan_stops_its_body_and_not_the_other(robot):
    guard, flight = begun(robot)

    def pilot(seen):
        answer = robot.hold
        if len(flight.tape) == 5:
            answer[1, 2] = np.nan
        return answer

    fly(robot, pilot, guard, flight, turns=20)
    assert list(flight.stopped) == [1]
    assert "'elbow_flex' is nan" in flight.stopped[1]
    assert flight.ended.tolist() == [20, 6]
    assert len(episode(flight, 1)["command"]) == 6


def test_a_stalled_policy_is_stopped_and_what_came_before_is_kept(robot):
    guard, flight = begun(robot)

    def pilot(seen):
        if len(flight.tape) == 4:
            time.sleep(60.0)
        return robot.hold

    with pytest.raises(Stopped, match=r"stood still .* in 'infer'"):
        fly(robot, pilot, guard, flight, turns=20, stall_s=0.3)
    assert len(flight.tape) == 4


def test_a_robot_that_vanishes_is_told_and_what_came_before_is_kept():
    with open_robot(f"rehearsal:benign@{REACH}", cells=2, threads=1) as lost:
        server = child_of_this_process()
        lost.enable()
        guard, flight = begun(lost)

        def pilot(seen):
            if len(flight.tape) == 7:
                os.kill(server, signal.SIGKILL)
            return lost.hold

        with pytest.raises(RobotLost, match="no longer answers"):
            fly(lost, pilot, guard, flight, turns=20)
    assert 7 <= len(flight.tape) <= 8


def test_an_onlooker_ends_it(robot):
    guard, flight = begun(robot)

    class Onlooker:
        def turn(self):
            return "success" if len(flight.tape) == 3 else None

    fly(robot, lambda seen: robot.hold, guard, flight, turns=20, onlooker=Onlooker())
    assert flight.word == "success"
    assert flight.ended.tolist() == [3, 3]


def child_of_this_process() -> int:
    """The robot's own process, which is the last one that was started."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return int(file.read().split()[-1])
