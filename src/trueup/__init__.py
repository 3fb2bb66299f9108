"""The sim-to-real gap as an engineering quantity: measured, attributed, closed."""

import ctypes
import os
import sys

__version__ = "0.1.0"


def _draw_offscreen() -> None:
    """Let MuJoCo draw without a screen; it decides this once, when it is imported.

    Asking for EGL where there is none would break the import itself, so look first.
    """
    if sys.platform != "linux" or "MUJOCO_GL" in os.environ:
        return
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return
    os.environ["MUJOCO_GL"] = "egl"


_draw_offscreen()
