"""Worlds by name: ours, and a user's own from a Python file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from traceback import extract_tb
from typing import TypeVar

from trueup.errors import TrueupError, UnknownName
from trueup.worlds.world import World

_WORLDS: dict[str, type[World]] = {}


AnyWorld = TypeVar("AnyWorld", bound=type[World])


def register(world: AnyWorld) -> AnyWorld:
    """Make a world known by its name; use it as a class decorator."""
    _WORLDS[world.name] = world
    return world


def names() -> tuple[str, ...]:
    """The worlds that come with trueup."""
    from trueup.worlds import so101_arm, so101_tasks  # noqa: F401  (they register themselves)

    return tuple(_WORLDS)


def get(name: str) -> World:
    """The world of a name, or of `path/to/file.py:ClassName`."""
    if ".py" in name:
        return _from_file(name)
    known = names()
    if name not in known:
        raise UnknownName(
            "world", name, known, fix="`trueup worlds` lists them; or give FILE.py:CLASS."
        )
    return _WORLDS[name]()


def _from_file(name: str) -> World:
    path, _, wanted = name.partition(":")
    file = Path(path)
    if not file.is_file():
        raise TrueupError(
            f"There is no world file at {file}.", fix="Give the path as FILE.py:CLASS."
        )
    module_name = f"trueup_world_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TrueupError(
            f"The world file {file} fails when loaded{_line(file, error)}: "
            f"{type(error).__name__}: {error}.",
            fix="Mend the file; --traceback shows the way there.",
        ) from error
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, World) and value.__module__ == module_name
    }
    if not wanted and len(found) == 1:
        wanted = next(iter(found))
    if not wanted:
        names = ", ".join(found) or "none"
        raise TrueupError(
            f"The world file {file} does not say which world to take; it has: {names}.",
            fix="Give FILE.py:CLASS.",
        )
    if wanted not in found:
        raise UnknownName(f"world class in {file}", wanted, found, fix="Give FILE.py:CLASS.")
    missing = sorted(getattr(found[wanted], "__abstractmethods__", ()))
    if missing:
        raise TrueupError(
            f"The world {wanted} in {file} is not complete: it lacks {', '.join(missing)}.",
            fix="Write these methods; trueup.worlds.World says what each must return.",
        )
    try:
        return found[wanted]()
    except TypeError as error:
        raise TrueupError(
            f"The world {wanted} in {file} cannot be made: {error}.",
            fix="A world takes no arguments; give its __init__ defaults.",
        ) from error


def _line(file: Path, error: Exception) -> str:
    """Where in the file an error arose."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}"
    lines = [f.lineno for f in extract_tb(error.__traceback__) if Path(f.filename) == file]
    return f" in line {lines[-1]}" if lines else ""
