"""Policies by their address: a folder of ours, or a checkpoint of LeRobot."""

from __future__ import annotations

from pathlib import Path

from trueup.policies.policy import Policy

LEROBOT = "lerobot:"
"""How the address of a LeRobot checkpoint begins."""


def open_policy(address: Path | str) -> Policy:
    """The policy at an address: its folder, or `lerobot:FOLDER[@DATASET]`."""
    if str(address).startswith(LEROBOT):
        from trueup.policies.lerobot import opened  # it reads datasets; a folder of ours needs none

        return opened(str(address))
    return Policy.load(address)
