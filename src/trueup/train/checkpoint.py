"""Where training stands, so that it can go on exactly from there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from trueup.errors import TrueupError
from trueup.train.torch_ways import save_whole

_FORMAT, _VERSION = "trueup/checkpoint", 2


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that changes while a policy is trained, but for the worlds, which restart here.

    Attributes:
        update: Updates done.
        wall_s: Time they took.
        ppo: Networks and optimizer.
        torch_state: Of torch's random numbers.
        generator: State of the numpy generator.
        plan: State of the plan.
        notes: What the trainer itself remembers.
        identity: Which training this is: world, space, settings.
    """

    update: int
    wall_s: float
    ppo: dict[str, Any]
    torch_state: torch.Tensor
    generator: dict[str, Any]
    plan: dict[str, Any]
    notes: dict[str, Any]
    identity: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write, whole or not at all: a disk that fills leaves the last good one."""
        plain = {
            name: json.dumps(getattr(self, name))
            for name in ("generator", "plan", "notes", "identity")
        }
        stored = {
            "format": _FORMAT,
            "version": _VERSION,
            "update": self.update,
            "wall_s": self.wall_s,
            "ppo": self.ppo,
            "torch_state": self.torch_state,
            **plain,
        }
        save_whole(stored, path)

    @classmethod
    def load(cls, path: Path | str) -> Checkpoint:
        """Read what `save` wrote; tensors and plain numbers only, nothing is executed."""
        path = Path(path)
        if not path.is_file():
            raise TrueupError(f"There is no checkpoint at {path}.", fix="Check the folder.")
        try:
            stored = torch.load(path, map_location="cpu", weights_only=True)
            found = stored["format"], stored["version"]
            if found != (_FORMAT, _VERSION):
                raise ValueError("its format is {!r}, version {!r}".format(*found))
            plain = {
                name: json.loads(stored[name])
                for name in ("generator", "plan", "notes", "identity")
            }
            return cls(
                update=stored["update"],
                wall_s=stored["wall_s"],
                ppo=stored["ppo"],
                torch_state=stored["torch_state"],
                **plain,
            )
        except Exception as error:  # whatever torch and zip say of a damaged file
            reason = (
                str(error).strip().split(". ")[0].splitlines()[0] if str(error) else repr(error)
            )
            raise TrueupError(
                f"{path} is not a checkpoint that can be read: {reason}.",
                fix="Begin again in another folder; the policy beside it can be tuned further "
                "with --from.",
            ) from error

    def check(self, identity: dict[str, Any], path: Path | str) -> None:
        """Refuse a checkpoint of another training."""
        for name, wanted in identity.items():
            if (found := self.identity.get(name)) != wanted:
                raise TrueupError(
                    f"The checkpoint {path} belongs to another training: its {name} is "
                    f"{_short(found)}, and {_short(wanted)} was asked for.",
                    fix="Use the options it began with, or another folder.",
                )


def learned(ppo: PPO) -> dict[str, Any]:
    """Networks and optimizer of a PPO, as tensors and plain numbers."""
    return {**ppo.save(), "learning_rate": float(ppo.learning_rate)}


def relearn(ppo: PPO, stored: dict[str, Any]) -> None:
    """Put a PPO where `learned` found it."""
    ppo.load(stored, None, strict=True)
    ppo.learning_rate = stored["learning_rate"]


def generator_state(generator: np.random.Generator) -> dict[str, Any]:
    """A numpy generator's state as JSON can hold it."""
    return dict(generator.bit_generator.state)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
