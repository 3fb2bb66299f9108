"""Which software gave a result."""

from __future__ import annotations

import platform
from importlib.metadata import version

from trueup import __version__


def versions(*packages: str) -> dict[str, str]:
    """Versions of what computes, for run files."""
    named = {name: version(name) for name in packages or ("mujoco", "numpy")}
    return {"trueup": __version__, "python": platform.python_version(), **named}
