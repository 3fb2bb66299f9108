"""Six servos on one wire: who answers a packet, when, and what the arm does about it.

Half duplex at the baud rate: a packet of n bytes is heard n byte times after it began, an answer
begins after the servo's return delay and takes its own bytes' time, and the answers to a sync read
follow one another. All times are seconds on the emulator's clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trueup.hardware.feetech.arm import Arm
from trueup.hardware.feetech.calibration import FULL_TORQUE, GRIPPER, model_ranges
from trueup.hardware.feetech.faults import Faults
from trueup.hardware.feetech.mounting import Mounting
from trueup.hardware.feetech.packets import BROADCAST, Instruction, Packet
from trueup.hardware.feetech.registers import (
    AMPERE_PER_COUNT,
    FULL_LOAD,
    RAD_PER_TICK,
    SPEED_STEP,
    register,
)
from trueup.hardware.feetech.servo import Sensed, Servo
from trueup.worlds.so101 import JOINTS

AMPERE_AT_FULL_LOAD = 2.7  # stall current of the 12 V servo
_USUAL_P = 16  # LeRobot's P_Coefficient, with which the model's stiffness was fitted
_USUAL_LIMIT = np.array([FULL_LOAD // 2 if joint == GRIPPER else FULL_LOAD for joint in JOINTS])
_BITS = 10  # of a byte on the wire: start, eight, stop
_HAND = 3.0  # how much stronger than a servo a hand is
_GOAL = register("Goal_Position")
_WARMTH_K, _WARMTH_S, _ROOM_C = 45.0, 120.0, 25.0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Bytes that a servo sends.

    Attributes:
        due_s: When the last of them has left.
        data: The bytes.
    """

    due_s: float
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Command:
    """A goal that came over the wire, as the emulator alone knows it.

    Attributes:
        received_s: When its last byte had arrived.
        effective_s: When the servos began to obey.
        goals: What each servo was told, ticks; None where it was not told.
    """

    received_s: float
    effective_s: float
    goals: tuple[int | None, ...]


class Line:
    """The servos of one arm, and the arm they move.

    Args:
        arm: The body.
        mounting: How the servos sit in it.
        seed: Of what the faults draw.

    Attributes:
        faults: What is wrong now; replace it with `plant`.
        commands: The last goals that came.
        servos: In the order of the joints.
        zero_s: Where the line's time begins, on `time.perf_counter`.
    """

    def __init__(self, arm: Arm, mounting: Mounting | None = None, *, seed: int = 0) -> None:
        self.arm, self.mounting = arm, mounting or Mounting()
        self.faults, self.zero_s = Faults(), 0.0
        self.servos = self.mounting.servos(model_ranges())
        self.commands: deque[Command] = deque(maxlen=10_000)
        self._pending: deque[Command] = deque()
        self._random = np.random.default_rng(seed)
        self._hand: np.ndarray | None = None
        self._warmth = np.zeros(len(JOINTS))
        self._felt_s = 0.0
        self._targets = arm.truth
        for i in range(len(self.servos)):
            self._stay(i)
        self._pull()

    # The wire -----------------------------------------------------------------------------------

    def hear(self, packet: Packet, began_s: float, baud_rate: int = 1_000_000) -> list[Reply]:
        """Take a packet whose first byte came at a time; what the servos send back, and when."""
        byte_s = _BITS / baud_rate
        now = began_s + len(packet) * byte_s
        self.advance(now)
        self._feel()
        listening = [s for s in self._present() if s.baud_rate == baud_rate]
        before = [servo["Goal_Position"] for servo in self.servos]
        answers = self._answers(packet, listening)
        self._obey(packet, now, before, listening)
        return self._sent(answers, now, byte_s)

    def advance(self, until_s: float) -> None:
        """Let time pass; goals take effect on their way."""
        while self._pending and self._pending[0].effective_s <= until_s:
            command = self._pending.popleft()
            self.arm.advance(command.effective_s)
            self._follow(command)
        self.arm.advance(until_s)

    # What only the emulator's owner may do --------------------------------------------------------

    def plant(self, faults: Faults) -> None:
        """Make these faults true, and mend all others."""
        before, self.faults = self._present(), faults
        for i, servo in enumerate(self.servos):
            if servo in self._present() and servo not in before:
                servo.restart()
                self._stay(i)
            servo.alarm = faults.alarms.get(servo.id, 0)
        self._pull()

    def take_in_hand(self, pose: np.ndarray | None) -> None:
        """A person moves the limp joints (6,) to some angles, rad, or lets go of them."""
        self._hand = None if pose is None else np.array(pose, float)
        self._pull()
        self._aim()

    # ----------------------------------------------------------------------------------------------

    def _stay(self, i: int) -> None:
        """A servo that gets power takes where it is for its goal."""
        self._feel()
        self.servos[i].set("Goal_Position", self.servos[i]["Present_Position"])
        self._targets[i] = self._read[i]

    def _present(self) -> list[Servo]:
        """Servos that have power and a wire."""
        if not self.faults.powered:
            return []
        return [servo for servo in self.servos if servo.id not in self.faults.missing]

    def _answers(self, packet: Packet, listening: list[Servo]) -> list[tuple[Servo, bytes]]:
        if packet.kind == Instruction.SYNC_READ and len(packet.parameters) > 2:
            address, length, *ids = packet.parameters
            asked = (
                Packet(id=i, kind=Instruction.READ, parameters=bytes([address, length]))
                for i in ids
            )
            return [one for question in asked for one in self._voices(question, listening)]
        if packet.kind == Instruction.SYNC_WRITE and len(packet.parameters) > 2:
            address, length, *rest = packet.parameters
            for k in range(0, len(rest) - length, length + 1):
                for servo in listening:
                    if servo.id == rest[k]:
                        servo.write(address, bytes(rest[k + 1 : k + 1 + length]))
            return []
        if packet.kind == Instruction.PING and packet.id == BROADCAST:
            ids = sorted({servo.id for servo in listening})
            pings = (Packet(id=i, kind=Instruction.PING) for i in ids)
            return [one for ping in pings for one in self._voices(ping, listening)]
        return self._voices(packet, listening)

    def _voices(self, packet: Packet, listening: list[Servo]) -> list[tuple[Servo, bytes]]:
        """The answer to one question; two servos of one id spoil each other's."""
        spoken = [(s, a.encoded()) for s in listening if (a := s.answer(packet)) is not None]
        if len(spoken) < 2:
            return spoken
        shorter = min(len(data) for _, data in spoken)
        mixed = np.bitwise_and.reduce([np.frombuffer(d[:shorter], np.uint8) for _, d in spoken])
        return [(spoken[0][0], mixed.tobytes())]

    def _sent(
        self, answers: Iterable[tuple[Servo, bytes]], now: float, byte_s: float
    ) -> list[Reply]:
        replies = []
        for servo, data in answers:
            now += servo.return_delay_s + len(data) * byte_s
            if self._random.random() < self.faults.dropped:
                continue
            if self._random.random() < self.faults.corrupted:
                data = _spoiled(data, self._random)
            replies.append(Reply(due_s=now + self.faults.reply_late_s, data=data))
        return replies

    def _obey(self, packet: Packet, now: float, before: list[int], listening: list[Servo]) -> None:
        """Let the arm follow what a packet changed in the servos' memories."""
        if packet.kind in (Instruction.PING, Instruction.READ, Instruction.SYNC_READ):
            return
        self._pull()
        told = _told(packet, listening)
        goals = tuple(
            goal if goal != old or (servo in listening and servo.id in told) else None
            for servo, old in zip(self.servos, before, strict=True)
            for goal in [servo["Goal_Position"]]
        )
        if any(goal is not None for goal in goals):
            late = now + self.faults.command_late_s
            if self._pending:  # none overtakes another
                late = max(late, self._pending[-1].effective_s)
            self._pending.append(Command(received_s=now, effective_s=late, goals=goals))
            self.commands.append(self._pending[-1])
            self.advance(now)

    def _follow(self, command: Command) -> None:
        self._feel()
        for i, (servo, goal) in enumerate(zip(self.servos, command.goals, strict=True)):
            if goal is not None:
                self._targets[i] = self._angle(i, servo, goal)
        self._aim()

    def _angle(self, i: int, servo: Servo, goal: int) -> float:
        """Where a goal is, rad: from where the servo believes it is, as it counts."""
        goal = max(servo["Min_Position_Limit"], min(servo["Max_Position_Limit"], goal))
        away = goal - servo["Present_Position"]
        return float(self._read[i] + self.mounting.direction[i] * away * RAD_PER_TICK)

    def _aim(self) -> None:
        """Send each servo to its target; those that are limp, to where a hand has them."""
        hand = self._targets if self._hand is None else self._hand
        self.arm.command(np.where(self._on(), self._targets, hand))

    def _pull(self) -> None:
        """Let each servo pull as its memory says; a hand moves those that do not."""
        on, hand = self._on(), 0.0 if self._hand is None else _HAND
        stiff = np.array([servo["P_Coefficient"] / _USUAL_P for servo in self.servos])
        most = np.array([min(servo["Torque_Limit"], FULL_LOAD) for servo in self.servos])
        limit = most / _USUAL_LIMIT
        self.arm.drive(np.where(on, stiff, hand), np.where(on, limit, hand))

    def _on(self) -> np.ndarray:
        """(6,) whether each servo holds its place; of its modes, only that of positions does."""
        present = self._present()
        return np.array(
            [
                s in present and s["Torque_Enable"] == 1 and s["Operating_Mode"] == 0
                for s in self.servos
            ]
        )

    def _feel(self) -> None:
        """Write what the servos sense now into their memories."""
        self._read, velocity, force = self.arm.sensed()
        sign = np.array(self.mounting.direction)
        load = np.rint(sign * force / FULL_TORQUE * FULL_LOAD).astype(int)
        speed = np.rint(sign * velocity / RAD_PER_TICK / SPEED_STEP).astype(int) * SPEED_STEP
        current = np.rint(np.abs(force) / FULL_TORQUE * AMPERE_AT_FULL_LOAD / AMPERE_PER_COUNT)
        past = self.arm.time_s - self._felt_s
        self._felt_s = self.arm.time_s
        share = np.exp(-past / _WARMTH_S)
        self._warmth = share * self._warmth + (1 - share) * _WARMTH_K * (force / FULL_TORQUE) ** 2
        encoders = self.mounting.encoder(self._read)
        for i, servo in enumerate(self.servos):
            servo.feel(
                Sensed(
                    encoder=int(encoders[i]),
                    velocity=int(speed[i]),
                    load=int(load[i]),
                    current=int(current[i]),
                    temperature=int(_ROOM_C + self._warmth[i]),
                )
            )


def _told(packet: Packet, listening: list[Servo]) -> set[int]:
    """Ids of the servos whose goal a packet writes, be it to where it was."""
    rest = packet.parameters
    if len(rest) < 2:
        return set()
    if packet.kind == Instruction.SYNC_WRITE and rest[0] <= _GOAL.address < rest[0] + rest[1]:
        return set(rest[2 :: rest[1] + 1])
    if packet.kind == Instruction.WRITE and rest[0] <= _GOAL.address < rest[0] + len(rest) - 1:
        return {s.id for s in listening} if packet.id == BROADCAST else {packet.id}
    return set()


def _spoiled(data: bytes, random: np.random.Generator) -> bytes:
    spoiled = bytearray(data)
    spoiled[random.integers(len(data))] ^= 1 << int(random.integers(8))
    return bytes(spoiled)
