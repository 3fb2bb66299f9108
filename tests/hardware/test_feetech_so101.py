"""So101 on an emulated bus, through Feetech's SDK: units, zeros, the contract, and what breaks."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.hardware import RobotLost, open_robot
from trueup.hardware.check import check_robot
from trueup.hardware.feetech import (
    EmulatedArm,
    Faults,
    Mounting,
    Scale,
    calibration_json,
    doubts,
    model_ranges,
    read_calibration,
)
from trueup.hardware.feetech.host import check_port
from trueup.hardware.feetech.registers import RAD_PER_TICK
from trueup.hardware.so101 import ServoAlarm, So101
from trueup.worlds import get
from trueup.worlds.interface import interface_of
from trueup.worlds.so101 import HOME, JOINTS


@pytest.fixture(scope="module")
def running() -> Iterator[EmulatedArm]:
    with EmulatedArm() as arm:
        yield arm


@pytest.fixture
def arm(running) -> Iterator[EmulatedArm]:
    running.plant(Faults())
    yield running
    running.take_in_hand(None)
    running.plant(Faults(powered=False))


def held(arm: EmulatedArm, pose) -> None:
    """Somebody moves the limp arm into a pose, and keeps it there until the test is over."""
    arm.take_in_hand(np.array(pose))
    for _ in range(50):
        time.sleep(0.1)
        if np.abs(arm.joints - pose).max() < 0.03:
            time.sleep(0.3)
            return
    pytest.fail(f"the arm is stuck at {arm.joints} on its way to {pose}")


def so101(arm: EmulatedArm, **options) -> So101:
    return So101(arm.port, driver="sdk", **options)


# Units and zeros ----------------------------------------------------------------------------------


def test_ticks_become_radians_of_the_model_and_back():
    calibrations = Mounting().calibrations(model_ranges())
    scale, ranges = Scale(calibrations), model_ranges()
    rng = np.random.default_rng(0)
    for _ in range(50):
        rad = rng.uniform(scale.low, scale.high)
        assert scale.rad(scale.ticks(rad)) == pytest.approx(rad, abs=0.51 * RAD_PER_TICK)
    assert scale.rad(np.full(6, 2047))[:5] == pytest.approx(ranges.mean(axis=1)[:5], abs=0.002)
    assert scale.low == pytest.approx(ranges[:, 0], abs=0.002)
    assert scale.high == pytest.approx(ranges[:, 1], abs=0.002)


def test_the_jaw_is_stretched_over_the_range_that_was_calibrated():
    """LeRobot's 0 and 100 are the model's closed and open jaw, however many ticks lie between."""
    calibrations = Mounting().calibrations(model_ranges())
    calibrations["gripper"] = replace(calibrations["gripper"], range_min=1500, range_max=2900)
    scale = Scale(calibrations)
    closed, opened = model_ranges()[5]
    ticks = np.full(6, 2047)
    for jaw, rad in ((1500, closed), (2900, opened), (2200, 0.5 * (closed + opened))):
        ticks[5] = jaw
        assert scale.rad(ticks)[5] == pytest.approx(rad)


def test_targets_beyond_the_calibrated_range_stop_at_its_end():
    calibrations = Mounting().calibrations(model_ranges())
    calibrations["elbow_flex"] = replace(calibrations["elbow_flex"], range_min=1847, range_max=2247)
    scale = Scale(calibrations)
    far = scale.ticks(np.full(6, 9.0))
    assert far[2] == 2247
    assert scale.rad(far)[2] == pytest.approx(200 * RAD_PER_TICK)


def test_what_is_observed_is_where_the_joints_are(arm):
    with so101(arm) as robot:
        held(arm, (0.4, -0.9, 0.7, 0.3, -0.6, 1.2))
        seen, truth = robot.observe(), arm.joints
    assert seen["joint_position"][0] == pytest.approx(truth, abs=0.002)
    tcp = so101_tcp(seen["joint_position"])
    assert seen["tcp_position"] == pytest.approx(tcp, abs=1e-9)


def so101_tcp(q: np.ndarray) -> np.ndarray:
    from trueup.worlds.tabletop import tcp_kinematics

    return tcp_kinematics(get("so101/reach"))(q)


def test_an_arm_calibrated_wrongly_reads_wrongly_by_just_that():
    error = (0.1, 0.0, -0.2, 0.0, 0.0, 0.0)
    with EmulatedArm(mounting=Mounting(calibration_error=error)) as arm, so101(arm) as robot:
        held(arm, HOME)
        off = robot.observe()["joint_position"][0] - arm.joints
    assert off == pytest.approx(error, abs=0.003)


def test_its_interface_is_that_of_the_worlds_as_far_as_servos_can_know():
    face, world = So101("/dev/null", driver="sdk").interface, interface_of(get("so101/lift"))
    own = {feature.name: feature for feature in face.observations}
    theirs = {feature.name: feature for feature in world.observations}
    for name in ("joint_position", "joint_velocity", "joint_force", "tcp_position"):
        assert own[name] == theirs[name]
    assert (face.commands, face.unit, face.measured) == (world.commands, world.unit, world.measured)
    assert face.period_s == world.period_s
    assert face.low == pytest.approx(world.low)
    assert face.high == pytest.approx(world.high)


# The contract -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_keeps_the_robot_contract(arm):
    findings = check_robot(so101(arm), armed=True)
    assert {finding.verdict for finding in findings} == {"kept"}


def test_an_emulated_arm_is_not_taken_for_a_real_one(arm):
    robot = so101(arm)
    assert robot.real, "until it is known better"
    with robot:
        assert not robot.real
        assert "sim-to-sim" in robot.name


def test_it_opens_by_its_address(arm):
    with open_robot(f"so101:{arm.port}", period_s=0.02) as robot:
        assert robot.kind == "so101"
        assert robot.interface.period_s == 0.02
        assert robot.observe()["joint_position"].shape == (1, 6)


def test_enable_does_not_jump_to_an_old_goal(arm):
    with so101(arm) as robot:
        robot.enable()
        robot.act(np.add([HOME], [0.4, 0, 0, 0, 0, 0]))
        time.sleep(0.8)
        robot.disable()
        held(arm, (-0.6, *HOME[1:]))
        before = arm.joints
        robot.enable()
        arm.take_in_hand(None)
        time.sleep(0.5)
        assert arm.joints == pytest.approx(before, abs=0.12)


def test_reset_goes_to_the_ready_pose_only_with_torque(arm):
    with so101(arm) as robot:
        before = arm.joints
        robot.reset()
        assert arm.joints[0] == pytest.approx(before[0], abs=0.02)
        robot.enable()
        robot.act(np.add(robot.hold, [0.5, 0, 0, 0, 0, 0]))
        time.sleep(0.5)
        robot.reset()
        time.sleep(0.5)
        assert robot.hold[0] == pytest.approx(HOME, abs=0.002)
        assert arm.joints == pytest.approx(HOME, abs=0.1)


def test_commands_without_torque_are_refused(arm):
    with so101(arm) as robot, pytest.raises(TrueupError, match="no torque"):
        robot.act(robot.hold)


def test_health_has_volts_and_degrees(arm):
    with so101(arm) as robot:
        health = robot.health()
    assert list(health) == list(JOINTS)
    assert health["gripper"]["voltage_v"] == pytest.approx(12.0)
    assert 20 < health["gripper"]["temperature_c"] < 70


# Calibration --------------------------------------------------------------------------------------


def test_new_servos_are_refused_with_how_to_calibrate():
    with EmulatedArm(mounting=Mounting(calibrated=False)) as arm:
        robot = so101(arm)
        with pytest.raises(TrueupError, match=r"not calibrated.*lerobot-calibrate"):
            robot.connect()
        with pytest.raises(TrueupError, match="not connected"):
            robot.observe()
        robot.disconnect()


def test_a_calibration_file_must_be_this_arms(arm, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(calibration_json(arm.calibrations))
    with so101(arm, calibration=file) as robot:
        assert robot.calibrations == arm.calibrations
    other = dict(arm.calibrations)
    other["wrist_flex"] = replace(other["wrist_flex"], homing_offset=77)
    file.write_text(calibration_json(other))
    with pytest.raises(TrueupError, match=r"'wrist_flex'.*offset 77"):
        so101(arm, calibration=file).connect()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a calibration"),
        ('{"gripper": {"id": 6}}', "gripper.drive_mode"),
        ("{}", "lacks shoulder_pan"),
    ],
)
def test_a_broken_calibration_file_is_a_sentence(tmp_path, text, words):
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(TrueupError, match=words):
        read_calibration(file)
    with pytest.raises(TrueupError, match="cannot be read"):
        read_calibration(tmp_path / "absent.json")


def test_a_range_that_falls_is_refused(tmp_path):
    calibrations = Mounting().calibrations(model_ranges())
    calibrations["gripper"] = replace(calibrations["gripper"], range_min=3000)
    file = tmp_path / "odd.json"
    file.write_text(calibration_json(calibrations))
    with pytest.raises(TrueupError, match="'gripper' has a range from 3000"):
        read_calibration(file)


def test_a_joint_that_was_not_moved_to_its_stops_is_doubted():
    calibrations = Mounting().calibrations(model_ranges())
    assert doubts(calibrations) == []
    short = replace(calibrations["shoulder_lift"], range_min=1500)
    (sentence,) = doubts({**calibrations, "shoulder_lift": short})
    assert "'shoulder_lift'" in sentence
    assert "26°" in sentence


# What breaks --------------------------------------------------------------------------------------


def test_one_lost_answer_is_asked_for_again(arm):
    with so101(arm) as robot:
        held(arm, HOME)
        arm.plant(Faults(dropped=0.03))
        for _ in range(20):
            assert robot.observe()["joint_position"][0] == pytest.approx(HOME, abs=0.05)


def test_after_a_stall_everything_is_as_it_is_now(arm):
    """The bus answers later than anybody waits; when it has recovered, nothing old is read."""
    with so101(arm) as robot:
        held(arm, HOME)
        arm.plant(Faults(reply_late_s=0.12))
        with suppress(RobotLost):
            robot.observe()
        arm.plant(Faults())
        held(arm, (0.8, *HOME[1:]))
        assert robot.observe()["joint_position"][0, 0] == pytest.approx(0.8, abs=0.05)


def test_an_answer_left_over_is_not_taken_for_a_new_one(arm):
    """One exchange was given up, and its answer lies in the port when the next one begins."""
    with so101(arm) as robot:
        robot._driver._reader.txPacket()
        held(arm, (-0.7, *HOME[1:]))
        assert robot.observe()["joint_position"][0, 0] == pytest.approx(-0.7, abs=0.05)


def test_a_servo_that_vanishes_is_named(arm):
    with so101(arm) as robot:
        arm.plant(Faults(missing=(4,)))
        with pytest.raises(
            RobotLost, match=r"servo 4 \(wrist_flex\) does not answer, the others do"
        ):
            robot.observe()


def test_power_that_goes_is_said(arm):
    robot = so101(arm)
    robot.connect()
    robot.enable()
    arm.plant(Faults(powered=False))
    with pytest.raises(RobotLost, match="No servo answers"):
        robot.observe()
    robot.disconnect()


def test_a_port_that_is_pulled_is_lost_and_can_still_be_let_go():
    arm = EmulatedArm().start()
    robot = so101(arm)
    robot.connect()
    robot.enable()
    arm.stop()
    with pytest.raises(RobotLost, match="port"):
        for _ in range(5):
            robot.observe()
    with pytest.raises(RobotLost, match="port"):
        for _ in range(5):
            robot.act(robot.hold)
    robot.disconnect()
    robot.disconnect()


def test_torque_goes_off_after_an_exchange_that_was_interrupted(arm):
    """Ctrl-C in the middle of a read leaves the SDK believing that its port is in use."""
    robot = so101(arm)
    robot.connect()
    robot.enable()
    before = arm.joints
    robot._driver._serial.is_using = True
    robot.disconnect()
    time.sleep(2.0)
    assert np.abs(arm.joints - before).max() > 0.1, "the arm should have sunk"


def test_an_alarm_stops_a_driven_arm(arm):
    with so101(arm) as robot:
        arm.plant(Faults(alarms={6: 32}))
        robot.observe()
        arm.plant(Faults())
        robot.enable()
        arm.plant(Faults(alarms={6: 32, 1: 4}))
        with pytest.raises(ServoAlarm, match="'shoulder_pan' reports overheat"):
            robot.observe()


def test_wrong_ids_are_told(arm):
    words = r"6 \(gripper\) does not answer.*setup-motors"
    odd = EmulatedArm(mounting=Mounting(ids=(1, 2, 3, 4, 5, 16)))
    with odd, pytest.raises(TrueupError, match=words):
        so101(odd).connect()


def test_a_missing_port_is_a_sentence():
    with pytest.raises(TrueupError, match=r"There is no port /dev/ttyNONE"):
        So101("/dev/ttyNONE", driver="sdk").connect()


def test_what_is_no_port_is_a_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(TrueupError, match="not a serial port"):
        So101(str(file), driver="sdk").connect()


def test_a_busy_port_names_who_has_it(arm):
    with so101(arm), pytest.raises(TrueupError, match=rf"in use by .*process {os.getpid()}"):
        so101(arm).connect()


def test_a_port_without_permission_says_what_to_do(arm):
    """As a user who may not: root may open everything."""
    os.chmod(arm.port, 0)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            check_port(arm.port)
            os.write(write, b"opened")
        except TrueupError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    said = os.read(read, 10_000).decode()
    os.close(read)
    os.chmod(arm.port, 0o620)
    assert "may not be opened by this user" in said
    assert "usermod -aG" in said


def test_without_any_driver_the_extra_is_named():
    """In a Python that has neither LeRobot nor the SDK."""
    program = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('lerobot', 'scservo_sdk') else "
        "find(name, *a)\n"
        "from trueup.hardware.so101 import So101\n"
        "So101('/dev/ttyACM0')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'trueup[lerobot]'" in ended.stderr


def test_an_unknown_driver_is_refused():
    with pytest.raises(TrueupError, match="lerobot or sdk"):
        So101("/dev/ttyACM0", driver="dynamixel")  # type: ignore[arg-type]
