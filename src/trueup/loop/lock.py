"""One run at a time in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trueup.errors import TrueupError

_FILE = ".lock"


@contextmanager
def locked(folder: Path, *, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold a folder; the system lets go of it however this process ends.

    Args:
        folder: Which; made where it is missing.
        wait: Told in a line that another process holds it, which is then waited for; without it,
            that is an error.
    """
    path = folder / _FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise TrueupError(
            f"{folder} cannot be used: {error.strerror or error}.", fix="Choose another --out."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip()
            who = f"Another run is at work in {folder}{f' (process {owner})' if owner else ''}"
            if wait is None:
                fix = "Wait for it, or choose another --out."
                raise TrueupError(f"{who}.", fix=fix) from None
            wait(f"{who}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
