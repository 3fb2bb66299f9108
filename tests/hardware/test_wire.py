"""The wire: what is sent arrives, and what is no message is refused in a sentence."""

from __future__ import annotations

import socket
import struct
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from trueup.errors import TrueupError
from trueup.hardware.rehearsal.client import RehearsalRobot
from trueup.hardware.rehearsal.wire import BadFrame, Line, LineClosed

KINDS = st.sampled_from([np.float64, np.int64, np.uint64, np.bool_])


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Line(ours), theirs
    ours.close()
    theirs.close()


@given(
    st.dictionaries(
        st.text(max_size=8),
        KINDS.flatmap(lambda kind: arrays(kind, array_shapes(min_dims=0, max_dims=3, min_side=0))),
        max_size=4,
    ),
    st.dictionaries(st.text(max_size=8).filter(lambda k: k != "arrays"), st.integers() | st.text()),
)
def test_what_is_sent_arrives(given_arrays, words) -> None:
    one, other = socket.socketpair()
    with one, other:
        Line(one).send(words, given_arrays)
        message = Line(other).receive(1.0)
    assert message.words == words
    assert list(message.arrays) == list(given_arrays)
    for name, values in given_arrays.items():
        assert message.arrays[name].shape == values.shape
        assert np.array_equal(message.arrays[name], values, equal_nan=values.dtype.kind == "f")


def test_a_message_may_be_larger_than_a_socket_holds(ends) -> None:
    line, other = ends
    big = np.arange(2_000_000.0)
    sender = threading.Thread(target=lambda: Line(other).send({}, {"big": big}))
    sender.start()
    assert np.array_equal(line.receive(5.0).arrays["big"], big)
    sender.join()


def frame(header: bytes, payload: bytes = b"", mark: bytes = b"tru1", sizes=None) -> bytes:
    return struct.pack("<4sIQ", mark, *(sizes or (len(header), len(payload)))) + header + payload


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "begins with b'GET '"),
        (frame(b"{}", mark=b"tru9"), "begins with b'tru9'"),
        (frame(b"", sizes=(1 << 30, 0)), "claims to be 1,073,741,824 bytes"),
        (frame(b"", sizes=(0, 1 << 60)), "bytes long"),
        (frame(b"{not json"), "not JSON"),
        (frame(b"[1, 2]"), "not a JSON object"),
        (frame(b"\xff\xfe"), "not JSON"),
        (frame(b'{"arrays": [["a", "<f8", [3]]]}', b"12345678"), "longer than what was sent"),
        (frame(b'{"arrays": []}', b"12345678"), "8 bytes belong to no array"),
        (frame(b'{"arrays": [["a", "|O8", [1]]]}', b"12345678"), "tells of an array as"),
        (frame(b'{"arrays": [["a", "<f8", [-1]]]}', b"12345678"), "tells of an array as"),
        (frame(b'{"arrays": [["a", "<f8", [true]]]}', b"12345678"), "tells of an array as"),
        (frame(b'{"arrays": "no"}', b"1"), "1 bytes belong to no array"),
    ],
)
def test_what_is_no_message_is_refused(ends, sent: bytes, words: str) -> None:
    line, other = ends
    other.sendall(sent)
    with pytest.raises(BadFrame) as refused:
        line.receive(1.0)
    assert words in str(refused.value)
    assert "trueup rehearse" in str(refused.value)


def test_a_line_that_ends_in_the_middle_is_closed(ends) -> None:
    line, other = ends
    other.sendall(frame(b'{"a": 1}')[:10])
    other.close()
    with pytest.raises(LineClosed):
        line.receive(1.0)


def test_a_silent_line_times_out(ends) -> None:
    with pytest.raises(TimeoutError):
        ends[0].receive(0.01)


def test_a_line_knows_whether_the_other_side_is_there(ends) -> None:
    line, other = ends
    assert not line.closed()
    other.sendall(b"x")
    assert not line.closed()


def test_a_line_knows_that_the_other_side_is_gone(ends) -> None:
    line, other = ends
    other.close()
    assert line.closed()


def test_a_wait_that_was_broken_off_goes_on(ends) -> None:
    line, other = ends
    whole = frame(b'{"a": 1, "arrays": [["x", "<f8", [1]]]}', struct.pack("<d", 2.5))
    for part in (whole[:7], whole[7:20], whole[20:-3]):
        other.sendall(part)
        with pytest.raises(TimeoutError):
            line.receive(0.01)
    other.sendall(whole[-3:] + whole)
    for _ in range(2):
        message = line.receive(1.0)
        assert message.words == {"a": 1} and message.arrays["x"] == [2.5]


@pytest.mark.parametrize(
    ("robot", "words"),
    [
        ({"protocol": 2}, "speaks version 2 of the protocol, and this trueup version 1"),
        ({"protocol": 1}, "introduces itself wrongly (world: Field required)"),
        (None, "introduces itself wrongly"),
        ({"protocol": 1, "story": "x"}, "introduces itself wrongly"),
    ],
)
def test_a_robot_that_speaks_otherwise_is_refused(ends, robot, words: str) -> None:
    line, other = ends
    server = Line(other)
    server.send({"robot": robot})
    with pytest.raises(TrueupError) as refused:
        RehearsalRobot(line)
    assert words in str(refused.value)
    assert server.receive(1.0).words == {"do": "hello", "protocol": 1, "question": 1}
