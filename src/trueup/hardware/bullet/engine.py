"""PyBullet itself, which is an optional extra."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trueup.errors import TrueupError


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing reaches standard error, not even from a library in C."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _imported() -> Any:
    try:
        with _silent():  # it says when it was built
            import pybullet
    except ImportError:
        return None
    return pybullet


pybullet: Any = _imported()


def check_installed() -> None:
    """Say how to get PyBullet, where it is missing."""
    if pybullet is None:
        raise TrueupError(
            "A reality with the engine bullet needs PyBullet, which is not installed.",
            fix="Run: pip install 'trueup[bullet]'",
        )
