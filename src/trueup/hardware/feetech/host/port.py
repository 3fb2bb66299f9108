"""Whether a serial port can be had, and if not, why, in a sentence."""

from __future__ import annotations

import fcntl
import grp
import os
import stat
from contextlib import suppress
from pathlib import Path

from trueup.errors import TrueupError


def check_port(port: str) -> None:
    """Refuse a port that is missing, forbidden, no terminal, or in somebody's use."""
    path = Path(port)
    if not path.exists():
        raise TrueupError(f"There is no port {port}.", fix=_where())
    if not stat.S_ISCHR(path.stat().st_mode):
        raise TrueupError(f"{port} is not a serial port.", fix=_where())
    if not os.access(path, os.R_OK | os.W_OK):
        raise TrueupError(
            f"The port {port} may not be opened by this user.",
            fix=f"Join the group that owns it (sudo usermod -aG {_group(path)} $USER, then log in "
            f"again), or for now: sudo chmod a+rw {port}.",
        )
    holder = _holder(path)
    if holder:
        raise TrueupError(
            f"The port {port} is in use by {holder}.", fix="End that program, then try again."
        )


def claim(descriptor: int, port: str) -> None:
    """Keep others off an open port, as far as they ask."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise TrueupError(
            f"The port {port} is in use by another program.",
            fix="End that program, then try again.",
        ) from error


def _where() -> str:
    """Which ports there are."""
    found = sorted(
        str(path) for kind in ("ttyACM*", "ttyUSB*", "cu.usb*") for path in Path("/dev").glob(kind)
    )
    if found:
        return f"These exist: {', '.join(found)}; lerobot-find-port tells which one is the arm."
    return "No USB serial port exists here: plug the arm in and switch its power on."


def _group(path: Path) -> str:
    try:
        return grp.getgrgid(path.stat().st_gid).gr_name
    except (KeyError, OSError):
        return "dialout"


def _holder(path: Path) -> str:
    """The program that has a port open, where this system tells."""
    device = path.resolve()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended, or is another user's
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    if Path(os.readlink(descriptor)) == device:
                        name = (process / "comm").read_text(encoding="utf-8").strip()
                        return f"{name} (process {process.name})"
    return ""
