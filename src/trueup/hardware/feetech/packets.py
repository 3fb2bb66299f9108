"""The bytes on a Feetech bus: instruction packets of the host, status packets of the servos.

Both look alike: `FF FF id length kind parameters... checksum`, where length counts from kind to
checksum, and kind is an instruction or, in a status packet, the error bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

BROADCAST = 0xFE
"""The id that every servo obeys."""

_HEADER = b"\xff\xff"
_SHORTEST = 2  # the length of a packet without parameters
LONGEST = 248
"""Most parameters that a packet can carry."""


class Instruction(IntEnum):
    """What a host may ask of servos."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


class Alarm(IntEnum):
    """Bits of a status packet's error byte."""

    VOLTAGE = 1
    ANGLE = 2
    OVERHEAT = 4
    OVERCURRENT = 8
    OVERLOAD = 32


@dataclass(frozen=True, kw_only=True)
class Packet:
    """One packet, of either side.

    Attributes:
        id: Whom it is for, or from.
        kind: The instruction, or the error bits.
        parameters: What follows.
    """

    id: int
    kind: int
    parameters: bytes = b""

    def encoded(self) -> bytes:
        """The bytes on the wire."""
        body = bytes([self.id, len(self.parameters) + _SHORTEST, self.kind]) + self.parameters
        return _HEADER + body + bytes([checksum(body)])

    def __len__(self) -> int:
        return len(self.parameters) + 6


def checksum(body: bytes) -> int:
    """Of everything between header and checksum: the inverted low byte of the sum."""
    return ~sum(body) & 0xFF


class Parser:
    """Finds packets in a stream of bytes, whatever else is in it.

    What is no header is skipped. A packet whose checksum does not fit is dropped, as a servo drops
    it: without an answer.

    Attributes:
        broken: Packets dropped so far.
    """

    def __init__(self) -> None:
        self.broken = 0
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[Packet]:
        """Take in some bytes; the packets that are complete now."""
        self._bytes += data
        while self._at_header() and len(self._bytes) > 3:
            length = self._bytes[3]
            if not _SHORTEST <= length <= LONGEST + _SHORTEST or self._bytes[2] == 0xFF:
                del self._bytes[0]
                continue
            if len(self._bytes) < length + 4:
                return
            whole = bytes(self._bytes[: length + 4])
            if checksum(whole[2:-1]) != whole[-1]:
                self.broken += 1
                del self._bytes[:2]
                continue
            del self._bytes[: len(whole)]
            yield Packet(id=whole[2], kind=whole[4], parameters=whole[5:-1])

    def forget(self) -> None:
        """Drop an unfinished packet, as servos do after a silence."""
        self._bytes.clear()

    def _at_header(self) -> bool:
        """Drop what stands before the next header; whether there is one."""
        start = self._bytes.find(_HEADER)
        if start < 0:
            keep = 1 if self._bytes.endswith(b"\xff") else 0
            del self._bytes[: len(self._bytes) - keep]
            return False
        del self._bytes[:start]
        return True
