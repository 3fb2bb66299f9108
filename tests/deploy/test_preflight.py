"""Preflight: planted faults are named with joint and evidence; a sound robot passes."""

from __future__ import annotations

from dataclasses import replace
from math import radians

import numpy as np
import pytest

from tests.deploy.robots import REACH, reality, still, world
from trueup.deploy import Fault, Miswired, in_degrees, preflight
from trueup.deploy.wiring.finding import Finding
from trueup.errors import TrueupError
from trueup.hardware import Stopped, open_robot
from trueup.policies import network_bytes, network_layers
from trueup.worlds.so101 import JOINTS


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    address = reality(tmp_path_factory.mktemp("sound"), latency__action_delay=0.01)
    with open_robot(address, threads=1) as robot:
        yield robot


def found(robot, fault: Fault, **how) -> Finding:
    checked = preflight(still(), Miswired(robot, fault, world()), world(), move=True, **how)
    assert not checked.passed
    with pytest.raises(TrueupError, match="found that"):
        checked.refuse()
    return checked.findings[0]


QUICK = [
    (Fault(swap=("wrist_flex", "wrist_roll"), side="told"), "order", "wrist_flex"),
    (Fault(swap=("shoulder_lift", "elbow_flex"), side="read"), "order", "shoulder_lift"),
    (Fault(swap=("shoulder_lift", "wrist_flex")), "pose", None),
    (Fault(invert="shoulder_pan", side="told"), "sign", "shoulder_pan"),
    (Fault(invert="elbow_flex", side="read"), "sign", "elbow_flex"),
    (in_degrees(JOINTS), "units", "shoulder_lift"),
    (in_degrees(("elbow_flex",), "told"), "units", "elbow_flex"),
    (Fault(scale={"gripper": 52.0}), "units", "gripper"),
    (Fault(scale={"shoulder_pan": 4.0}, side="told"), "scale", "shoulder_pan"),
    (Fault(declared_s=1 / 30), "contract", None),
]


@pytest.mark.parametrize(("fault", "check", "joint"), QUICK)
def test_a_fault_that_a_wiggle_shows_is_named(robot, fault, check, joint):
    finding = found(robot, fault, sweep=False)
    assert finding.check == check
    assert finding.joint == joint
    assert joint is None or repr(joint) in finding.evidence


RIPPLE = {"effect": "gear_ripple", "torque": 0.86, "teeth": 14}
STUTTER = {"effect": "bus_hiccups", "per_minute": 143.0, "shortest_s": 0.2, "longest_s": 1.05}


@pytest.mark.parametrize(("beyond", "friction"), [(RIPPLE, 0.0), (STUTTER, 0.46)])
def test_a_robot_that_is_only_odd_is_not_called_miswired(tmp_path, beyond, friction):
    """Gears in which a joint hops, a bus that stutters most of the time: no wire is wrong."""
    rubs = {f"actuation__{joint}__load_friction": friction for joint in JOINTS}
    with open_robot(reality(tmp_path, beyond, **rubs), threads=1) as odd:
        assert preflight(still(), odd, world(), move=True, sweep=False).passed


THOROUGH = [
    (Fault(offset={"shoulder_pan": radians(3.0)}), "zero", "shoulder_pan"),
    (Fault(offset={"shoulder_lift": radians(3.0)}, side="read"), "zero", "shoulder_lift"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "check", "joint"), THOROUGH)
def test_a_fault_that_only_limits_show_is_named(robot, fault, check, joint):
    finding = found(robot, fault)
    assert (finding.check, finding.joint) == (check, joint)
    assert "3." in finding.evidence or "2." in finding.evidence  # degrees, about three


@pytest.mark.slow
def test_a_sound_robot_passes_and_says_what_was_looked_at(robot):
    checked = preflight(still(), robot, world(), move=True)
    assert checked.passed, checked.findings
    checked.refuse()
    assert "rate" in checked.checked
    assert checked.skipped == ()
    assert set(checked.measured["wiggle_gain"]) == set(JOINTS)
    assert checked.to_json()["passed"]


@pytest.mark.slow
def test_readings_that_come_every_other_turn_are_noticed(robot):
    finding = found(robot, Fault(stale=2))
    assert finding.check == "rate"
    assert "50%" in finding.evidence


def test_without_leave_nothing_moves(tmp_path):
    with open_robot(f"rehearsal:benign@{REACH}", threads=1) as robot:
        before = robot.observe()["joint_position"]
        checked = preflight(still(), robot, world(), move=False)
        assert checked.passed
        assert "torque was not allowed" in checked.skipped[0]
        with pytest.raises(TrueupError, match="torque is off"):
            robot.act(robot.hold)
        np.testing.assert_array_equal(robot.observe()["joint_position"], before)


def test_a_quick_check_says_what_it_did_not_see(robot):
    checked = preflight(still(), robot, world(), move=True, sweep=False)
    assert checked.passed
    assert "zeros" in checked.skipped[0]
    assert checked.motion_s < 40.0


def test_readings_that_no_network_has_seen_are_named(robot):
    policy = still()
    mean, scale, layers = network_layers(policy.stored)
    scale = np.array(scale)
    scale[13] = 1e-3  # the second force
    odd = network_bytes(mean=mean, scale=scale, layers=layers)
    checked = preflight(replace(policy, stored=odd), robot, world(), move=False)
    assert [f.check for f in checked.findings] == ["input"]
    assert checked.findings[0].joint == "shoulder_lift"
    assert "'joint_force' [1]" in checked.findings[0].evidence


def test_the_operator_may_stop_it(robot):
    turns = []

    def stop():
        turns.append(1)
        if len(turns) == 5:
            raise Stopped("The operator stopped it.", asked=True)

    with pytest.raises(Stopped, match="operator"):
        preflight(still(), robot, world(), move=True, on_turn=stop)
    assert len(turns) == 5


def test_a_miswired_robot_is_consistent_with_itself(robot):
    """Signals that follow from joints follow from the wrong ones; told and read undo each other."""
    fault = Fault(swap=("elbow_flex", "gripper"), offset={"wrist_flex": 0.3})
    wrong = Miswired(robot, fault, world())
    robot.enable()
    robot.reset()
    right, seen = robot.observe(), wrong.observe()
    q, off = right["joint_position"], seen["joint_position"]
    np.testing.assert_allclose(off[:, [2, 5]], q[:, [5, 2]])
    np.testing.assert_allclose(off[:, 3], q[:, 3] + 0.3)
    assert not np.allclose(seen["tcp_position"], right["tcp_position"])
    told = wrong.hold
    told[0, 0] += 0.05
    np.testing.assert_allclose(wrong.act(told), told)
    np.testing.assert_allclose(robot.hold[0, 0], told[0, 0])
    with pytest.raises(TrueupError, match="no joint named 'elbow'"):
        Miswired(robot, Fault(invert="elbow"), world())
