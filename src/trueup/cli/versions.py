"""Which software gave a result."""

from __future__ import annotations

import platform
from importlib.metadata import version

from trueup import __version__


def versions() -> dict[str, str]:
    """Versions of what computes, for run files."""
    packages = {name: version(name) for name in ("mujoco", "numpy")}
    return {"trueup": __version__, "python": platform.python_version(), **packages}
