"""Files that are on the disk, not only on their way to it, when they take their name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trueup.files import whole


@contextmanager
def durable(path: Path) -> Iterator[Path]:
    """As `whole`, and what was written survives a power cut too."""
    with whole(path) as partial:
        yield partial
        sync(partial)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with durable(path) as partial:
        partial.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(paths: list[Path]) -> None:
    """Remove files that nothing refers to any more; those that are gone already do not matter."""
    for path in paths:
        with suppress(FileNotFoundError):
            path.unlink()
