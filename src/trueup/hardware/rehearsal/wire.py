"""Messages between a robot's process and whoever drives it: words as JSON, numbers as raw arrays.

A frame is a mark, two lengths, a JSON object and the bytes of its arrays. Nothing is ever
unpickled or executed, and bytes that are no frame are refused in a sentence.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from trueup.errors import TrueupError

PROTOCOL = 1
"""The version that both sides must speak."""

_MARK = b"tru1"
_PREFIX = struct.Struct("<4sIQ")
_LONGEST_WORDS, _LONGEST_ARRAYS, _AT_ONCE = 1 << 20, 1 << 30, 1 << 16
_KINDS = ("<f8", "<i8", "<u8", "|b1", "|u1")


class LineClosed(Exception):
    """The other side is gone."""


class BadFrame(TrueupError):
    """Bytes that are not a message of a robot."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"What came over the line is not a message of a rehearsal robot: {problem}.",
            fix="Check the address: `trueup rehearse` prints the one to connect to.",
        )


@dataclass(frozen=True, kw_only=True)
class Message:
    """Words, and arrays by name."""

    words: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


class Line:
    """A connected socket that carries messages.

    A wait for a message may be broken off, by Ctrl-C or a watchdog: what had come of it is kept,
    and the next wait goes on from there.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._come: list[bytes] = []  # what has come and is not yet a whole message
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        """For `select`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up; calling it twice does no harm."""
        self._socket.close()

    def send(
        self, words: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """Send one message."""
        parts = {name: _plain(values) for name, values in (arrays or {}).items()}
        told = [[name, part.dtype.str, list(part.shape)] for name, part in parts.items()]
        header = json.dumps({**words, "arrays": told}, allow_nan=False).encode()
        size = sum(part.nbytes for part in parts.values())
        frame = b"".join(
            [_PREFIX.pack(_MARK, len(header), size), header, *(p.tobytes() for p in parts.values())]
        )
        try:
            self._socket.settimeout(None)
            self._socket.sendall(frame)
        except (OSError, ValueError) as error:
            raise LineClosed from error

    def receive(self, timeout_s: float | None = None) -> Message:
        """Wait for one message; `TimeoutError` where none came in time."""
        prefix = self._first(_PREFIX.size, timeout_s)
        mark, header_size, size = _PREFIX.unpack_from(prefix)
        if mark != _MARK:
            raise BadFrame(f"it begins with {mark!r} instead of {_MARK!r}")
        if header_size > _LONGEST_WORDS or size > _LONGEST_ARRAYS:
            raise BadFrame(f"it claims to be {header_size + size:,} bytes long")
        begin, end = _PREFIX.size + header_size, _PREFIX.size + header_size + size
        whole = self._first(end, timeout_s)
        self._come[:] = [whole[end:]]
        words = _words(whole[_PREFIX.size : begin])
        told = words.pop("arrays", None)
        return Message(words=words, arrays=_arrays(told, whole[begin:end]))

    @property
    def begun(self) -> bool:
        """Whether something has come already that `select` does not see any more."""
        return any(self._come)

    def closed(self) -> bool:
        """Whether the other side is gone; asked without waiting."""
        try:
            self._socket.settimeout(0.0)
            return not self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def _first(self, count: int, timeout_s: float | None) -> bytes:
        """All that has come, once it is that much; it stays here until it is taken away."""
        try:
            self._socket.settimeout(timeout_s)
            while (missing := count - sum(map(len, self._come))) > 0:
                # in one call, so that a signal's exception cannot fall between taking and keeping
                self._come.extend(map(self._socket.recv, (max(missing, _AT_ONCE),)))
                if not self._come[-1]:
                    raise LineClosed
        except TimeoutError:
            raise
        except (OSError, ValueError) as error:
            raise LineClosed from error
        return b"".join(self._come)


def _plain(values: np.ndarray) -> np.ndarray:
    """An array as it travels: little-endian, of one of a few kinds."""
    kind = {"f": "<f8", "i": "<i8", "u": "<u8", "b": "|b1"}[np.asarray(values).dtype.kind]
    return np.asarray(values, kind, order="C")


def _words(header: bytes) -> dict[str, Any]:
    try:
        words = json.loads(header.decode())
    except ValueError as error:
        raise BadFrame("its words are not JSON") from error
    if not isinstance(words, dict):
        raise BadFrame("its words are not a JSON object")
    return words


def _arrays(told: Any, payload: bytes) -> dict[str, np.ndarray]:
    """The arrays that the header told of, which must fill the payload exactly."""
    found, at = {}, 0
    for entry in told if isinstance(told, list) else []:
        name, kind, shape = _entry(entry)
        size = prod(shape) * np.dtype(kind).itemsize
        if at + size > len(payload):
            raise BadFrame(f"the array {name!r} is longer than what was sent")
        found[name] = np.frombuffer(payload, kind, prod(shape), at).reshape(shape)
        at += size
    if at != len(payload):
        raise BadFrame(f"{len(payload) - at} bytes belong to no array")
    return found


def _entry(entry: Any) -> tuple[str, str, tuple[int, ...]]:
    match entry:
        case [str(name), str(kind), list(shape)] if kind in _KINDS and all(
            type(side) is int and 0 <= side <= _LONGEST_ARRAYS for side in shape
        ):
            return name, kind, tuple(shape)
    raise BadFrame(f"it tells of an array as {entry!r:.80}")
