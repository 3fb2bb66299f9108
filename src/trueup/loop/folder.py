"""A run folder: its settings, where it comes from, and whether it may be gone on with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError
from trueup.files import whole
from trueup.loop.journal import damaged, read
from trueup.loop.settings import Settings
from trueup.versions import versions

FILE = "run.json"
FORMAT, VERSION = "trueup/run", 1


@dataclass(frozen=True, kw_only=True)
class Origin:
    """How a run came about.

    Attributes:
        settings: What it does.
        versions: Of the packages that began it.
        started: When, UTC.
        commands: What was typed, each time.
    """

    settings: Settings
    versions: dict[str, str] = field(
        default_factory=lambda: versions("mujoco", "numpy", "torch", "rsl-rl-lib", "scipy")
    )
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    commands: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `load` reads."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.settings.to_json(),
            "versions": self.versions,
            "started": self.started,
            "commands": list(self.commands),
        }

    def save(self, folder: Path) -> None:
        """Write into a run folder."""
        with whole(folder / FILE) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> Origin:
        """Read what `save` wrote."""
        if not (folder / FILE).exists():
            what = "is no folder" if not folder.is_dir() else f"holds no run: it has no {FILE}"
            raise TrueupError(
                f"{folder} {what}.", fix="Begin one: `trueup run --out FOLDER`, without --from."
            )
        data = read(folder / FILE, FORMAT, VERSION)
        try:
            return Origin(
                settings=Settings.from_json(data["settings"]),
                versions=data["versions"],
                started=data["started"],
                commands=tuple(data["commands"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(folder / FILE, f"{type(error).__name__} {error}") from error


def holds_run(folder: Path) -> bool:
    """Whether a run was begun here; a folder with other things in it is refused."""
    if (folder / FILE).exists():
        return True
    try:
        others = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise TrueupError(f"{folder} is a file.", fix="Choose another --out.") from None
    if others:
        raise TrueupError(
            f"{folder} holds other things ({', '.join(sorted(others)[:3])}), and no run.",
            fix="Choose a new folder with --out.",
        )
    return False


def differing(stored: Settings, wanted: Settings) -> Sequence[str]:
    """Names of settings that are not the same."""
    a, b = stored.to_json(), wanted.to_json()
    return [name for name in a if a[name] != b[name]]
