"""Paths that are checked before the work begins, so that none of it is lost."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from itertools import combinations
from pathlib import Path

from trueup.errors import TrueupError
from trueup.files import whole

_made: list[Path] = []  # by this command, the outermost first


def check_distinct(*, read: dict[str, Path | None], written: dict[str, Path | None]) -> None:
    """Refuse to write one file twice, or over a file that is read.

    Args:
        read: Option, and the file it reads; None where it is not given.
        written: Option, and the file it writes.
    """
    given = {name: path for name, path in (read | written).items() if path is not None}
    for one, other in combinations(given, 2):
        if other in written and _same(given[one], given[other]):
            lost = "each" if one in written else "what is written"
            raise TrueupError(
                f"{one} and {other} both name the file {given[other]}, and one would overwrite the "
                "other.",
                fix=f"Give {lost} a file of its own.",
            )


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def writable_file(path: Path, suffix: str = "") -> Path:
    """The path of a file to write, or a sentence that says why it cannot be."""
    if path.is_dir():
        raise TrueupError(
            f"{path} is a folder, and a file is needed.",
            fix=f"Name a file in it: {path / ('result' + (suffix or '.json'))}.",
        )
    if suffix and path.suffix.lower() != suffix:
        raise TrueupError(
            f"{path} does not end in {suffix}, which is what would be in it.",
            fix=f"Write {path.with_suffix(suffix)}.",
        )
    writable_folder(path.parent)
    return path


def writable_folder(folder: Path) -> Path:
    """A folder to write into, made where it is missing."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _made.extend(reversed(missing))
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        raise TrueupError(
            f"{folder} cannot be a folder: there is a file in its way.", fix="Choose another path."
        ) from None
    except OSError as error:
        raise TrueupError(
            f"Nothing can be written into {folder}: {error.strerror}.", fix="Choose another path."
        ) from error
    return folder


def trials_at(folder: Path) -> Path:
    """The dataset of trials in a folder: `trueup deploy --out` names the one above it."""
    inner = folder / "episodes"
    return inner if not (folder / "meta").is_dir() and (inner / "meta").is_dir() else folder


def remove_empty() -> None:
    """Remove the folders that were made here for results that never came."""
    while _made:
        with suppress(OSError):  # there is something in it
            _made.pop().rmdir()


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
