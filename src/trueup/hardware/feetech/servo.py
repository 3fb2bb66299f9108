"""One STS3215 servo as its bus sees it: a memory that answers instructions."""

from __future__ import annotations

from dataclasses import dataclass

from trueup.hardware.feetech.packets import BROADCAST, LONGEST, Instruction, Packet
from trueup.hardware.feetech.registers import (
    BAUD_RATES,
    REGISTERS,
    RETURN_DELAY_S,
    SIGNATURE,
    SIGNATURE_ADDRESS,
    register,
)

_SIZE = 256
_FASTEST = 32_767  # what fits into Present_Velocity
_READS = (Instruction.PING, Instruction.READ, Instruction.SYNC_READ)
_WRITABLE = frozenset(
    address
    for known in REGISTERS.values()
    if known.writable
    for address in range(known.address, known.address + known.size)
)
_KEPT = frozenset(
    address
    for known in REGISTERS.values()
    if known.kept
    for address in range(known.address, known.address + known.size)
)


@dataclass(frozen=True, kw_only=True)
class Sensed:
    """What a servo feels, in the counts of its registers.

    Attributes:
        encoder: Where the shaft is, 0 to 4095, whatever its homing offset.
        velocity: Ticks/s.
        load: Thousandths of full drive, signed.
        current: Counts of 6.5 mA.
        voltage: Tenths of a volt.
        temperature: °C.
    """

    encoder: int
    velocity: int = 0
    load: int = 0
    current: int = 0
    voltage: int = 120
    temperature: int = 25


class Servo:
    """A servo's memory, and how it reacts to instructions.

    Addresses below 40 and from 80 on are kept without power, if they were written while `Lock` was
    0; the rest is lost. Everything else about it (motor, gears, joint) is somebody else's.

    Args:
        kept: Registers that differ from a new servo's, by name.

    Attributes:
        alarm: Bits of the error byte it answers with.
    """

    def __init__(self, **kept: int) -> None:
        self.alarm = 0
        self._memory = bytearray(_SIZE)
        for known in REGISTERS.values():
            self.set(known.name, kept.get(known.name, known.initial))
        self._memory[SIGNATURE_ADDRESS : SIGNATURE_ADDRESS + len(SIGNATURE)] = SIGNATURE
        self._stored = bytearray(self._memory)
        self._waiting: tuple[int, bytes] | None = None
        self.restart()

    def __getitem__(self, name: str) -> int:
        known = register(name)
        return known.decoded(self.read(known.address, known.size))

    def set(self, name: str, value: int) -> None:
        """Change a register from the inside, read-only or not."""
        known = register(name)
        self._memory[known.address : known.address + known.size] = known.encoded(value)

    @property
    def id(self) -> int:
        """The number it answers to."""
        return self["ID"]

    @property
    def baud_rate(self) -> int:
        """Bits per second that it understands."""
        return BAUD_RATES[self["Baud_Rate"] % len(BAUD_RATES)]

    @property
    def return_delay_s(self) -> float:
        """How long it waits before it answers."""
        return self["Return_Delay_Time"] * RETURN_DELAY_S

    def restart(self) -> None:
        """Power comes back: what was kept returns, torque is off, the goal is where it stands."""
        self._memory[:] = self._stored
        self._waiting = None
        self.alarm = 0
        self.set("Torque_Limit", self["Max_Torque_Limit"])

    def feel(self, sensed: Sensed) -> None:
        """Take in what is sensed now."""
        position = (sensed.encoder - self["Homing_Offset"]) % 4096
        self.set("Present_Position", position)
        self.set("Present_Velocity", max(-_FASTEST, min(_FASTEST, sensed.velocity)))
        self.set("Present_Load", max(-1000, min(1000, sensed.load)))
        self.set("Present_Current", sensed.current)
        self.set("Present_Voltage", sensed.voltage)
        self.set("Present_Temperature", sensed.temperature)
        self.set("Moving", int(abs(sensed.velocity) >= 50 * self["Moving_Velocity_Threshold"]))
        self.set("Status", self.alarm)
        self.set("Goal_Position_2", self["Goal_Position"])

    # Instructions -------------------------------------------------------------------------------

    def answer(self, packet: Packet) -> Packet | None:
        """Do what a packet asks, if it asks this servo; its status packet, where it sends one.

        An instruction that it does not know stays without an answer.
        """
        own = packet.id == self.id
        if not own and packet.id != BROADCAST:
            return None
        replies = (own or packet.kind == Instruction.PING) and (
            self["Response_Status_Level"] > 0 or packet.kind in _READS
        )
        name = self.id  # the answer still bears the old one where it is changed
        data = self._done(packet)
        if data is None or not replies:
            return None
        return Packet(id=name, kind=self.alarm, parameters=data)

    def read(self, address: int, length: int) -> bytes:
        """Some bytes of the memory."""
        return bytes(self._memory[address : address + length]).ljust(length, b"\0")

    def write(self, address: int, data: bytes) -> None:
        """Change some bytes; read-only ones stay as they are."""
        unlocked = not self["Lock"]
        for at, byte in enumerate(data, start=address):
            if at in _WRITABLE:
                self._memory[at] = byte
                if unlocked and at in _KEPT:
                    self._stored[at] = byte

    def _done(self, packet: Packet) -> bytes | None:
        """What it answers with; None where there is nothing to be done."""
        rest = packet.parameters
        match packet.kind:
            case Instruction.PING:
                return b""
            case Instruction.READ if len(rest) == 2 and rest[1] <= LONGEST:
                return self.read(rest[0], rest[1])
            case Instruction.WRITE if len(rest) > 1:
                self.write(rest[0], rest[1:])
                return b""
            case Instruction.REG_WRITE if len(rest) > 1:
                self._waiting = (rest[0], rest[1:])
                return b""
            case Instruction.ACTION:
                if self._waiting:
                    self.write(*self._waiting)
                self._waiting = None
                return b""
        return None
