"""The architecture as a test: imports flow downwards, and every name says what it is."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "trueup"

# A room imports strictly lower layers and itself, nothing else of trueup.
LAYER = {
    "errors": 0,
    "files": 0.5,
    "artefacts": 0.5,
    "streams": 0.5,
    "versions": 0.5,
    "one_thread": 0.5,
    "space": 1,
    "effects": 2,
    "episodes": 2,
    "policies": 2.5,
    "worlds": 3,
    "simulate": 4,
    "randomize": 4,
    "hardware": 5,
    "evaluate": 5,
    "train": 6,
    "deploy": 6,
    "record": 6,
    "replay": 6,
    "identify": 7,
    "diagnose": 7,
    "generate": 7,
    "curate": 7,
    "mix": 7,
    "plan": 8,
    "report": 9,
    "loop": 10,
    "cli": 11,
    "studio": 11,
    "__main__": 12,
    # Importing any room runs the package's own __init__, so that one imports no room.
    "__init__": 0,
}
THIRD_PARTY = {"space": {"numpy"}, "streams": {"numpy"}}
NAMELESS = {"utils", "util", "common", "helpers", "misc", "base", "core"}


def sources(package: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(package.rglob("*.py")):
        yield path.relative_to(package), ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(tree: ast.Module, folder: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, wherever it stands; `folder` resolves relative ones.

    `from a import b` gives a.b, because b may be a module.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = folder[: len(folder) - level + 1] if level else ()
                start = [*above, *([module] if module else [])]
                yield from ((node.lineno, ".".join([*start, alias.name])) for alias in names)
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(
                func
            ).endswith(("import_module", "__import__")):
                yield node.lineno, name


def room_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def layer_violations(package: Path) -> list[str]:
    found = []
    for path, tree in sources(package):
        room = room_of(path)
        if room not in LAYER:
            found.append(f"{path}: room '{room}' has no layer: add it to LAYER and to the design")
            continue
        for line, name in imported(tree, ("trueup", *path.parts[:-1])):
            top, _, inner = name.partition(".")
            other = inner.split(".")[0]
            if top == "trueup":
                is_module = (package / other).is_dir() or (package / f"{other}.py").is_file()
                known = other in LAYER or is_module
                if known and other != room and LAYER.get(other, 99) >= LAYER[room]:
                    found.append(
                        f"{path}:{line}: '{room}' (layer {LAYER[room]}) imports '{other}' "
                        f"(layer {LAYER.get(other, 'unknown')}): imports flow downwards only"
                    )
            elif room in THIRD_PARTY and top not in sys.stdlib_module_names | THIRD_PARTY[room]:
                found.append(
                    f"{path}:{line}: '{room}' imports '{top}', and may import "
                    f"only the standard library and {', '.join(sorted(THIRD_PARTY[room]))}"
                )
    return found


def name_violations(package: Path) -> list[str]:
    return [
        f"{path}: '{part}' says nothing about what is in it: name the idea"
        for path, _ in sources(package)
        for part in path.with_suffix("").parts
        if part.strip("_") in NAMELESS
    ]


def door_violations(package: Path) -> list[str]:
    """A room's __init__ re-exports its own modules' names as themselves, and lists them once."""
    found = []
    for path, tree in sources(package):
        if any(isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(tree)):
            found.append(f"{path}: __all__ is a second list of names, and drifts: remove it")
        if path.name != "__init__.py" or path.parent == Path():
            continue
        room = ".".join(["trueup", *path.parent.parts])
        for node in tree.body:
            if not isinstance(node, ast.ImportFrom):
                continue
            ours = node.level > 0 or (node.module or "").split(".")[0] == "trueup"
            own_module = node.level == 0 and (node.module or "").startswith(f"{room}.")
            same_name = all(alias.asname == alias.name for alias in node.names)
            if ours and not (own_module and same_name):
                found.append(
                    f"{path}:{node.lineno}: write 'from {room}.module import Name as Name' "
                    f"instead of '{ast.unparse(node)}'"
                )
    return found


@pytest.mark.parametrize("check", [layer_violations, name_violations, door_violations])
def test_the_package_keeps_its_shape(check):
    assert check(PACKAGE) == []


# Each check must be able to fail: a planted fault, and the words that must name it.
PLANTED = [
    (layer_violations, "space/a.py", "from trueup.worlds import World", "'space' (layer 1)"),
    (layer_violations, "space/a.py", "from trueup import worlds", "imports 'worlds' (layer 3)"),
    (layer_violations, "space/a.py", "import trueup.worlds.arm as arm", "a.py:1"),
    (layer_violations, "space/a.py", "from ..worlds import World", "imports 'worlds'"),
    (layer_violations, "space/a.py", "def f():\n    import trueup.worlds", "a.py:2"),
    (layer_violations, "space/a.py", "if TYPE_CHECKING:\n    import trueup.worlds", "a.py:2"),
    (layer_violations, "space/a.py", "importlib.import_module('trueup.cli')", "imports 'cli'"),
    (layer_violations, "effects/a.py", "import trueup.episodes", "imports 'episodes' (layer 2)"),
    (layer_violations, "errors.py", "import trueup.streams", "imports 'streams' (layer 0.5)"),
    (layer_violations, "__init__.py", "from trueup.space import Space", "imports 'space'"),
    (layer_violations, "space/a.py", "import scipy", "imports 'scipy'"),
    (layer_violations, "streams.py", "def f():\n    import torch", "imports 'torch'"),
    (layer_violations, "attic/a.py", "", "room 'attic' has no layer"),
    (name_violations, "space/utils.py", "", "'utils' says nothing"),
    (name_violations, "common/a.py", "", "'common' says nothing"),
    (door_violations, "space/__init__.py", "__all__ = ['Space']", "second list"),
    (door_violations, "space/__init__.py", "from trueup.space.space import Space", "as Name"),
    (door_violations, "space/__init__.py", "from trueup.space.space import *", "as Name"),
    (door_violations, "space/__init__.py", "from .space import Space as Space", "as Name"),
    (door_violations, "space/__init__.py", "from trueup.errors import E as E", "as Name"),
]


def write(package: Path, name: str, source: str) -> None:
    path = package / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


@pytest.mark.parametrize(("check", "name", "source", "words"), PLANTED)
def test_a_planted_fault_is_named(tmp_path, check, name, source, words):
    write(tmp_path, name, source)
    (sentence,) = check(tmp_path)
    assert words in sentence
    assert name in sentence


def test_a_sound_package_passes(tmp_path):
    write(tmp_path, "__init__.py", "__version__ = '1'")
    write(tmp_path, "errors.py", "import json")
    write(tmp_path, "space/__init__.py", "from trueup.space.space import Space as Space")
    write(tmp_path, "space/space.py", "import numpy\nimport trueup.errors\nimport trueup.space.gap")
    write(tmp_path, "worlds/arm.py", "import mujoco\nfrom trueup.space import Space")
    write(tmp_path, "cli/__init__.py", "from trueup.cli.entry import main as main")
    write(tmp_path, "cli/entry.py", "import rich\nfrom trueup import __version__, worlds")
    for check in (layer_violations, name_violations, door_violations):
        assert check(tmp_path) == []
