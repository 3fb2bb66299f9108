"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trueup.errors import TrueupError


@contextmanager
def whole(path: Path | str) -> Iterator[Path]:
    """A path to write to; it takes its real name only when all went well.

    Folders on the way are made. Whatever goes wrong, nothing half-written stays behind, and what
    was there before stays as it was.
    """
    path = Path(path)
    if path.is_dir():
        raise TrueupError(
            f"{path} is a folder, but a file is to be written there.",
            fix=f"Give a file name, such as {path / 'result'}.",
        )
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):  # the folder itself cannot be reached; said above
            partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path | str) -> Iterator[Path]:
    """A new folder to write into; at the end it takes its real name, and an older one's place.

    Whatever goes wrong before that, the older one stays as it was.
    """
    path = Path(path).absolute()
    if not path.name or path in (Path.cwd(), *Path.cwd().parents):
        raise TrueupError(
            f"{path} cannot be replaced by a new folder: we are in it.", fix="Give another name."
        )
    if path.is_file():
        raise TrueupError(
            f"{path} is a file, but a folder is to be written there.", fix="Give another name."
        )
    partial, old = (path.with_name(f".{path.name}.{word}") for word in ("partial", "old"))
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
        partial.rename(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if old.exists() and not path.exists():
            old.rename(path)
        for folder in (partial, old):
            shutil.rmtree(folder, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> TrueupError:
    return TrueupError(
        f"{path} could not be written: {error.strerror or error}.",
        fix="Choose another place, or make room and permission there.",
    )
