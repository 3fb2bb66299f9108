"""The register: who takes part, by pseudonym, and where copies of their recordings went."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from trueup.episodes.consent.participant import Consent, Participant, Purpose, check_pseudonym
from trueup.errors import TrueupError, UnknownName
from trueup.files import whole

FORMAT, VERSION = "trueup/participants", 1
FILE, RECEIPTS = "participants.json", "receipts"
PARTICIPANT, PURPOSE = "participant", "purpose"
"""Labels of episodes with people in them."""


@dataclass(frozen=True, kw_only=True)
class Admission:
    """Leave to record people for a purpose, as a register gave it.

    Attributes:
        participants: Who.
        purpose: What for.
        on: The day.
    """

    participants: tuple[str, ...]
    purpose: Purpose
    on: date

    @property
    def labels(self) -> dict[str, str]:
        """What every episode then says."""
        return {PARTICIPANT: " ".join(self.participants), PURPOSE: str(self.purpose)}


@dataclass(frozen=True, kw_only=True)
class Export:
    """A copy that was made of recordings with people.

    Attributes:
        dataset: Where it went.
        purpose: What for.
        on: When.
        participants: Who is in it.
    """

    dataset: str
    purpose: str
    on: date
    participants: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Register:
    """Participants of a study, in a folder of its own. Frozen: changes give a new one to save.

    Attributes:
        folder: Where it is kept.
        participants: Everybody who ever took part; who withdrew stays, so that nobody records them.
        exports: Copies that were made.
    """

    folder: Path
    participants: tuple[Participant, ...] = ()
    exports: tuple[Export, ...] = field(default=())

    def __getitem__(self, pseudonym: str) -> Participant:
        check_pseudonym(pseudonym)
        for participant in self.participants:
            if participant.pseudonym == pseudonym:
                return participant
        known = [participant.pseudonym for participant in self.participants]
        raise UnknownName(
            "participant",
            pseudonym,
            known,
            fix=f"`trueup participants add {pseudonym} --scope recording training` enters one.",
        )

    def __contains__(self, pseudonym: str) -> bool:
        return any(participant.pseudonym == pseudonym for participant in self.participants)

    def admitted(
        self, pseudonyms: Sequence[str], purpose: Purpose, on: date | None = None
    ) -> Admission:
        """Leave to record people; refused unless the consent of every one covers it."""
        day = on or date.today()
        for pseudonym in pseudonyms:
            participant = self[pseudonym]
            for needed in (Purpose.RECORDING, purpose):
                if not participant.covers(needed, day):
                    raise TrueupError(
                        f"Nothing is recorded: {participant.why_not(needed, day)}.",
                        fix="Ask for consent first, then `trueup participants add ... --again`."
                        if participant.withdrawn is None
                        else "Record without this person.",
                    )
        return Admission(participants=tuple(pseudonyms), purpose=purpose, on=day)

    def with_consent(
        self,
        pseudonym: str,
        consent: Consent,
        *,
        again: bool = False,
        age: str = "",
        height: str = "",
        handedness: str = "",
    ) -> Register:
        """With one more participant, or a new consent of one who is there already."""
        about = {"age": age, "height": height, "handedness": handedness}
        if pseudonym not in self:
            made = Participant(
                pseudonym=pseudonym,
                consents=(consent,),
                age=age,
                height=height,
                handedness=handedness,
            )
            return replace(self, participants=(*self.participants, made))
        known = self[pseudonym]
        if known.withdrawn is not None:
            raise TrueupError(
                f"{pseudonym} withdrew on {known.withdrawn}.",
                fix="Give a person who comes back a new pseudonym.",
            )
        if not again:
            raise TrueupError(
                f"{pseudonym} is in the register already.",
                fix="Say --again for a new consent of the same person, or choose another number.",
            )
        told = {name: word for name, word in about.items() if word}
        return self._with(replace(known, consents=(*known.consents, consent), **told))

    def without(self, pseudonym: str, on: date) -> Register:
        """With a participant withdrawn; a second time changes nothing."""
        known = self[pseudonym]
        return self if known.withdrawn else self._with(replace(known, withdrawn=on))

    def with_export(
        self, dataset: Path, purpose: Purpose, participants: Iterable[str], on: date
    ) -> Register:
        """With a copy noted, so that a later withdrawal knows where to look."""
        made = Export(
            dataset=str(dataset.resolve()),
            purpose=str(purpose),
            on=on,
            participants=tuple(sorted(participants)),
        )
        return replace(self, exports=(*self.exports, made))

    def copies_of(self, pseudonym: str) -> tuple[str, ...]:
        """Where copies with a person in them went."""
        found = (e.dataset for e in self.exports if pseudonym in e.participants)
        return tuple(dict.fromkeys(found))

    def save(self) -> None:
        """Write it, whole or not at all."""
        data = {
            "format": FORMAT,
            "version": VERSION,
            "participants": [participant.to_json() for participant in self.participants],
            "exports": [{**vars(e), "on": e.on.isoformat()} for e in self.exports],
        }
        with whole(self.folder / FILE) as partial:
            partial.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def open(folder: Path | str, *, missing: bool = False) -> Register:
        """The register of a folder.

        Args:
            folder: Where.
            missing: Whether a folder without one gives an empty register instead of an error.
        """
        folder = Path(folder)
        path = folder / FILE
        if not path.exists():
            if missing:
                return Register(folder=folder)
            raise TrueupError(
                f"There is no register of participants in {folder}.",
                fix="`trueup participants add P01 --scope recording training` begins one; "
                "--participants names its folder.",
            )
        try:
            return _read(folder, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TrueupError(
                f"The register {path} could not be read: {error}.",
                fix="Put back the last copy of it; nobody is recorded without it.",
            ) from error

    def _with(self, changed: Participant) -> Register:
        rows = (changed if p.pseudonym == changed.pseudonym else p for p in self.participants)
        return replace(self, participants=tuple(rows))


def _read(folder: Path, data: Mapping[str, Any]) -> Register:
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise ValueError(f"its format is {data.get('format')!r} {data.get('version')!r}")
    return Register(
        folder=folder,
        participants=tuple(Participant.from_json(row) for row in data["participants"]),
        exports=tuple(
            Export(
                dataset=row["dataset"],
                purpose=row["purpose"],
                on=date.fromisoformat(row["on"]),
                participants=tuple(row["participants"]),
            )
            for row in data["exports"]
        ),
    )
