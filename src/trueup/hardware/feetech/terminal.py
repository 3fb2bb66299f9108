"""A pseudo-terminal that stands in for a serial port."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import sys
import tty
from pathlib import Path

from trueup.errors import TrueupError

_TCGETS2 = 0x802C542A  # Linux: the only way to learn of speeds that POSIX has no constant for
_NOBODY_S = 0.002  # how often to look whether a host opened the port
_DEFAULT_BAUD = 1_000_000


class Terminal:
    """The servos' end of the port. The host opens `path` as it would open /dev/ttyACM0.

    Args:
        link: Another path for it, which stays the same from start to start; none for no other.
    """

    def __init__(self, link: Path | str | None = None) -> None:
        self._master, host = os.openpty()
        tty.setraw(host)
        self._device = os.ttyname(host)
        os.close(host)  # so that it is seen when the host hangs up
        os.set_blocking(self._master, False)
        self._link = None if link is None else Path(link)
        if self._link is not None:
            _point(self._link, self._device)

    @property
    def path(self) -> str:
        """What the host opens."""
        return self._device if self._link is None else str(self._link)

    @property
    def baud_rate(self) -> int:
        """The speed that the host has set its end to."""
        if not sys.platform.startswith("linux"):
            return _DEFAULT_BAUD
        answer = fcntl.ioctl(self._master, _TCGETS2, bytes(44))
        return struct.unpack("4I20B2I", answer)[-1]

    def read(self, wait_s: float, *others: int) -> bytes:
        """What the host sent, after waiting for it no longer than this, or until others have some.

        Args:
            wait_s: Longest wait.
            others: More file descriptors that end the wait.
        """
        select.select([self._master, *others], [], [], max(0.0, wait_s))
        try:
            return os.read(self._master, 4096)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            select.select(list(others), [], [], min(max(0.0, wait_s), _NOBODY_S))
            return b""  # nobody has the port open

    def write(self, data: bytes) -> None:
        """Send to the host; what nobody takes is lost, as on a wire."""
        try:
            os.write(self._master, data)
        except OSError as error:
            if error.errno not in (errno.EIO, errno.EAGAIN):
                raise

    def close(self) -> None:
        """Pull the plug: the host's end fails from now on."""
        if self._link is not None:
            self._link.unlink(missing_ok=True)
        os.close(self._master)


def _point(link: Path, device: str) -> None:
    if link.exists() and not link.is_symlink():
        raise TrueupError(
            f"{link} is there already, and no link.", fix="Choose another path for the port."
        )
    try:
        link.unlink(missing_ok=True)
        link.symlink_to(device)
    except OSError as error:
        raise TrueupError(
            f"The port cannot be linked as {link}: {error.strerror}.", fix="Choose another path."
        ) from error
