"""Bytes on the bus: what is written is read again, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.errors import TrueupError
from trueup.hardware.feetech.packets import Instruction, Packet, Parser
from trueup.hardware.feetech.registers import REGISTERS, register

PACKETS = st.builds(
    Packet,
    id=st.integers(0, 0xFE),
    kind=st.integers(0, 0xFF),
    parameters=st.binary(max_size=60),
)


def parsed(data: bytes, cuts: list[int]) -> list[Packet]:
    """What a parser finds when the bytes come in pieces."""
    parser, found, at = Parser(), [], 0
    for cut in sorted(cut % (len(data) + 1) for cut in cuts):
        found += parser.feed(data[at:cut])
        at = cut
    return found + list(parser.feed(data[at:]))


def test_a_ping_has_the_bytes_of_the_manual():
    ping = Packet(id=1, kind=Instruction.PING)
    assert ping.encoded() == bytes.fromhex("ff ff 01 02 01 fb")
    assert len(ping) == 6


def test_a_read_of_the_position_has_the_bytes_of_the_manual():
    read = Packet(id=1, kind=Instruction.READ, parameters=bytes([0x38, 2]))
    assert read.encoded() == bytes.fromhex("ff ff 01 04 02 38 02 be")


@given(st.lists(PACKETS, max_size=5), st.lists(st.integers(0, 400), max_size=8))
def test_packets_survive_however_they_are_cut(packets, cuts):
    data = b"".join(packet.encoded() for packet in packets)
    assert parsed(data, cuts) == packets


@given(PACKETS, st.binary(max_size=20).filter(lambda noise: b"\xff" not in noise))
def test_noise_before_a_packet_is_skipped(packet, noise):
    assert parsed(noise + packet.encoded(), []) == [packet]


@given(PACKETS.filter(lambda p: p.parameters), st.data())
def test_a_turned_bit_in_the_parameters_drops_the_packet(packet, data):
    whole = bytearray(packet.encoded())
    at = data.draw(st.integers(5, len(whole) - 2))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    parser = Parser()
    found = list(parser.feed(bytes(whole)))
    assert packet not in found
    assert parser.broken >= 1


def test_a_good_packet_after_a_broken_one_is_heard():
    good = Packet(id=3, kind=Instruction.PING)
    broken = bytearray(good.encoded())
    broken[-1] ^= 1
    assert parsed(bytes(broken) + good.encoded(), []) == [good]


@pytest.mark.parametrize("known", REGISTERS.values(), ids=lambda known: known.name)
def test_every_register_keeps_the_ends_of_its_range(known):
    top = (1 << (8 * known.size if known.sign_bit is None else known.sign_bit)) - 1
    ends = (0, 1, top) if known.sign_bit is None else (-top, -1, 0, 1, top)
    for value in ends:
        data = known.encoded(value)
        assert len(data) == known.size
        assert known.decoded(data) == value
    with pytest.raises(TrueupError, match=f"{known.name} cannot hold {top + 1}"):
        known.encoded(top + 1)


def test_a_sign_is_a_bit_beside_the_magnitude():
    assert register("Homing_Offset").encoded(-5) == (5 | 1 << 11).to_bytes(2, "little")
    assert register("Present_Load").decoded((7 | 1 << 10).to_bytes(2, "little")) == -7


def test_registers_do_not_overlap():
    taken: dict[int, str] = {}
    for known in REGISTERS.values():
        for address in range(known.address, known.address + known.size):
            assert address not in taken, f"{known.name} and {taken.get(address)}"
            taken[address] = known.name
