"""People in recordings: leave to record them, and copies of only what consent covers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from trueup.episodes import Dataset
from trueup.episodes.consent import Admission, Covered, Purpose, Register, covered, people_in
from trueup.episodes.consent.register import PARTICIPANT
from trueup.errors import TrueupError


@dataclass(frozen=True, kw_only=True)
class WithPeople:
    """Who takes part in what is stored, as fields to inherit."""

    participant: Annotated[tuple[str, ...], arg(metavar="PSEUDONYM...")] = ()
    """Who takes part, as `trueup participants` knows them."""
    purpose: Annotated[Literal["recording", "training", "publication"] | None, arg()] = None
    """What recordings of participants are for; their consent must cover it."""
    participants: Annotated[Path, arg(metavar="FOLDER")] = Path("participants")
    """The register of participants."""

    def admission(self) -> Admission | None:
        """Leave to record those who take part; none where nobody does."""
        return admitted(self.participant, self.purpose, self.participants)


def admitted(
    pseudonyms: Sequence[str], purpose: str | None, participants: Path
) -> Admission | None:
    """Leave to record people for a purpose; none where there are none."""
    if bool(pseudonyms) != bool(purpose):
        given, missing = (
            ("--participant", "--purpose") if pseudonyms else ("--purpose", "--participant")
        )
        raise TrueupError(
            f"{given} is given without {missing}: a recording of people needs both.",
            fix="Say who takes part and what for: --participant P07 --purpose training.",
        )
    if not pseudonyms:
        return None
    return Register.open(participants).admitted(pseudonyms, Purpose(purpose))


def allowed(dataset: Dataset, purpose: str | None, participants: Path) -> Covered | None:
    """What may be copied for a purpose; none where no purpose is asked for and nobody is in it."""
    if purpose is not None:
        register = Register.open(participants, missing=True)
        return covered(dataset, register, Purpose(purpose))
    people = sum(PARTICIPANT in about.labels for about in dataset.abouts())
    if people:
        raise TrueupError(
            f"{people} of {len(dataset)} episodes in {dataset.folder} are of participants, and "
            "nobody said what the copy is for.",
            fix="Say --purpose recording, training or publication; what consent does not cover is "
            "then left out.",
        )
    return None


def trained_on(dataset: Dataset, participants: Path) -> Covered | None:
    """What policies may be trained on; none where nobody is in the dataset."""
    if not any(people_in(about.labels) for about in dataset.abouts()):
        return None
    return covered(dataset, Register.open(participants, missing=True), Purpose.TRAINING)


def noted(found: Covered, purpose: str | None, participants: Path, out: Path) -> None:
    """Say what was left out, and note in the register who is in the copy."""
    print(found.sentence, file=sys.stderr)
    if purpose is not None and found.participants:
        register = Register.open(participants, missing=True)
        copied = (name for name in found.participants if name in register)
        register.with_export(out, Purpose(purpose), copied, date.today()).save()
