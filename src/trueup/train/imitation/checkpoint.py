"""Where learning from demonstrations stands, so that it can go on from there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trueup.errors import TrueupError
from trueup.train.torch_ways import save_whole

_FORMAT = "trueup/cloning"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that changes while a policy is cloned.

    Attributes:
        learner: Network and optimizer.
        best: The smallest held-out error, and the network that had it.
        waited: Looks since then.
        wall_s: Time it took so far.
        identity: Which learning this is: world, demonstrations, settings.
    """

    learner: dict[str, Any]
    best: tuple[float, bytes]
    waited: int
    wall_s: float
    identity: dict[str, Any]

    def save(self, path: Path) -> None:
        """Write, whole or not at all."""
        stored = {
            "format": _FORMAT,
            "learner": self.learner,
            "best": [self.best[0], self.best[1].hex()],
            "waited": self.waited,
            "wall_s": self.wall_s,
            "identity": json.dumps(self.identity),
        }
        save_whole(stored, path)

    @classmethod
    def load(cls, path: Path, identity: dict[str, Any]) -> Checkpoint:
        """Read what `save` wrote of the same learning; nothing in it is executed."""
        if not path.is_file():
            raise TrueupError(f"There is no checkpoint at {path}.", fix="Check the folder.")
        try:
            stored = torch.load(path, map_location="cpu", weights_only=True)
            if stored["format"] != _FORMAT:
                raise ValueError(f"its format is {stored['format']!r}")
            made = cls(
                learner=stored["learner"],
                best=(stored["best"][0], bytes.fromhex(stored["best"][1])),
                waited=stored["waited"],
                wall_s=stored["wall_s"],
                identity=json.loads(stored["identity"]),
            )
        except Exception as error:  # whatever torch and zip say of a damaged file
            reason = str(error).strip().splitlines()[0][:120] if str(error) else repr(error)
            raise TrueupError(
                f"{path} is not a checkpoint of learning from demonstrations: {reason}.",
                fix="Begin again in another folder; the policy beside it can be tuned with --from.",
            ) from error
        made._check(identity, path)
        return made

    def _check(self, identity: dict[str, Any], path: Path) -> None:
        for name, wanted in json.loads(json.dumps(identity)).items():
            if (found := self.identity.get(name)) != wanted:
                raise TrueupError(
                    f"The checkpoint {path} belongs to another learning: its {name} is "
                    f"{_short(found)}, and {_short(wanted)} was asked for.",
                    fix="Use the options it began with, or another folder.",
                )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
