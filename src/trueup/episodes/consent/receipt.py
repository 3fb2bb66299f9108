"""The receipt of a withdrawal: what was removed, and that nothing of it is left."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from trueup.artefacts import Artefact
from trueup.errors import TrueupError
from trueup.files import whole

_KIND = Artefact(
    format="trueup/withdrawal",
    version=1,
    called="the receipt of a withdrawal",
    written="`trueup participants withdraw` writes one.",
    again="Take the copy that the person was given",
)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was read again afterwards.

    Attributes:
        what: What was counted.
        expected: What must be there when nothing is left of the person, and nothing else is lost.
        found: What is there.
    """

    what: str
    expected: int
    found: int

    @property
    def holds(self) -> bool:
        """Whether it is as it must be."""
        return self.expected == self.found


@dataclass(frozen=True, kw_only=True)
class Gone:
    """An episode that was removed.

    Attributes:
        episode: Its number before.
        frames: How many it had.
        pictures: How many pictures, in all cameras.
        sha256: Of all its signals and words.
    """

    episode: int
    frames: int
    pictures: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What was done to one dataset.

    Attributes:
        dataset: Where.
        before: Episodes before.
        gone: Those that were removed.
        kept_sha256: Of the hashes of all that stayed, in order.
        checks: What was read again afterwards.
    """

    dataset: str
    before: int
    gone: tuple[Gone, ...]
    kept_sha256: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all is as it must be."""
        return all(check.holds for check in self.checks)


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Proof of a withdrawal, for the person and for the file.

    Attributes:
        participant: Who withdrew.
        on: When.
        removals: What was done, dataset by dataset.
        copies: Places where copies went and that this withdrawal did not look at.
    """

    participant: str
    on: date
    removals: tuple[Removal, ...]
    copies: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """Of everything in it: a receipt that was changed afterwards says something else."""
        text = json.dumps(self._plain(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def removed(self) -> int:
        """Episodes in all."""
        return sum(len(removal.gone) for removal in self.removals)

    def to_json(self) -> dict[str, Any]:
        """As a file holds it, signed by its hash."""
        return {**self._plain(), "sha256": self.sha256}

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path | str) -> Receipt:
        """Read what `save` wrote; refused where it was changed since."""
        data = _KIND.load(path)
        receipt = _KIND.read(data, str(path), _read)
        if receipt.sha256 != data.get("sha256"):
            raise TrueupError(
                f"The receipt {path} was changed after it was written: its hash does not fit.",
                fix="Take the copy that the person was given.",
            )
        return receipt

    def _plain(self) -> dict[str, Any]:
        return {
            **_KIND.mark,
            "participant": self.participant,
            "on": self.on.isoformat(),
            "removals": [asdict(removal) for removal in self.removals],
            "copies": list(self.copies),
        }


def _read(data: dict[str, Any]) -> Receipt:
    return Receipt(
        participant=data["participant"],
        on=date.fromisoformat(data["on"]),
        removals=tuple(_removal(row) for row in data["removals"]),
        copies=tuple(data["copies"]),
    )


def _removal(row: dict[str, Any]) -> Removal:
    gone = tuple(Gone(**one) for one in row["gone"])
    checks = tuple(Check(**one) for one in row["checks"])
    return Removal(**{**row, "gone": gone, "checks": checks})
