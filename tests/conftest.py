"""What every test may rely on: offscreen drawing, real recordings, repeatable examples."""

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

# Before any test imports mujoco, which chooses its GL on import.
if sys.platform.startswith("linux"):
    os.environ.setdefault("MUJOCO_GL", "egl")

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# Workers that share the tests are told how wide the first one's terminal is; ours has no terminal.
os.environ.pop("COLUMNS", None)

# A shell lets what it starts in the background ignore Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run, so that a failure is always somebody's change.
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@cache
def offscreen_gl_works() -> bool:
    probe = [sys.executable, str(ROOT / "tools" / "offscreen_gl.py"), "--probe"]
    return subprocess.run(probe, capture_output=True, timeout=120).returncode == 0


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gl") and not offscreen_gl_works():
        pytest.skip("no offscreen OpenGL: `python tools/offscreen_gl.py` says what to install")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real hardware recordings, which are not part of the repository."""
    named = os.environ.get("TRUEUP_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"TRUEUP_DATA names '{named}', which is not a folder")
    pytest.skip("no real recordings: set TRUEUP_DATA to their folder, or put it at ../shared/data")
