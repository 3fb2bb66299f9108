"""One run at a time in a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueup.errors import TrueupError

_FILE = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder; the system lets go of it however this process ends."""
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
            raise TrueupError(
                f"Another run is at work in {folder}{f' (process {owner})' if owner else ''}.",
                fix="Wait for it, or choose another --out.",
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
