"""A checkpoint of LeRobot on disk: what its JSON files say, before any of its code runs.

Nothing in the folder is executed or unpickled. Weights and statistics are safetensors, and steps
of its processors are taken from LeRobot's own registry, never by the name of a module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError

CONFIG, WEIGHTS = "config.json", "model.safetensors"
BEFORE, AFTER = "policy_preprocessor.json", "policy_postprocessor.json"
STATE, ENVIRONMENT, ACTION = "observation.state", "observation.environment_state", "action"

_TRAINING = "train_config.json"
_WITHIN = ("", "pretrained_model", "checkpoints/last/pretrained_model")
_AGAIN = "Take the whole folder again: config.json, model.safetensors and both processors."


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a checkpoint says of itself.

    Attributes:
        folder: Where it is.
        config: `config.json`.
        training: `train_config.json`; empty where there is none.
    """

    folder: Path
    config: Mapping[str, Any]
    training: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path | str) -> Checkpoint:
        """The checkpoint in a folder, or in that of a training run of LeRobot."""
        folder = _found(Path(folder))
        config = _json(folder / CONFIG)
        if not isinstance(config.get("type"), str):
            raise TrueupError(f"{folder / CONFIG} does not say its type.", fix=_AGAIN)
        for name in (WEIGHTS, BEFORE, AFTER):
            if not (folder / name).is_file():
                raise TrueupError(f"The checkpoint {folder} has no {name}.", fix=_missing(name))
        training = _json(folder / _TRAINING) if (folder / _TRAINING).is_file() else {}
        checkpoint = cls(folder=folder, config=config, training=training)
        checkpoint._check()
        return checkpoint

    @property
    def kind(self) -> str:
        """Which of LeRobot's policies it is: act, smolvla, ..."""
        return str(self.config["type"])

    @property
    def dataset(self) -> Path | None:
        """The dataset it was trained on, where that was on this machine."""
        root = dict(self.training.get("dataset") or {}).get("root")
        return Path(root) if root and (Path(root) / "meta").is_dir() else None

    @property
    def marks(self) -> dict[str, dict[str, Any]]:
        """SHA-256 and size of every file that decides what it does."""
        names = {CONFIG, WEIGHTS, *(name for part in (BEFORE, AFTER) for name in self._files(part))}
        return {name: _mark(self.folder / name) for name in sorted(names)}

    def size(self, key: str) -> int | None:
        """How many numbers it reads or answers with under one of LeRobot's keys."""
        features = {**self._features("input_features"), **self._features("output_features")}
        shape = dict(features.get(key) or {}).get("shape")
        return None if shape is None else int(shape[0])

    def _features(self, which: str) -> dict[str, Any]:
        return dict(self.config.get(which) or {})

    def _check(self) -> None:
        pictures = [
            key
            for key, feature in self._features("input_features").items()
            if feature.get("type") == "VISUAL"
        ]
        if pictures:
            raise TrueupError(
                f"{self.folder} reads pictures ({', '.join(pictures)}), and worlds and robots here "
                "give numbers only.",
                fix="Train it on observation.state and observation.environment_state: `trueup "
                "episodes convert --environment SIGNAL...` writes such a dataset.",
            )
        steps = self.config.get("n_obs_steps", 1)
        if steps != 1:
            raise TrueupError(
                f"{self.folder} reads {steps} observations at a time, and only policies that read "
                "one are run here.",
                fix="Train it with n_obs_steps 1, as ACT is.",
            )
        for key in (ACTION, STATE):
            if self.size(key) is None:
                raise TrueupError(f"{self.folder / CONFIG} says nothing of {key!r}.", fix=_AGAIN)
        for name in (BEFORE, AFTER):
            for step in self._steps(name):
                if "registry_name" not in step:
                    raise TrueupError(
                        f"{self.folder / name} names the class {step.get('class')!r}, which would "
                        "be imported and run.",
                        fix="Take a checkpoint whose steps are in LeRobot's own registry.",
                    )

    def _steps(self, name: str) -> list[dict[str, Any]]:
        return list(_json(self.folder / name).get("steps") or [])

    def _files(self, name: str) -> Iterator[str]:
        yield name
        for step in self._steps(name):
            if step.get("state_file"):
                yield str(step["state_file"])


def _found(folder: Path) -> Path:
    for within in _WITHIN:
        if (folder / within / CONFIG).is_file():
            return folder / within
    if not folder.is_dir():
        raise TrueupError(f"There is no LeRobot checkpoint at {folder}.", fix="Check the path.")
    raise TrueupError(
        f"{folder} is not a LeRobot checkpoint: it has no {CONFIG}.",
        fix="Give the folder pretrained_model/ that lerobot-train wrote, or its output folder.",
    )


def _missing(name: str) -> str:
    if name in (BEFORE, AFTER):
        return "It is of LeRobot before 0.4: bring it up to date with LeRobot's own migration."
    return _AGAIN


def _json(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrueupError(f"{path} could not be read: {error}.", fix=_AGAIN) from error
    if not isinstance(stored, dict):
        raise TrueupError(f"{path} does not hold a JSON object.", fix=_AGAIN)
    return stored


def _mark(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TrueupError(
            f"{path} could not be read: {error.strerror or error}.", fix=_AGAIN
        ) from error
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
