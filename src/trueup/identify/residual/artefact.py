"""The learnt residual as a folder: `residual.json` and `network.npz`. Nothing is unpickled."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from trueup.errors import TrueupError
from trueup.files import whole_folder
from trueup.identify.residual.effect import SHARE, ResidualEffect
from trueup.identify.residual.network import Network
from trueup.space import Point
from trueup.worlds import World
from trueup.worlds.added import with_effect

FORMAT, VERSION = "trueup/residual", 1
TEXT, ARRAYS = "residual.json", "network.npz"


@dataclass(frozen=True, kw_only=True)
class LearnedResidual:
    """What an identified simulator still missed, learnt from recordings.

    Attributes:
        world: The world that it was learnt in.
        point: What had been identified; it is right on top of this point alone.
        network: What corrects the commands.
        judgement: How it did on motions that were kept out, as JSON.
        made: How it was made, as JSON.
    """

    world: str
    point: Point
    network: Network
    judgement: Mapping[str, Any]
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def effect(self) -> ResidualEffect:
        """For the `effects()` of a world of one's own."""
        return ResidualEffect(network=self.network)

    @property
    def gain(self) -> float:
        """How much of what numbers leave it takes off motions that it never saw, of 1."""
        return float(self.judgement["gain"])

    def added_to(self, world: World) -> World:
        """A world with the same commands, in which they are corrected."""
        return with_effect(world, self.effect)

    @property
    def full(self) -> Point:
        """What had been identified, and all of the residual."""
        return Point({**self.point, SHARE: 1.0})

    def save(self, folder: Path | str) -> None:
        """Write the folder, whole or not at all; only an older residual is replaced."""
        check_free(folder)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **self.network.arrays)
        stored = buffer.getvalue()
        text = {
            "format": FORMAT,
            "version": VERSION,
            "world": self.world,
            "joints": list(self.network.joints),
            "point": dict(self.point),
            "judgement": dict(self.judgement),
            "made": dict(self.made),
            "sha256": hashlib.sha256(stored).hexdigest(),
        }
        with whole_folder(folder) as partial:
            (partial / ARRAYS).write_bytes(stored)
            (partial / TEXT).write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(folder: Path | str) -> LearnedResidual:
        """Read what `save` wrote."""
        folder = Path(folder)
        data, stored = _text(folder), _read(folder, ARRAYS)
        if hashlib.sha256(stored).hexdigest() != data.get("sha256"):
            raise TrueupError(f"{folder / ARRAYS} is not the file that was saved.", fix=_AGAIN)
        try:
            with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
                network = Network.of(tuple(data["joints"]), dict(arrays), str(folder / ARRAYS))
            return LearnedResidual(
                world=data["world"],
                point=Point(data["point"]),
                network=network,
                judgement=data["judgement"],
                made=data["made"],
            )
        except (KeyError, TypeError, ValueError, BadZipFile) as error:
            raise TrueupError(
                f"{folder} is damaged: {type(error).__name__} {error}.", fix=_AGAIN
            ) from error


def check_free(folder: Path | str) -> None:
    """Refuse to take the place of a folder that holds anything but a residual."""
    folder = Path(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / TEXT).is_file():
        raise TrueupError(
            f"{folder} holds other things, and a residual would take their place.",
            fix=f"Give a folder of its own, such as {folder / 'residual'}.",
        )


_AGAIN = "Take the whole folder again from where it was learnt, or learn it again."


def _text(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads(_read(folder, TEXT).decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TrueupError(f"{folder / TEXT} is not JSON: {error}.", fix=_AGAIN) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TrueupError(f"{folder / TEXT} does not describe a learnt residual.", fix=_AGAIN)
    if data.get("version") != VERSION:
        raise TrueupError(
            f"{folder / TEXT} has version {data.get('version')}, and this trueup reads {VERSION}.",
            fix="Learn it again, or use the trueup that wrote it.",
        )
    return data


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise TrueupError(
            f"{folder / name} could not be read: {error.strerror or error}.",
            fix="`trueup identify residual` writes such a folder.",
        ) from error
