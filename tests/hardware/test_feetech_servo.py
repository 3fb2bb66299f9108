"""One servo's memory: what it answers, keeps, forgets and refuses."""

import pytest

from trueup.hardware.feetech.packets import BROADCAST, Instruction, Packet
from trueup.hardware.feetech.registers import register
from trueup.hardware.feetech.servo import Sensed, Servo


def write(name: str, value: int, to: int = 1, kind: int = Instruction.WRITE) -> Packet:
    known = register(name)
    return Packet(id=to, kind=kind, parameters=bytes([known.address]) + known.encoded(value))


def read(name: str, of: int = 1) -> Packet:
    known = register(name)
    return Packet(id=of, kind=Instruction.READ, parameters=bytes([known.address, known.size]))


def answered(servo: Servo, name: str, of: int = 1) -> int:
    answer = servo.answer(read(name, of))
    assert answer is not None
    return register(name).decoded(answer.parameters)


def test_it_answers_to_its_own_number_only():
    servo = Servo(ID=4)
    assert servo.answer(Packet(id=4, kind=Instruction.PING)) == Packet(id=4, kind=0)
    assert servo.answer(Packet(id=5, kind=Instruction.PING)) is None


def test_a_broadcast_is_obeyed_in_silence():
    servo = Servo()
    assert servo.answer(write("Torque_Enable", 1, to=BROADCAST)) is None
    assert servo["Torque_Enable"] == 1


def test_an_unknown_instruction_stays_without_an_answer():
    assert Servo().answer(Packet(id=1, kind=0x77)) is None


def test_read_only_registers_stay_as_they_are():
    servo = Servo()
    before = servo["Model_Number"]
    assert servo.answer(write("Model_Number", 1)) is not None
    assert servo["Model_Number"] == before


def test_a_registered_write_waits_for_the_action():
    servo = Servo()
    assert servo.answer(write("Goal_Position", 1234, kind=Instruction.REG_WRITE)) is not None
    assert servo["Goal_Position"] != 1234
    servo.answer(Packet(id=BROADCAST, kind=Instruction.ACTION))
    assert servo["Goal_Position"] == 1234
    servo.set("Goal_Position", 7)
    servo.answer(Packet(id=BROADCAST, kind=Instruction.ACTION))
    assert servo["Goal_Position"] == 7


def test_a_new_number_is_answered_under_the_old_one():
    servo = Servo()
    assert servo.answer(write("ID", 9)) == Packet(id=1, kind=0)
    assert servo.answer(Packet(id=1, kind=Instruction.PING)) is None
    assert servo.answer(Packet(id=9, kind=Instruction.PING)) is not None


def test_at_level_0_only_reads_and_pings_are_answered():
    servo = Servo(Response_Status_Level=0)
    assert servo.answer(write("Torque_Enable", 1)) is None
    assert servo["Torque_Enable"] == 1
    assert answered(servo, "Torque_Enable") == 1
    assert servo.answer(Packet(id=1, kind=Instruction.PING)) is not None


@pytest.mark.parametrize("locked", [True, False])
def test_what_was_written_to_a_locked_memory_is_lost_with_the_power(locked):
    servo = Servo(P_Coefficient=32)
    servo.answer(write("Lock", int(locked)))
    servo.answer(write("P_Coefficient", 16))
    assert servo["P_Coefficient"] == 16
    servo.restart()
    assert servo["P_Coefficient"] == (32 if locked else 16)
    assert servo["Lock"] == 1


def test_torque_is_off_and_limited_as_kept_after_a_restart():
    servo = Servo(Max_Torque_Limit=500)
    servo.answer(write("Torque_Enable", 1))
    servo.answer(write("Torque_Limit", 900))
    servo.restart()
    assert servo["Torque_Enable"] == 0
    assert servo["Torque_Limit"] == 500


@pytest.mark.parametrize(
    ("encoder", "offset", "position"), [(2000, 0, 2000), (2000, -47, 2047), (10, 100, 4006)]
)
def test_the_homing_offset_is_taken_off_the_encoder(encoder, offset, position):
    servo = Servo(Homing_Offset=offset)
    servo.feel(Sensed(encoder=encoder))
    assert answered(servo, "Present_Position") == position


def test_what_is_felt_can_be_read():
    servo = Servo()
    servo.alarm = 32
    servo.feel(Sensed(encoder=1, velocity=-150, load=-300, current=41, voltage=118, temperature=44))
    found = {
        name: answered(servo, name)
        for name in (
            "Present_Velocity",
            "Present_Load",
            "Present_Current",
            "Present_Voltage",
            "Present_Temperature",
            "Moving",
            "Status",
        )
    }
    assert list(found.values()) == [-150, -300, 41, 118, 44, 1, 32]
    status = servo.answer(Packet(id=1, kind=Instruction.PING))
    assert status is not None and status.kind == 32
