"""Results that are kept as JSON: each file says what it is, and a wrong one is refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from trueup.errors import TrueupError

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, AssertionError)

Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Artefact:
    """A kind of result, by which its files are told from others.

    Attributes:
        format: The word that stands in its files.
        version: Of that format.
        called: In a sentence, such as `an estimate`.
        written: A sentence: which command writes one.
        again: How to get a new one, such as `Identify again`.
    """

    format: str
    version: int
    called: str
    written: str
    again: str

    @property
    def mark(self) -> dict[str, Any]:
        """How such a file begins."""
        return {"format": self.format, "version": self.version}

    def load(self, path: Path | str) -> Any:
        """What a file holds, as JSON; `read` makes something of it."""
        path = Path(path)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise TrueupError(
                f"{path} could not be read: {error.strerror or error}.", fix=self.written
            ) from error
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise TrueupError(f"{path} is not JSON: {error}.", fix=f"{self.again}.") from error

    def read(self, data: Any, where: str, make: Callable[[dict[str, Any]], Made]) -> Made:
        """What `make` makes of JSON, if it is of this kind and all there.

        Args:
            data: What `load` gave.
            where: What to call it in a sentence.
            make: Takes the JSON object.
        """
        if not isinstance(data, dict) or data.get("format") != self.format:
            raise TrueupError(f"{where} is not {self.called}.", fix=self.written)
        if data.get("version") != self.version:
            raise TrueupError(
                f"{where} has version {data.get('version')}, and this trueup reads {self.version}.",
                fix=f"{self.again}, or use the trueup that wrote it.",
            )
        try:
            return make(data)
        except _DAMAGED as error:
            raise TrueupError(
                f"{where} is damaged: {type(error).__name__} {error}.", fix=f"{self.again}."
            ) from error
