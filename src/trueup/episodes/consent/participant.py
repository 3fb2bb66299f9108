"""A person who takes part, by a pseudonym, and what that person agreed to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from trueup.errors import TrueupError, UnknownName

_PSEUDONYM = re.compile(r"[A-Z]{1,3}-?[0-9]{1,5}")
AGES = ("18-34", "35-54", "55+")
HEIGHTS = ("below 165 cm", "165-180 cm", "above 180 cm")
HANDS = ("left", "right", "both")
_ABOUT = {"age": AGES, "height": HEIGHTS, "handedness": HANDS}


class Purpose(StrEnum):
    """What recordings of people are used for; each needs its own word in the consent."""

    RECORDING = "recording"
    """To record, look at and diagnose: kept in the team."""
    TRAINING = "training"
    """To train policies."""
    PUBLICATION = "publication"
    """To give to others."""


@dataclass(frozen=True, kw_only=True)
class Consent:
    """What somebody agreed to.

    Attributes:
        scope: Purposes that are covered.
        given: From that day on.
        until: To that day; none for no end.
    """

    scope: tuple[Purpose, ...]
    given: date
    until: date | None = None

    def __post_init__(self) -> None:
        if Purpose.RECORDING not in self.scope:
            raise TrueupError(
                f"A consent to {', '.join(self.scope) or 'nothing'} does not cover recording.",
                fix="Add recording to its scope: nothing can be recorded without it.",
            )
        if self.until is not None and self.until < self.given:
            raise TrueupError(
                f"A consent given on {self.given} ends on {self.until}, before it begins.",
                fix="Check the dates.",
            )

    def covers(self, purpose: Purpose, on: date) -> bool:
        """Whether it allows a purpose on a day."""
        open_ = self.until is None or on <= self.until
        return purpose in self.scope and self.given <= on and open_

    def to_json(self) -> dict[str, Any]:
        """As the register stores it."""
        return {
            "scope": [str(purpose) for purpose in self.scope],
            "given": self.given.isoformat(),
            "until": None if self.until is None else self.until.isoformat(),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Consent:
        """What `to_json` stored."""
        until = data["until"]
        return Consent(
            scope=tuple(Purpose(word) for word in data["scope"]),
            given=date.fromisoformat(data["given"]),
            until=None if until is None else date.fromisoformat(until),
        )


@dataclass(frozen=True, kw_only=True)
class Participant:
    """A person, by a pseudonym. Who that is must be written down elsewhere, under lock.

    Attributes:
        pseudonym: Letters and a number, such as P07.
        consents: What was agreed to; the last one holds.
        age: One of `AGES`, or empty: bands, so that they name nobody.
        height: One of `HEIGHTS`, or empty.
        handedness: One of `HANDS`, or empty.
        withdrawn: The day the consent was withdrawn; none where it holds.
    """

    pseudonym: str
    consents: tuple[Consent, ...]
    age: str = ""
    height: str = ""
    handedness: str = ""
    withdrawn: date | None = None

    def __post_init__(self) -> None:
        check_pseudonym(self.pseudonym)
        for name, known in _ABOUT.items():
            word = getattr(self, name)
            if word and word not in known:
                raise UnknownName(f"{name} of a participant", word, known)

    @property
    def consent(self) -> Consent:
        """The one that holds."""
        return self.consents[-1]

    def covers(self, purpose: Purpose, on: date) -> bool:
        """Whether recordings of this person may be used for a purpose on a day."""
        return self.withdrawn is None and self.consent.covers(purpose, on)

    def why_not(self, purpose: Purpose, on: date) -> str:
        """Why not, as the end of a sentence."""
        consent = self.consent
        if self.withdrawn is not None:
            return f"{self.pseudonym} withdrew on {self.withdrawn}"
        if purpose not in consent.scope:
            return f"{self.pseudonym} agreed to {' and '.join(consent.scope)}, not to {purpose}"
        if on < consent.given:
            return f"the consent of {self.pseudonym} begins on {consent.given}"
        return f"the consent of {self.pseudonym} ended on {consent.until}"

    def to_json(self) -> dict[str, Any]:
        """As the register stores it."""
        return {
            "pseudonym": self.pseudonym,
            "consents": [consent.to_json() for consent in self.consents],
            "age": self.age,
            "height": self.height,
            "handedness": self.handedness,
            "withdrawn": None if self.withdrawn is None else self.withdrawn.isoformat(),
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Participant:
        """What `to_json` stored."""
        day = data["withdrawn"]
        return Participant(
            pseudonym=data["pseudonym"],
            consents=tuple(Consent.from_json(row) for row in data["consents"]),
            age=data["age"],
            height=data["height"],
            handedness=data["handedness"],
            withdrawn=None if day is None else date.fromisoformat(day),
        )


def check_pseudonym(word: str) -> None:
    """Refuse what may be a name, an address or a number that names somebody."""
    if not _PSEUDONYM.fullmatch(word):
        raise TrueupError(
            f"{word!r} is no pseudonym: it may say who somebody is.",
            fix="Use up to three capital letters and a number, such as P07, and keep the list of "
            "who that is elsewhere, under lock.",
        )
