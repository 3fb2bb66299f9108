"""Which episodes of a dataset consent covers, and which it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from trueup.episodes.consent.participant import Purpose
from trueup.episodes.consent.register import PARTICIPANT, Admission, Register
from trueup.episodes.dataset import Dataset
from trueup.errors import TrueupError

_NAMING = (PARTICIPANT, "person")
"""Labels that say who is in an episode."""


@dataclass(frozen=True, kw_only=True)
class Covered:
    """What may be used.

    Attributes:
        kept: Numbers of the episodes that may.
        left_out: How many may not, by the reason.
        participants: Who is in those that may.
        why: Why not, by the number of each that may not.
    """

    kept: tuple[int, ...]
    left_out: Mapping[str, int]
    participants: tuple[str, ...]
    why: Mapping[int, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """How many were left out, and why."""
        count = sum(self.left_out.values())
        if not count:
            return "Consent covers every episode."
        reasons = "; ".join(f"{n} as {why}" for why, n in self.left_out.items())
        return f"Left out {count} of {count + len(self.kept)} episodes: {reasons}."


def people_in(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Who is in an episode, by what its labels say."""
    words = " ".join(labels.get(name, "") for name in _NAMING).replace(",", " ")
    return tuple(dict.fromkeys(words.split()))


def check_for_people(labels: Mapping[str, str], admission: Admission | None) -> None:
    """Refuse to record somebody whom no register admitted."""
    named = people_in(labels)
    if named and (admission is None or set(named) - set(admission.participants)):
        raise TrueupError(
            f"The labels name people ({', '.join(named)}), and no consent of theirs was looked up.",
            fix="Say --participant P07 --purpose training; the register says what is covered.",
        )


def covered(
    dataset: Dataset, register: Register, purpose: Purpose, on: date | None = None
) -> Covered:
    """Which episodes may be used for a purpose; those without people always may.

    An episode with somebody who is not in the register is left out.
    """
    day = on or date.today()
    kept: list[int] = []
    refused: dict[int, str] = {}
    people: set[str] = set()
    for i, about in enumerate(dataset.abouts()):
        names = people_in(about.labels)
        reason = next((why for n in names if (why := _why_not(register, n, purpose, day))), "")
        if reason:
            refused[i] = reason
        else:
            kept.append(i)
            people |= set(names)
    return Covered(
        kept=tuple(kept),
        left_out=dict(Counter(refused.values())),
        participants=tuple(sorted(people)),
        why=refused,
    )


def _why_not(register: Register, name: str, purpose: Purpose, on: date) -> str:
    if name not in register:
        return f"{name} is not in the register"
    participant = register[name]
    return "" if participant.covers(purpose, on) else participant.why_not(purpose, on)
