"""`lerobot:FOLDER[@DATASET]`: how a checkpoint is named where a policy's folder could stand."""

from __future__ import annotations

from pathlib import Path

from trueup.errors import TrueupError
from trueup.policies.lerobot.policy import LerobotPolicy
from trueup.policies.opening import LEROBOT


def opened(address: str) -> LerobotPolicy:
    """The checkpoint at an address.

    Args:
        address: `lerobot:FOLDER`, or `lerobot:FOLDER@DATASET` where the dataset that it was trained
            on is not where its training found it.
    """
    rest = address.removeprefix(LEROBOT)
    folder, at, dataset = rest.rpartition("@")
    if not at or Path(rest).is_dir():
        folder, dataset = rest, ""
    if not folder:
        raise TrueupError(
            f"{address!r} names no folder.", fix="Give lerobot:FOLDER, or lerobot:FOLDER@DATASET."
        )
    return LerobotPolicy.load(folder, dataset or None)
