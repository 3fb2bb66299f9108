"""Checkpoints as LeRobot writes them, without its weights, and datasets that go with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from trueup.episodes import Channel, Dataset, Episode, Writer
from trueup.episodes.packing import packed
from trueup.worlds import get, interface_of

JOINTS = interface_of(get("so101/lift")).commands
THINGS = ("cube_position", "cube_orientation")
AXES = {"cube_position": (("x", "y", "z"), "m"), "cube_orientation": (("w", "x", "y", "z"), "1")}


def episode(
    *,
    joints: tuple[str, ...] = JOINTS,
    unit: str = "rad",
    things: tuple[str, ...] = THINGS,
    period_s: float = 0.04,
    frames: int = 20,
) -> Episode:
    rng, time_s = np.random.default_rng(3), period_s * np.arange(frames)

    def channel(names: tuple[str, ...], unit: str) -> Channel:
        walk = rng.normal(0.0, 0.01, (frames, len(names))).cumsum(axis=0)
        return Channel(values=walk.astype(np.float32), time_s=time_s, unit=unit, names=names)

    made = Episode(
        signals={
            "command": channel(joints, unit),
            "joint_position": channel(joints, unit),
            **{thing: channel(*AXES[thing]) for thing in things},
        },
        period_s=period_s,
        task="pick up the cube",
        origin={"world": "so101/lift"},
    )
    return packed(made, things) if things else made


def dataset(folder: Path, **how: Any) -> Path:
    with Writer(folder) as writer:
        writer.add(episode(**how))
    assert len(Dataset.open(folder)) == 1
    return folder


def checkpoint(folder: Path, dataset: Path | None = None, **changed: Any) -> Path:
    """The JSON files of an ACT that reads joints and a cube; its weights are not there to run."""
    config = {
        "type": "act",
        "n_obs_steps": 1,
        "input_features": {
            "observation.state": {"type": "STATE", "shape": [6]},
            "observation.environment_state": {"type": "ENV", "shape": [7]},
        },
        "output_features": {"action": {"type": "ACTION", "shape": [6]}},
        "chunk_size": 10,
        "n_action_steps": 5,
        "temporal_ensemble_coeff": None,
        **changed,
    }
    folder.mkdir(parents=True)
    steps = {"name": "p", "steps": [{"registry_name": "device_processor", "config": {}}]}
    for name in ("policy_preprocessor.json", "policy_postprocessor.json"):
        (folder / name).write_text(json.dumps(steps))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"weights")
    if dataset is not None:
        training = {"dataset": {"repo_id": "a/b", "root": str(dataset)}, "seed": 7, "steps": 300}
        (folder / "train_config.json").write_text(json.dumps(training))
    return folder
