"""The emulated bus on its pseudo-terminal, driven by Feetech's own SDK in another process."""

import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scservo_sdk as scs

from trueup.errors import TrueupError
from trueup.hardware.feetech import EmulatedArm, Faults, Mounting
from trueup.hardware.feetech.registers import BAUD_RATES, REGISTERS, register

SUCCESS, TIMEOUT, CORRUPT = scs.COMM_SUCCESS, scs.COMM_RX_TIMEOUT, scs.COMM_RX_CORRUPT
IDS = (1, 2, 3, 4, 5, 6)
TRIES = 5  # the SDK gives up after 34 ms, which a busy machine may lose


class Bus:
    """The SDK on a port."""

    def __init__(self, port: str, baud_rate: int = 1_000_000) -> None:
        self.port, self.packets = scs.PortHandler(port), scs.PacketHandler(0)
        self.port.baudrate = baud_rate
        assert self.port.openPort()

    def read(self, name: str, of: int) -> int:
        known = register(name)
        result = None
        for _ in range(TRIES):
            data, result, _ = self.packets.readTxRx(self.port, of, known.address, known.size)
            if result == SUCCESS:
                return known.decoded(bytes(data))
            self.clear()
        pytest.fail(f"servo {of} does not answer: {result}")

    def write(self, name: str, to: int, value: int) -> int:
        known = register(name)
        data = list(known.encoded(value))
        result = TIMEOUT
        for _ in range(TRIES):
            result, _ = self.packets.writeTxRx(self.port, to, known.address, known.size, data)
            if result == SUCCESS:
                return result
            self.clear()
        return result

    def clear(self) -> None:
        assert self.port.ser is not None
        self.port.ser.reset_input_buffer()

    def ping(self, who: int) -> tuple[int, int]:
        model, result, _ = self.packets.ping(self.port, who)
        return model, result

    def sync_read(self, name: str, ids=IDS) -> tuple[int, list[int]]:
        known = register(name)
        group = scs.GroupSyncRead(self.port, self.packets, known.address, known.size)
        for who in ids:
            group.addParam(who)
        result = TIMEOUT
        for _ in range(TRIES):
            result = group.txRxPacket()
            if result == SUCCESS:
                break
            self.clear()
        raw = [group.getData(who, known.address, known.size) for who in ids]
        return result, [known.decoded(int(value).to_bytes(known.size, "little")) for value in raw]

    def sync_write(self, name: str, values: dict[int, int]) -> int:
        known = register(name)
        group = scs.GroupSyncWrite(self.port, self.packets, known.address, known.size)
        for who, value in values.items():
            group.addParam(who, list(known.encoded(value)))
        return group.txPacket()


@pytest.fixture(scope="module")
def arm() -> Iterator[EmulatedArm]:
    with EmulatedArm() as running:
        yield running


@pytest.fixture
def bus(arm) -> Iterator[Bus]:
    arm.plant(Faults())
    opened = Bus(arm.port)
    yield opened
    opened.port.closePort()
    arm.plant(Faults(powered=False))  # the next test finds the servos as they were kept


def test_servos_answer_and_strangers_do_not(bus):
    assert [bus.ping(who) for who in IDS] == [(777, SUCCESS)] * 6
    assert bus.ping(9) == (0, TIMEOUT)


def test_a_broadcast_ping_is_answered_by_all(bus):
    ping = [0xFF, 0xFF, 0xFE, 2, 1, 0xFE]
    bus.port.ser.write(bytes(ping))
    time.sleep(0.1)
    data = bus.port.ser.read(200)
    assert [data[6 * k + 2] for k in range(len(data) // 6)] == list(IDS)


@pytest.mark.parametrize("known", REGISTERS.values(), ids=lambda known: known.name)
def test_every_register_can_be_read_and_written_as_it_allows(bus, known):
    before = bus.read(known.name, 5)
    if known.name in ("ID", "Baud_Rate", "Response_Status_Level", "Return_Delay_Time"):
        return  # they change how it answers, and have tests of their own
    value = 3 if known.size == 1 else 300
    assert bus.write(known.name, 5, value) == SUCCESS
    after = bus.read(known.name, 5)
    if known.writable:
        assert after == value
    elif not known.name.startswith(("Present", "Moving", "Goal_Position_2")):
        assert after == before


def test_a_negative_homing_offset_survives(bus):
    assert bus.write("Homing_Offset", 2, -1234) == SUCCESS
    assert bus.read("Homing_Offset", 2) == -1234


def test_sync_write_and_sync_read_reach_all(bus):
    wanted = {who: 900 + who for who in IDS}
    assert bus.sync_write("Goal_Position", wanted) == SUCCESS
    assert bus.sync_read("Goal_Position") == (SUCCESS, list(wanted.values()))


def test_a_registered_write_waits_for_its_action(bus):
    goal = register("Goal_Position")
    before = bus.read("Goal_Position", 4)
    data = list(goal.encoded(2222))
    written = bus.packets.regWriteTxRx(bus.port, 4, goal.address, goal.size, data)
    assert written == (SUCCESS, 0)
    assert bus.read("Goal_Position", 4) == before
    assert bus.packets.action(bus.port, scs.BROADCAST_ID) == SUCCESS
    assert bus.read("Goal_Position", 4) == 2222


def test_a_bad_checksum_is_met_with_silence_and_the_next_packet_with_an_answer(bus):
    bus.port.ser.write(bytes([0xFF, 0xFF, 1, 2, 1, 0x00]))
    time.sleep(0.05)
    assert bus.port.ser.read(100) == b""
    assert bus.ping(1) == (777, SUCCESS)


def test_a_packet_that_breaks_off_does_not_swallow_the_next(bus):
    bus.port.ser.write(bytes([0xFF, 0xFF, 1, 200, 3, 42]))
    time.sleep(0.1)
    assert bus.ping(1) == (777, SUCCESS)


def test_only_the_right_speed_is_understood(arm, bus):
    bus.port.closePort()
    for speed in (500_000, 250_000, 115_200):
        other = Bus(arm.port, speed)
        assert other.ping(1)[1] == TIMEOUT
        other.port.closePort()
    bus.port.openPort()
    assert bus.write("Baud_Rate", 3, BAUD_RATES.index(250_000)) == SUCCESS
    bus.port.closePort()
    other = Bus(arm.port, 250_000)
    assert other.ping(3) == (777, SUCCESS)
    other.port.closePort()


def test_the_arm_moves_and_says_so(arm, bus):
    for who in IDS:
        goal = bus.read("Present_Position", who)
        assert bus.write("Goal_Position", who, goal) == SUCCESS
        assert bus.write("Torque_Enable", who, 1) == SUCCESS
    before, start = arm.joints, bus.read("Present_Position", 1)
    assert bus.sync_write("Goal_Position", {1: start + 200}) == SUCCESS
    ends, moving = [], False
    for _ in range(60):
        time.sleep(0.02)
        moving = moving or bus.read("Moving", 1) == 1
        ends.append(bus.read("Present_Position", 1))
    assert moving
    assert ends[-1] == pytest.approx(start + 200, abs=25)
    assert (arm.joints - before)[0] == pytest.approx(
        (ends[-1] - start) * 2 * np.pi / 4096, abs=0.01
    )


def test_late_answers_are_late(arm, bus):
    def quickest() -> float:
        times = []
        for _ in range(20):
            start = time.perf_counter()
            assert bus.sync_read("Present_Position")[0] == SUCCESS
            times.append(time.perf_counter() - start)
        return min(times)

    prompt = quickest()
    arm.plant(Faults(reply_late_s=0.015))
    assert 0.014 < quickest() - prompt < 0.03


def test_dropped_and_corrupted_answers_are_noticed_by_the_sdk(arm, bus):
    arm.plant(Faults(dropped=1.0))
    assert bus.ping(1)[1] == TIMEOUT
    arm.plant(Faults(corrupted=1.0))
    results = {bus.ping(1)[1] for _ in range(8)}
    assert SUCCESS not in results
    arm.plant(Faults())
    bus.clear()
    assert bus.ping(1) == (777, SUCCESS)


def test_one_missing_servo_breaks_the_sync_read(arm, bus):
    arm.plant(Faults(missing=(3,)))
    assert bus.sync_read("Present_Position")[0] == TIMEOUT
    assert bus.ping(3)[1] == TIMEOUT
    assert bus.ping(4) == (777, SUCCESS)


def test_the_truth_of_the_commands_is_known_to_the_owner(arm, bus):
    arm.plant(Faults(command_late_s=0.03))
    sent = time.perf_counter()
    bus.sync_write("Goal_Position", dict.fromkeys(IDS, 2047))
    time.sleep(0.1)
    received, effective = arm.commands()[-1]
    assert 0.0 < received - sent < 0.05
    assert effective - received == pytest.approx(0.03, abs=1e-6)


def test_a_port_whose_emulator_is_gone_fails():
    arm = EmulatedArm().start()
    bus = Bus(arm.port)
    assert bus.ping(1) == (777, SUCCESS)
    arm.stop()
    with pytest.raises((OSError, termios.error)):
        for _ in range(3):
            bus.ping(1)
    with pytest.raises(TrueupError, match="not running"):
        arm.plant(Faults())


def test_no_process_outlives_its_owner(tmp_path):
    """The owner is killed without a chance to clean up."""
    program = (
        "import time; from trueup.hardware.feetech import EmulatedArm\n"
        "arm = EmulatedArm().start(); print(arm._process.pid, flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    child = int(owner.stdout.readline())
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    for _ in range(100):
        try:
            os.kill(child, 0)
            stopped = "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1][:3]
        except (ProcessLookupError, FileNotFoundError):
            stopped = True
        if stopped:
            return
        time.sleep(0.05)
    pytest.fail("the emulator went on")


def test_served_here_it_ends_with_ctrl_c(tmp_path):
    """As the command line runs it: in the foreground, until somebody interrupts."""
    link = tmp_path / "arm"
    program = (
        "from trueup.hardware.feetech import Arm, serve_bus\n"
        f"serve_bus(Arm.rehearsed('benign'), link={str(link)!r},"
        " announce=lambda path: print(path, flush=True))"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stdout.readline().strip() == str(link)
    bus = Bus(str(link))
    assert bus.read("Model_Number", 2) == 777
    bus.port.closePort()
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=20)
    assert (server.returncode, said) == (0, "")
    assert not link.is_symlink()


def test_a_link_keeps_its_name(tmp_path):
    link = tmp_path / "arm"
    for _ in range(2):
        with EmulatedArm(link=link) as arm:
            assert arm.port == str(link)
            bus = Bus(str(link))
            assert bus.ping(6) == (777, SUCCESS)
            bus.port.closePort()
        assert not link.is_symlink()


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (dict(reality="benigne"), "benign"),
        (dict(world="so101/lft"), "so101/lift"),
        (dict(link=Path(__file__)), "no link"),
    ],
)
def test_what_cannot_be_built_is_said_in_a_sentence(wish, words):
    with pytest.raises(TrueupError, match=words):
        EmulatedArm(**wish).start()


def test_a_mounting_needs_one_number_for_each_joint():
    with pytest.raises(TrueupError, match="shoulder_pan"):
        Mounting(ids=(1, 2))
    with pytest.raises(TrueupError, match="1 or -1"):
        Mounting(direction=(1, 1, 1, 1, 1, 2))
