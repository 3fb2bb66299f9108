"""What needs the real LeRobot: `make test-lerobot` installs it in an environment of its own."""

from __future__ import annotations

import importlib.util
import os

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here may ask the network

INSTALLED = importlib.util.find_spec("lerobot") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not INSTALLED:
        reason = "LeRobot is not installed: `make test-lerobot` runs these in its own environment"
        for item in items:
            if "tests/lerobot/" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason=reason))
