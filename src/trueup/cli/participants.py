"""`trueup participants`: who agreed to be recorded, and what for; and what is left of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.options import Machine
from trueup.episodes import Dataset
from trueup.episodes.consent import (
    Consent,
    Participant,
    Purpose,
    Receipt,
    Register,
    verified,
    withdrawn,
)
from trueup.errors import TrueupError

Scope = Literal["recording", "training", "publication"]
Pseudonym = Annotated[Positional[str], arg(metavar="PSEUDONYM")]


@dataclass(frozen=True, kw_only=True)
class _Kept(Machine):
    """Where the register is."""

    participants: Annotated[Path, arg(metavar="FOLDER")] = Path("participants")
    """The folder of the register; keep it apart from the recordings."""


@dataclass(frozen=True, kw_only=True)
class ListParticipants(_Kept):
    """Who takes part, by pseudonym, and what each agreed to.

    trueup participants
    """

    def run(self) -> None:
        """Print the register."""
        register = Register.open(self.participants)
        if self.json:
            show.print_json([person.to_json() for person in register.participants])
            return
        table = show.table(
            "participant", "agreed to", "from", "until", "age", "height", "hand", "withdrawn"
        )
        for person in register.participants:
            table.add_row(*_row(person))
        show.console().print(table)


@dataclass(frozen=True, kw_only=True)
class AddParticipant(_Kept):
    """Enter a participant and what that person agreed to.

    Pseudonyms only: who P07 is must be written down elsewhere, under lock.

    trueup participants add P07 --scope recording training
    """

    pseudonym: Pseudonym
    """Letters and a number, such as P07; no name."""
    scope: Annotated[tuple[Scope, ...], arg(metavar="PURPOSE...")]
    """What was agreed to: recording, training, publication."""
    given: Annotated[str | None, arg(metavar="YYYY-MM-DD")] = None
    """The day of the consent; today by default."""
    until: Annotated[str | None, arg(metavar="YYYY-MM-DD")] = None
    """Its last day; no end by default."""
    again: bool = False
    """A new consent of somebody who is in the register."""
    age: Annotated[str, arg(metavar="BAND")] = ""
    """18-34, 35-54 or 55+."""
    height: Annotated[str, arg(metavar="BAND")] = ""
    """'below 165 cm', '165-180 cm' or 'above 180 cm'."""
    handedness: Annotated[str, arg(metavar="HAND")] = ""
    """left, right or both."""

    def run(self) -> None:
        """Write the register."""
        consent = Consent(
            scope=tuple(Purpose(word) for word in dict.fromkeys(self.scope)),
            given=_day("--given", self.given) or date.today(),
            until=_day("--until", self.until),
        )
        register = Register.open(self.participants, missing=True).with_consent(
            self.pseudonym,
            consent,
            again=self.again,
            age=self.age,
            height=self.height,
            handedness=self.handedness,
        )
        register.save()
        if self.json:
            show.print_json(register[self.pseudonym].to_json())
        else:
            print(f"{self.pseudonym} agreed to {', '.join(consent.scope)} from {consent.given} on.")


@dataclass(frozen=True, kw_only=True)
class WithdrawParticipant(_Kept):
    """Withdraw a participant: delete the episodes from datasets, and prove it.

    Each dataset is written anew without them, read again, and only then takes the old one's place.
    The receipt says what was removed and what was read again.

    trueup participants withdraw P07 --data recordings trials
    """

    pseudonym: Pseudonym
    """Who withdraws."""
    data: Annotated[tuple[Path, ...], arg(metavar="DATASET...")]
    """Every dataset to delete from."""

    def run(self) -> None:
        """Delete, prove, write the receipt."""
        register = Register.open(self.participants)
        total = sum(len(Dataset.open(folder)) for folder in self.data)
        with show.progress(f"{total} episodes", total, quiet=self.json) as advance:
            receipt, path = withdrawn(register, self.pseudonym, self.data, on_progress=advance)
        if self.json:
            show.print_json({**receipt.to_json(), "receipt": str(path)})
        else:
            _print_receipt(receipt, path)


@dataclass(frozen=True, kw_only=True)
class VerifyReceipt(Machine):
    """Check the receipt of a withdrawal: unchanged, and the person still gone.

    trueup participants verify participants/receipts/P07-2026-01-31-1a2b3c4d.json
    """

    receipt: Annotated[Positional[Path], arg(metavar="RECEIPT")]
    """A file that `trueup participants withdraw` wrote."""

    def run(self) -> None:
        """Read the datasets again."""
        receipt = Receipt.load(self.receipt)
        found = verified(receipt)
        if self.json:
            show.print_json({"sha256": receipt.sha256, "sound": not found, "found": list(found)})
        if found:
            raise TrueupError(" ".join(found), fix="Withdraw again.")
        if not self.json:
            print(
                f"The receipt is as it was written, and nothing of {receipt.participant} is in "
                f"{', '.join(removal.dataset for removal in receipt.removals)}."
            )


def _row(person: Participant) -> tuple[str, ...]:
    consent = person.consent
    until = "" if consent.until is None else str(consent.until)
    gone = "" if person.withdrawn is None else str(person.withdrawn)
    about = (person.age, person.height, person.handedness)
    return (person.pseudonym, ", ".join(consent.scope), str(consent.given), until, *about, gone)


def _day(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise TrueupError(f"{option} is {text!r}.", fix="Give a day as 2026-01-31.") from None


def _print_receipt(receipt: Receipt, path: Path) -> None:
    out = show.console()
    out.print(
        f"{receipt.participant} withdrew. Episodes removed: {receipt.removed}, none of them left."
    )
    table = show.table(
        "dataset", "read again", "must be", "is", right=("must be", "is"), keep=("dataset",)
    )
    for removal in receipt.removals:
        for check in removal.checks:
            table.add_row(removal.dataset, check.what, str(check.expected), str(check.found))
    out.print(table)
    for copy in receipt.copies:
        out.print(f"Not looked at: a copy went to {copy}.", markup=False, soft_wrap=True)
    out.print(f"Receipt: {path}", markup=False, soft_wrap=True)
