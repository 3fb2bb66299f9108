"""What is said of each episode: whether it stays, why not, and with which weight."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.files import whole

FORMAT, VERSION = "trueup/keep-list", 1
MOST = 1e6
"""An excess is told up to here; what is wrong in any dataset has this one."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One thing that is wrong with an episode.

    Attributes:
        rule: Which rule says so.
        where: The column, or empty where it is about the episode.
        what: The sentence, without a full stop.
        excess: How far beyond the fence, from 1.
    """

    rule: str
    where: str
    what: str
    excess: float


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One episode.

    Attributes:
        episode: Its number.
        keep: Whether it stays.
        badness: Of its worst measure, in shares of the way to the fence: above 1 is out. Episodes
            are ranked by it.
        weight: How much to train on it, from 0, 1 on average over those that stay.
        reasons: What names a cause first, then symptoms, the worst first; none for one that stays.
        nearest: What came nearest to a reason in one that stays.
        real: How real the discriminator takes it for, from 0 to 1; none without a reference.
        giveaway: The signal that gave it away; empty where nothing did.
    """

    episode: int
    keep: bool
    badness: float
    weight: float
    reasons: tuple[Reason, ...] = ()
    nearest: str = ""
    real: float | None = None
    giveaway: str = ""

    @property
    def why(self) -> str:
        """The first reason, in words."""
        return self.reasons[0].what if self.reasons else ""


@dataclass(frozen=True, kw_only=True)
class RuleCount:
    """What a rule did.

    Attributes:
        name: The rule.
        summary: What it looks for.
        dropped: Episodes that it speaks against.
        first: Episodes of which it is the first reason.
        blind: Why it could not look; empty where it could.
    """

    name: str
    summary: str
    dropped: int
    first: int
    blind: str = ""


@dataclass(frozen=True, kw_only=True)
class KeepList:
    """What to train on, and why not on the rest.

    Attributes:
        dataset: Where the episodes are.
        reference: What they were compared with; empty for nothing.
        verdicts: One for each episode, in order.
        rules: What each rule did.
        notes: What is true of the dataset as a whole, a sentence each.
        discriminator: How well the episodes can be told from the reference, as JSON; empty without.
        settings: What was asked for.
    """

    dataset: str
    verdicts: tuple[Verdict, ...]
    rules: tuple[RuleCount, ...]
    reference: str = ""
    notes: tuple[str, ...] = ()
    discriminator: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def kept(self) -> np.ndarray:
        """Numbers of the episodes that stay."""
        return np.array([v.episode for v in self.verdicts if v.keep], int)

    @property
    def dropped(self) -> tuple[Verdict, ...]:
        """Those that do not, the worst first."""
        return tuple(v for v in self.worst(len(self)) if not v.keep)

    @property
    def weights(self) -> np.ndarray:
        """(n,) how much to train on each; 0 where it is dropped."""
        return np.array([v.weight for v in self.verdicts])

    @property
    def badness(self) -> np.ndarray:
        """(n,) by which episodes are ranked; low is good."""
        return np.array([v.badness for v in self.verdicts])

    def worst(self, n: int = 10) -> tuple[Verdict, ...]:
        """The n worst episodes, dropped or not; where two are alike, the one with more reasons."""
        ranked = sorted(self.verdicts, key=lambda v: (-v.badness, -len(v.reasons), v.episode))
        return tuple(ranked[:n])

    def to_json(self) -> dict[str, Any]:
        """For programs; `kept` and `weights` are what a trainer reads."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "dataset": self.dataset,
            "reference": self.reference,
            "episodes": len(self),
            "kept": self.kept.tolist(),
            "weights": self.weights.tolist(),
            "notes": list(self.notes),
            "rules": [asdict(rule) for rule in self.rules],
            "discriminator": dict(self.discriminator),
            "verdicts": [
                {**vars(v), "reasons": [asdict(reason) for reason in v.reasons]}
                for v in self.verdicts
            ],
            "settings": dict(self.settings),
        }

    def save(self, path: Path | str) -> None:
        """Write as JSON, whole or not at all."""
        with whole(path) as partial:
            partial.write_text(
                json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )

    @classmethod
    def load(cls, path: Path | str) -> KeepList:
        """Again from its file."""
        path = Path(path)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if (stored["format"], stored["version"]) != (FORMAT, VERSION):
                raise ValueError(f"it says {stored['format']!r}, version {stored['version']}")
            verdicts = tuple(
                Verdict(**{**v, "reasons": tuple(Reason(**r) for r in v["reasons"])})
                for v in stored["verdicts"]
            )
            rules = tuple(RuleCount(**rule) for rule in stored["rules"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise TrueupError(
                f"{path} is not a keep-list of version {VERSION}: {error}.",
                fix="Give the keep.json that `trueup curate DATASET --out FOLDER` wrote.",
            ) from error
        return cls(
            dataset=stored["dataset"],
            reference=stored["reference"],
            verdicts=verdicts,
            rules=rules,
            notes=tuple(stored["notes"]),
            discriminator=stored["discriminator"],
            settings=stored["settings"],
        )
