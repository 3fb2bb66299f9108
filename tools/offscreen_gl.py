"""See that MuJoCo can draw without a screen; where it cannot, install what it lacks.

`python tools/offscreen_gl.py` is silent when drawing works. Otherwise it installs the missing
system packages where it may, and says what to install where it may not. It always exits with 0:
tests marked `gl` then skip and the rest still runs. `--probe` only looks, and exits with 0 or 1.
"""

import os
import subprocess
import sys

from system_packages import install

PACKAGES = ("libegl1", "libgl1", "libgl1-mesa-dri")
ADVICE = (
    "MuJoCo cannot draw without a screen here, so rendering tests skip: "
    f"install {' '.join(PACKAGES)} (names as in Debian and Ubuntu)."
)


def draw_one_image() -> None:
    # Before the import: MuJoCo chooses its GL when it is imported.
    if sys.platform.startswith("linux"):
        os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><light pos='0 0 1'/><geom size='.1'/></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, 16, 16) as renderer:
        renderer.update_scene(data)
        if not renderer.render().any():
            raise RuntimeError("the image is black")


def works() -> bool:
    """Drawing is tried in a process of its own: a broken driver may abort, not raise."""
    probe = [sys.executable, __file__, "--probe"]
    return subprocess.run(probe, capture_output=True, timeout=120).returncode == 0


def main() -> None:
    if "--probe" in sys.argv:
        draw_one_image()
    elif not works():
        install(PACKAGES, "to draw without a screen")
        if not works():
            print(ADVICE)


if __name__ == "__main__":
    main()
