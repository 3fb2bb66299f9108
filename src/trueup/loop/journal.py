"""What was done in a run folder: written whole after every step, so that a kill loses nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError
from trueup.files import whole

FILE = "journal.json"
FORMAT, VERSION = "trueup/journal", 1


class State(StrEnum):
    """How a stage stands."""

    RUNNING = "running"
    DONE = "done"
    LEFT_OUT = "left out"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One stage.

    Attributes:
        state: How it stands.
        seconds: How long it took, pauses by a kill not counted.
        inputs: The hash of each artefact that it read.
        outputs: The hash of each artefact that it wrote.
        found: What came of it, in a sentence.
    """

    state: State
    seconds: float = 0.0
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    found: str = ""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """All of them, by name of the stage.

    Attributes:
        stages: What is known of each stage that was begun.
        ended: Why the run stopped before its last stage: a word and a sentence; empty otherwise.
        accepted: Artefacts that were changed by hand, and are used all the same.
    """

    stages: Mapping[str, Entry] = field(default_factory=dict)
    ended: tuple[str, str] | None = None
    accepted: tuple[str, ...] = ()

    def done(self, name: str) -> bool:
        """Whether a stage came to its end."""
        return name in self.stages and self.stages[name].state is State.DONE

    def running(self, name: str) -> bool:
        """Whether a stage was begun, and did not come to its end."""
        return name in self.stages and self.stages[name].state is State.RUNNING

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal journal."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def save(self, folder: Path) -> None:
        """Write into a run folder."""
        with whole(folder / FILE) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> Journal:
        """Read what `save` wrote; nothing was done where there is none."""
        if not (folder / FILE).exists():
            return Journal()
        data = read(folder / FILE, FORMAT, VERSION)
        try:
            stages = {
                name: Entry(**{**row, "state": State(row["state"])})
                for name, row in data["stages"].items()
            }
            ended = tuple(data["ended"]) if data["ended"] else None
            return Journal(stages=stages, ended=ended, accepted=tuple(data["accepted"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(folder / FILE, f"{type(error).__name__} {error}") from error


def read(path: Path, kind: str, version: int) -> dict[str, Any]:
    """A JSON object of a run folder, of the right kind and version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrueupError(
            f"{path} could not be read: {error.strerror or error}.", fix="Choose another --out."
        ) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged(path, f"it is not JSON ({error})") from error
    if not isinstance(data, dict) or data.get("format") != kind:
        raise damaged(path, f"it is not a {kind}")
    if data.get("version") != version:
        raise TrueupError(
            f"{path} has version {data.get('version')}, and this trueup reads {version}.",
            fix="Use the trueup that wrote it, or begin anew in another --out.",
        )
    return data


def damaged(path: Path, why: str) -> TrueupError:
    """The error of a file that nobody can read any more."""
    return TrueupError(
        f"{path} is damaged: {why}.",
        fix="Begin anew in another --out; what lies beside it can still be used by hand.",
    )
