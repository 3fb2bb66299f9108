"""LeRobot's own code at work: its policy and its processors, many rows at a time, on the CPU."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.policies.lerobot.checkpoint import AFTER, BEFORE, Checkpoint

_ROWS = 16
_DEVICE = "cpu"


class Missing(TrueupError):
    """LeRobot is not installed here."""

    def __init__(self) -> None:
        super().__init__(
            "A LeRobot checkpoint is run by LeRobot itself, which is not installed here.",
            fix="Install it: pip install 'trueup[lerobot]' (gigabytes; an environment of its own "
            "is best).",
        )


class Chunks:
    """Answers of a checkpoint: for each row, commands for the steps to come, in LeRobot's units.

    An answer does not depend on how many others are asked for beside it: rows go in groups of 16.

    Args:
        checkpoint: What to run.
        task: In words, for policies that read them.
    """

    def __init__(self, checkpoint: Checkpoint, task: str) -> None:
        self._task = task
        try:
            from lerobot.configs.policies import (  # pyright: ignore[reportMissingImports]
                PreTrainedConfig,
            )
            from lerobot.policies.factory import (  # pyright: ignore[reportMissingImports]
                get_policy_class,
                make_pre_post_processors,
            )
        except ImportError as error:
            raise Missing() from error
        folder = str(checkpoint.folder)
        overrides = {"device_processor": {"device": _DEVICE}}
        try:
            with redirect_stdout(io.StringIO()):  # it tells of its progress where results belong
                config = PreTrainedConfig.from_pretrained(folder, local_files_only=True)
                config.device = _DEVICE
                kind = get_policy_class(config.type)
                self._policy = kind.from_pretrained(
                    folder, config=config, local_files_only=True, strict=True
                )
                self._before, self._after = make_pre_post_processors(
                    config,
                    pretrained_path=folder,
                    preprocessor_config_filename=BEFORE,
                    postprocessor_config_filename=AFTER,
                    preprocessor_overrides=overrides,
                    postprocessor_overrides=overrides,
                )
        except Exception as error:  # whatever its own readers, draccus and safetensors raise
            raise TrueupError(
                f"LeRobot could not load {folder}: {_line(error)}.",
                fix="Check it with the LeRobot that wrote it, or take the whole folder again.",
            ) from error

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Commands (n, steps, nu) for what is read, (n, size) by LeRobot's keys."""
        n = len(next(iter(inputs.values())))
        return np.concatenate(
            [self._answer(inputs, start, min(n, start + _ROWS)) for start in range(0, n, _ROWS)]
        )

    def _answer(self, inputs: Mapping[str, np.ndarray], start: int, end: int) -> np.ndarray:
        import torch

        rows = np.pad(np.arange(start, end), (0, _ROWS - (end - start)), mode="edge")
        batch: dict[str, Any] = {
            key: torch.from_numpy(np.ascontiguousarray(values[rows], np.float32))
            for key, values in inputs.items()
        }
        with torch.inference_mode():
            ready = self._before({**batch, "task": [self._task] * _ROWS})
            answer = self._after(self._policy.predict_action_chunk(ready))
        return answer.numpy().astype(float)[: end - start]


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")
