"""Six servos and an arm on one wire, without a port: who answers when, and what moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import TrueupError
from trueup.hardware.feetech.arm import STEP_S, Arm
from trueup.hardware.feetech.calibration import Scale, model_ranges
from trueup.hardware.feetech.faults import Faults
from trueup.hardware.feetech.line import Line
from trueup.hardware.feetech.mounting import Mounting
from trueup.hardware.feetech.packets import BROADCAST, Instruction, Packet, Parser
from trueup.hardware.feetech.registers import RAD_PER_TICK, register
from trueup.hardware.reality import read_reality, realities, reality_from
from trueup.worlds.so101 import HOME

BYTE_S = 1e-5


class Host:
    """Talks to a line as a host would, on the line's own clock."""

    def __init__(self, line: Line) -> None:
        self.line, self.now = line, 0.0
        calibrations = line.mounting.calibrations(model_ranges())
        self.scale = Scale(calibrations)

    def say(self, packet: Packet, baud_rate: int = 1_000_000) -> list[Packet]:
        self.replies = self.line.hear(packet, self.now, baud_rate)
        return list(Parser().feed(b"".join(reply.data for reply in self.replies)))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.line.advance(self.now)

    def set(self, name: str, value: int, to: int = BROADCAST) -> list[Packet]:
        known = register(name)
        data = bytes([known.address]) + known.encoded(value)
        return self.say(Packet(id=to, kind=Instruction.WRITE, parameters=data))

    def goals(self, rad) -> None:
        goal = register("Goal_Position")
        rows = [
            bytes([i]) + goal.encoded(int(tick))
            for i, tick in enumerate(self.scale.ticks(np.asarray(rad)), start=1)
        ]
        head = bytes([goal.address, goal.size])
        self.say(
            Packet(id=BROADCAST, kind=Instruction.SYNC_WRITE, parameters=head + b"".join(rows))
        )

    def all(self, name: str, ids=(1, 2, 3, 4, 5, 6)) -> dict[int, int]:
        known = register(name)
        asked = bytes([known.address, known.size, *ids])
        answers = self.say(Packet(id=BROADCAST, kind=Instruction.SYNC_READ, parameters=asked))
        return {answer.id: known.decoded(answer.parameters) for answer in answers}

    def joints(self) -> np.ndarray:
        return self.scale.rad(np.array(list(self.all("Present_Position").values())))


@pytest.fixture
def host() -> Host:
    return Host(Line(Arm.rehearsed()))


def with_mounting(**what) -> Host:
    return Host(Line(Arm.rehearsed(), Mounting(**what)))


# The wire -----------------------------------------------------------------------------------------


def test_an_answer_takes_the_time_of_its_bytes(host):
    ping = Packet(id=2, kind=Instruction.PING)
    assert host.say(ping) == [Packet(id=2, kind=0)]
    assert host.replies[0].due_s == pytest.approx(12 * BYTE_S)


def test_the_return_delay_comes_before_the_answer(host):
    host.set("Return_Delay_Time", 250, to=2)
    host.say(Packet(id=2, kind=Instruction.PING))
    assert host.replies[0].due_s == pytest.approx(12 * BYTE_S + 500e-6)


def test_a_slower_baud_rate_is_slower_and_needs_servos_that_know_it(host):
    assert host.say(Packet(id=2, kind=Instruction.PING), 500_000) == []
    host.set("Baud_Rate", 1, to=2)
    assert host.say(Packet(id=2, kind=Instruction.PING)) == []
    assert host.say(Packet(id=2, kind=Instruction.PING), 500_000) == [Packet(id=2, kind=0)]
    assert host.replies[0].due_s == pytest.approx(12 * 2 * BYTE_S)


def test_a_sync_read_is_answered_in_the_order_asked_one_after_the_other(host):
    assert list(host.all("Present_Voltage", ids=(5, 1, 3))) == [5, 1, 3]
    times = [reply.due_s for reply in host.replies]
    assert np.diff(times) == pytest.approx(7 * BYTE_S)
    assert times[0] == pytest.approx((6 + 5 + 7) * BYTE_S)


def test_a_broadcast_ping_finds_all(host):
    found = host.say(Packet(id=BROADCAST, kind=Instruction.PING))
    assert [answer.id for answer in found] == [1, 2, 3, 4, 5, 6]


def test_a_sync_read_of_a_stranger_leaves_its_place_empty(host):
    assert list(host.all("Present_Voltage", ids=(1, 77, 2))) == [1, 2]


def test_two_servos_of_one_number_spoil_each_other():
    host = with_mounting(ids=(1, 1, 3, 4, 5, 6))
    assert list(host.all("Present_Position", ids=(1, 3))) != [1, 3]
    assert list(host.all("Present_Position", ids=(3,))) == [3]


PACKETS = st.builds(
    Packet,
    id=st.sampled_from([1, 2, 6, 9, BROADCAST]),
    kind=st.sampled_from([*Instruction, 0x06, 0x77]),
    parameters=st.one_of(
        st.binary(max_size=20),
        st.builds(lambda a, rest: bytes([a]) + rest, st.integers(0, 90), st.binary(max_size=8)),
    ),
)


@settings(max_examples=30)
@given(st.lists(PACKETS, max_size=40))
def test_no_packet_breaks_the_line(packets):
    """Whatever a host writes anywhere, answers are packets and the arm stays finite."""
    host = Host(Line(Arm.rehearsed()))
    for packet in packets:
        host.say(packet)
        assert all(reply.due_s > host.now for reply in host.replies)
        host.wait(0.005)
    assert np.isfinite(host.line.arm.truth).all()


# The arm ------------------------------------------------------------------------------------------


def test_encoders_read_the_joints_to_the_tick(host):
    host.wait(0.5)
    host.joints()
    truth = host.line.arm.sensed()[0]
    assert host.joints() == pytest.approx(truth, abs=0.51 * RAD_PER_TICK + 1e-4)


def test_without_torque_goals_do_nothing_and_with_it_all_joints_follow(host):
    target = np.add(HOME, [0.3, -0.3, 0.3, -0.4, 0.4, 0.5])
    host.wait(10.0)
    rest = host.joints()
    host.goals(target)
    host.wait(0.5)
    assert host.joints() == pytest.approx(rest, abs=0.01)
    host.set("Torque_Enable", 1)
    host.goals(target)
    host.wait(2.0)
    assert host.joints() == pytest.approx(target, abs=0.1)


def test_a_goal_takes_effect_after_the_planted_delay(host):
    host.set("Torque_Enable", 1)
    host.goals(HOME)
    host.wait(1.0)
    moved = []
    for late in (0.0, 0.08):
        host.line.plant(Faults(command_late_s=late))
        before, told = host.line.arm.truth[0], host.now
        target = np.add(HOME, [0.4 if late else -0.4, 0, 0, 0, 0, 0])
        host.goals(target)
        while abs(host.line.arm.truth[0] - before) < 0.002:
            host.wait(STEP_S)
        moved.append(host.now - told)
        command = host.line.commands[-1]
        assert command.effective_s - command.received_s == pytest.approx(late)
        host.wait(1.5)
    assert moved[1] - moved[0] == pytest.approx(0.08, abs=0.004)


def test_a_weaker_gain_sags_more(host):
    host.set("Torque_Enable", 1)
    stretched = np.array([0.0, 0.0, 0.0, 0.0, 1.6, 0.6])
    sag = {}
    for gain in (64, 16, 8):
        host.goals(stretched - [0, 0, 0.3, 0, 0, 0])
        host.set("P_Coefficient", gain)
        host.wait(2.0)
        host.goals(stretched)
        host.wait(2.0)
        sag[gain] = host.joints()[2]
    assert sag[64] + 0.01 < sag[16] < sag[8] - 0.01


def test_goals_stop_at_the_position_limits(host):
    host.set("Torque_Enable", 1)
    host.set("Max_Position_Limit", 2147, to=1)
    host.set("Goal_Position", 3000, to=1)
    host.wait(2.0)
    assert host.all("Present_Position", ids=(1,))[1] == pytest.approx(2147, abs=20)


@pytest.mark.parametrize("joint", range(6))
def test_an_inverted_servo_reads_and_moves_the_other_way(joint):
    host = with_mounting(direction=tuple(-1 if i == joint else 1 for i in range(6)))
    middle = model_ranges().mean(axis=1)
    truth = host.line.arm.truth
    mirrored = truth.copy()
    mirrored[joint] = 2 * middle[joint] - truth[joint]
    assert host.joints() == pytest.approx(mirrored, abs=3 * RAD_PER_TICK)
    before = host.joints()
    host.set("Torque_Enable", 1)
    host.goals(before)
    host.wait(0.5)
    target = host.joints()
    target[joint] -= 0.3 * np.sign(before[joint] - middle[joint])
    truth = host.line.arm.truth
    host.goals(target)
    host.wait(1.0)
    assert (host.joints() - before)[joint] * (host.line.arm.truth - truth)[joint] < 0


def test_a_missed_calibration_shows_in_every_reading():
    error = (0.05, -0.1, 0.0, 0.3, 0.0, 0.0)
    host = with_mounting(calibration_error=error)
    assert host.joints() - host.line.arm.truth == pytest.approx(error, abs=2 * RAD_PER_TICK)


def test_a_hand_moves_limp_joints_and_not_driven_ones(host):
    host.set("Torque_Enable", 1, to=1)
    host.line.take_in_hand(np.array([1.0, -1.0, 0.0, 0.5, 0.0, 1.0]))
    host.wait(2.0)
    truth = host.line.arm.truth
    assert truth[1:] == pytest.approx([-1.0, 0.0, 0.5, 0.0, 1.0], abs=0.1)
    assert abs(truth[0]) < 0.1
    host.line.take_in_hand(None)
    assert host.line.arm.truth == pytest.approx(truth)


def test_load_and_current_speak_of_the_same_force(host):
    host.set("Torque_Enable", 1)
    host.goals(np.add(HOME, [0.0, 0.5, -0.2, 0, 0, 0]))
    host.wait(1.0)
    load, current = (np.array(list(host.all(f"Present_{w}").values())) for w in ("Load", "Current"))
    force = host.line.arm.sensed()[2]
    assert load == pytest.approx(force / 3.35 * 1000, abs=1.0)
    assert current * 0.0065 == pytest.approx(np.abs(force) / 3.35 * 2.7, abs=0.004)
    assert np.abs(load).max() > 50


# Faults -------------------------------------------------------------------------------------------


def test_dropped_and_corrupted_answers_come_at_their_share(host):
    ping = Packet(id=1, kind=Instruction.PING)
    host.line.plant(Faults(dropped=0.3))
    got = sum(bool(host.say(ping)) for _ in range(300))
    assert 180 <= got <= 240
    host.line.plant(Faults(corrupted=1.0))
    assert all(host.say(ping) != [Packet(id=1, kind=0)] for _ in range(50))
    assert len(host.replies) == 1


def test_late_answers_are_late_by_just_that(host):
    host.say(Packet(id=1, kind=Instruction.PING))
    prompt = host.replies[0].due_s
    host.line.plant(Faults(reply_late_s=0.02))
    host.say(Packet(id=1, kind=Instruction.PING))
    assert host.replies[0].due_s - prompt == pytest.approx(0.02)


def test_a_servo_that_vanishes_is_silent_and_limp(host):
    host.set("Torque_Enable", 1)
    host.goals(HOME)
    host.wait(1.0)
    before = host.line.arm.truth
    host.line.plant(Faults(missing=(3,)))
    assert list(host.all("Present_Position")) == [1, 2, 4, 5, 6]
    host.wait(4.0)
    fallen = np.abs(host.line.arm.truth - before)
    assert fallen[2] > 0.3
    assert np.delete(fallen, 2).max() < 0.15


def test_power_that_goes_and_returns_leaves_the_arm_limp(host):
    host.set("Torque_Enable", 1)
    host.set("P_Coefficient", 5, to=1)
    host.line.plant(Faults(powered=False))
    assert host.all("Present_Position") == {}
    host.wait(0.3)
    host.line.plant(Faults())
    assert set(host.all("Torque_Enable").values()) == {0}
    assert host.all("P_Coefficient", ids=(1,)) == {1: 16}
    assert host.all("Goal_Position") == pytest.approx(host.all("Present_Position"), abs=2)


def test_an_alarm_stands_in_every_answer(host):
    host.line.plant(Faults(alarms={6: 32}))
    assert host.say(Packet(id=6, kind=Instruction.PING)) == [Packet(id=6, kind=32)]
    assert host.say(Packet(id=5, kind=Instruction.PING)) == [Packet(id=5, kind=0)]


@pytest.mark.parametrize(
    "bad", [{"dropped": 1.5}, {"command_late_s": -1.0}, {"reply_late_s": 99.0}]
)
def test_faults_that_cannot_be_are_refused(bad):
    with pytest.raises(TrueupError, match=next(iter(bad))):
        Faults(**bad)


def test_a_fault_that_does_not_exist_is_refused_with_near_names():
    with pytest.raises(TrueupError, match="'dropped'"):
        Faults.from_json({"droped": 0.1})


# Realities ----------------------------------------------------------------------------------------


def test_the_arm_has_the_truth_of_its_reality():
    """A softer elbow sags as the ratio of the gains says, and an offset encoder reads wrong."""
    values = {"actuation/elbow_flex/kp": 6.5, "sensing/shoulder_pan/bias": 0.1}
    soft = {"trueup_reality": 1, "story": "soft", "values": values}
    goal = np.array([0.0, 0.0, 0.0, 0.0, 1.6, 0.6])
    sag, bias = [], []
    for arm in (Arm.rehearsed(), Arm.rehearsed(reality_from(soft))):
        for lift in (0.3, 0.0):
            arm.command(goal - [0, 0, lift, 0, 0, 0])
            arm.advance(arm.time_s + 3.0)
        sag.append(arm.truth[2])
        bias.append(arm.sensed()[0][0] - arm.truth[0])
    assert sag[1] / sag[0] == pytest.approx(2.0, rel=0.15)
    assert bias == pytest.approx([0.0, 0.1], abs=1e-3)


@pytest.mark.parametrize("name", realities())
def test_every_reality_can_stand_behind_a_bus(name):
    if read_reality(name).engine != "mujoco":
        pytest.skip("another engine has no bus")
    arm = Arm.rehearsed(name)
    arm.command(np.add(HOME, 0.1))
    arm.advance(0.3)
    assert all(np.isfinite(values).all() for values in arm.sensed())


def test_the_same_seed_and_commands_give_the_same_arm():
    ends = []
    for _ in range(2):
        arm = Arm.rehearsed(seed=3)
        arm.command(np.array(HOME) + 0.2)
        arm.advance(0.7)
        ends.append(arm.sensed()[0])
    assert np.array_equal(*ends)


def test_time_may_be_asked_for_in_any_pieces():
    whole, pieces = Arm.rehearsed(), Arm.rehearsed()
    whole.advance(0.25)
    for k in range(1, 251):
        pieces.advance(k * 0.001)
    assert np.array_equal(whole.truth, pieces.truth)
    assert whole.time_s == pytest.approx(pieces.time_s)


def test_another_engine_has_no_bus():
    bullet = {"trueup_reality": 1, "story": "other", "engine": "bullet"}
    with pytest.raises(TrueupError, match="no servo bus"):
        Arm.rehearsed(reality_from(bullet))
