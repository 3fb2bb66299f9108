"""Install packages of the system where we may: as root, or by sudo without a password, with apt."""

import os
import shutil
import subprocess
from collections.abc import Sequence


def administrator() -> list[str] | None:
    """The words that go before a command to run it as root, or None where we may not."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and not subprocess.run([*sudo, "true"], capture_output=True).returncode:
        return sudo
    return None


def install(packages: Sequence[str], purpose: str) -> None:
    """Try; what fails is said and nothing more, for whoever calls looks again anyway."""
    root = administrator()
    if root is None or shutil.which("apt-get") is None:
        return
    print(f"Installing {' '.join(packages)} {purpose}", flush=True)
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for step in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run([*apt, *step], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"apt-get {step[0]} failed: {done.stderr.strip()[-500:]}")
