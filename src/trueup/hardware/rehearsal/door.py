"""Where a rehearsal robot waits for whoever wants to drive it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trueup.errors import TrueupError

ADDRESS = "tcp:127.0.0.1:5101"
"""Where it waits unless told otherwise: on this machine only."""

_REASONS = {
    errno.EADDRINUSE: "something else is listening there",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
    errno.EACCES: "that is not allowed",
}


@contextmanager
def door(address: str = ADDRESS) -> Iterator[tuple[socket.socket, str]]:
    """A listening socket, and the address by which it is reached.

    Args:
        address: `tcp:HOST:PORT`, where port 0 takes any that is free, or `unix:PATH`.
    """
    kind, where = split(address)
    try:
        listening = _bound(kind, where)
        listening.listen()
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
        raise TrueupError(
            f"A robot cannot wait at {address}: {reason}.",
            fix="Choose another --address, such as tcp:127.0.0.1:0 for any free port.",
        ) from error
    try:
        yield listening, _name(listening, kind, where)
    finally:
        listening.close()
        if kind == "unix":
            with suppress(OSError):
                Path(where).unlink()


def split(address: str) -> tuple[str, str]:
    """An address in its kind and its place."""
    kind, _, where = address.partition(":")
    if kind not in ("tcp", "unix") or not where:
        raise TrueupError(
            f"{address!r} is no place to wait at.", fix="Give tcp:HOST:PORT or unix:PATH."
        )
    return kind, where


def host_and_port(text: str) -> tuple[str, int]:
    """`HOST:PORT` in its two parts."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise TrueupError(f"{text!r} is not HOST:PORT.", fix="Write it like tcp:127.0.0.1:5101.")
    return host.strip("[]"), int(port)


def reached(address: str) -> socket.socket:
    """A connection to a robot that waits there."""
    kind, where = split(address)
    try:
        if kind == "tcp":
            return socket.create_connection(host_and_port(where), timeout=10.0)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(where)
        except OSError:
            connection.close()
            raise
        return connection
    except OSError as error:
        raise TrueupError(
            f"No rehearsal robot answers at {address}: {error.strerror or error}.",
            fix="Start one with `trueup rehearse REALITY`; it prints its address.",
        ) from error


def _bound(kind: str, where: str) -> socket.socket:
    if kind == "tcp":
        host, port = host_and_port(where)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.socket(family)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place: tuple[str, int] | str = (host, port)
    else:
        _clear(where)
        made, place = socket.socket(socket.AF_UNIX), where
    try:
        made.bind(place)
    except OSError:
        made.close()
        raise
    return made


def _clear(path: str) -> None:
    """Remove what a robot that was killed has left behind; nothing else."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:  # a socket, and nobody there
            Path(path).unlink()


def _name(listening: socket.socket, kind: str, where: str) -> str:
    if kind == "unix":
        return f"unix:{where}"
    host, port = listening.getsockname()[:2]
    return f"tcp:[{host}]:{port}" if ":" in host else f"tcp:{host}:{port}"
