"""See that MuJoCo can draw without a screen; where it cannot, install what it lacks.

`python tools/offscreen_gl.py` is silent when drawing works. Otherwise it installs the missing
system packages where it may, and says what to install where it may not. It always exits with 0:
tests marked `gl` then skip and the rest still runs. `--probe` only looks, and exits with 0 or 1.
"""

import os
import shutil
import subprocess
import sys

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


def administrator() -> list[str] | None:
    """The words that go before a command to run it as root, or None where we may not."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and not subprocess.run([*sudo, "true"], capture_output=True).returncode:
        return sudo
    return None


def install() -> None:
    root = administrator()
    if root is None or shutil.which("apt-get") is None:
        return
    print(f"Installing {' '.join(PACKAGES)} to draw without a screen", flush=True)
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for step in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run([*apt, *step], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"apt-get {step[0]} failed: {done.stderr.strip()[-500:]}")


def main() -> None:
    if "--probe" in sys.argv:
        draw_one_image()
    elif not works():
        install()
        if not works():
            print(ADVICE)


if __name__ == "__main__":
    main()
