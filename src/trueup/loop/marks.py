"""Hashes of artefacts: what was there when a stage read or wrote it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

MISSING = ""


def mark_of(path: Path) -> str:
    """The SHA-256 of a file, or of a folder with all that is in it; empty where nothing is."""
    if path.is_file():
        return _of_file(path)
    if not path.is_dir():
        return MISSING
    files = sorted(p for p in path.rglob("*") if p.is_file())
    lines = [f"{file.relative_to(path).as_posix()} {_of_file(file)}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def marks_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The marks of artefacts of a run folder, by name."""
    return {name: mark_of(folder / name) for name in names}


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
