"""Recorders that are stopped: at a chosen move of the file system, or at any moment.

`python -m tests.episodes.crashes FOLDER` writes one dataset for each move of a short recording
session, in a process that is killed right before that move. With `--for-ever` it records until it
is killed from outside, with `--full-disk` until the system refuses.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from tests.episodes.recordings import recording
from trueup.episodes import Writer
from trueup.errors import TrueupError

ROOT = Path(__file__).parents[2]
EPISODES = 3
CAMERAS = 1
_MOVES = ("os.rename", "os.remove")


# Some packages install a package `tests` of their own, which would hide this one.
_START = """
import runpy, sys, types
tests = types.ModuleType("tests")
tests.__path__ = ["tests"]
sys.modules["tests"] = tests
runpy.run_module("tests.episodes.crashes", run_name="__main__")
"""


def command(folder: Path, *options: str) -> dict[str, Any]:
    """What to hand to `subprocess` to run this module in a process of its own."""
    return {"args": [sys.executable, "-c", _START, str(folder), *options], "cwd": ROOT}


def session(folder: Path, begin: int, count: int, cameras: int = CAMERAS) -> None:
    """Record some episodes; `acknowledged` counts those that `add` returned for."""
    acknowledged = folder.with_suffix(".acknowledged")
    with Writer(folder) as writer:
        for i in range(begin, begin + count):
            writer.add(recording(i, frames=12, cameras=cameras, pictures=8))
            acknowledged.write_text(str(i + 1))


def killed_at(move: int, folder: Path) -> bool:
    """Run a session that is killed before a move; whether it got that far."""
    child = os.fork()
    if child == 0:
        left = [move]

        def hook(event: str, arguments: tuple) -> None:
            if event in _MOVES and str(folder) in str(arguments[0]) and Path(arguments[0]).exists():
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1

        sys.addaudithook(hook)
        session(folder, 0, EPISODES)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def recorder(folder: Path) -> None:
    """Record for ever, from where it was left; say so before, and after each episode."""
    with Writer(folder) as writer:
        print(len(writer), flush=True)
        while True:
            i = len(writer)
            writer.add(recording(i, frames=12 + i % 5, cameras=CAMERAS, pictures=8))
            print(len(writer), flush=True)


def on_a_full_disk(folder: Path) -> str:
    """Try to store a long episode where no file may grow beyond a limit; what was said then."""
    with Writer(folder) as writer:
        writer.add(recording(0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        try:
            writer.add(recording(1, frames=4000))
        except TrueupError as error:
            return str(error)
        finally:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
            writer.add(recording(1))
    return "it was stored"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    if sys.argv[2:] == ["--for-ever"]:
        recorder(target)
    if sys.argv[2:] == ["--full-disk"]:
        sys.exit(on_a_full_disk(target))
    number = 0
    while killed_at(number, target / f"{number:03d}"):
        number += 1
