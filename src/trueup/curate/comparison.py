"""A set beside its reference: the signals both have, on one rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueup.curate.discriminator.discriminator import FEWEST, Discrimination, discriminated
from trueup.curate.discriminator.windows import Sheet
from trueup.curate.look import Look
from trueup.curate.prints import Print, Prints
from trueup.curate.reading import Episodes, named, read, sampled
from trueup.curate.survey import Survey
from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.errors import TrueupError


@dataclass
class Comparison:
    """Collects of both sets what is compared.

    Attributes:
        survey: The signals both have; spans are the reference's.
        sheet: What the discriminator sees of a window.
        notes: What to know about the comparison, a sentence each.
        made: Windows of each episode of the set.
        prints: The print of each.
        real: Windows of each episode of the reference.
        real_prints: The print of each.
    """

    survey: Survey
    sheet: Sheet
    notes: list[str] = field(default_factory=list)
    made: list[np.ndarray | None] = field(default_factory=list)
    prints: list[Print | None] = field(default_factory=list)
    real: list[np.ndarray | None] = field(default_factory=list)
    real_prints: list[Print | None] = field(default_factory=list)

    @classmethod
    def of(cls, episodes: Episodes, reference: Episodes) -> Comparison:
        """Prepared, with the reference read."""
        some, real = sampled(episodes), sampled(reference)
        ours, theirs = Survey.of(some), Survey.of(real)
        survey, notes = _shared(ours, theirs, named(episodes), named(reference))
        shortest = int(min(e.duration_s for e in (*some, *real)) / survey.period_s)
        made = cls(survey=survey, sheet=Sheet.of(survey, shortest), notes=notes)
        for episode, _ in read(reference):
            windows, shape = made._seen(episode)
            made.real.append(windows)
            made.real_prints.append(shape)
        return made

    def see(self, episode: Episode | None) -> None:
        """Take the next episode of the set."""
        windows, shape = self._seen(episode)
        self.made.append(windows)
        self.prints.append(shape)

    def _seen(self, episode: Episode | None) -> tuple[np.ndarray | None, Print | None]:
        if episode is None:
            return None, None
        look = Look(replace(episode, period_s=self.survey.period_s), self.survey)
        return self.sheet.windows(look), Print.of(look)

    def pair(self) -> tuple[Prints, Prints]:
        """The prints of both sets."""
        return Prints(self.prints), Prints(self.real_prints)

    def discrimination(self, seed: int) -> Discrimination | None:
        """How well the sets can be told apart; none, and a note, where one is too small."""
        found = discriminated(self.sheet, self.made, self.real, seed=seed)
        if found is None:
            self.notes.append(
                f"The discriminator needs {FEWEST} episodes of at least {self.sheet.frames} frames "
                f"in both sets; there are {_count(self.made)} and {_count(self.real)}."
            )
        return found


def _count(windows: Sequence[np.ndarray | None]) -> int:
    return sum(w is not None for w in windows)


def _shared(ours: Survey, theirs: Survey, one: str, other: str) -> tuple[Survey, list[str]]:
    """The signals that both sets have, in the same columns and units."""
    common = [name for name in ours.signals if theirs.names.get(name) == ours.names[name]]
    moved = [name for name in (COMMAND, JOINTS) if name in ours.names and name in theirs.names]
    strange = [name for name in moved if name not in common]
    if not common or strange:
        columns = f"their {strange[0]} has other columns" if strange else "no signal has the same"
        raise TrueupError(
            f"{other} is of another robot than {one}: {columns}. "
            f"{_listed(ours, one)}; {_listed(theirs, other)}.",
            fix="Give a reference of the same robot, or rename its columns when importing it.",
        )
    wrong = [name for name in common if ours.unit[name] != theirs.unit[name]]
    if wrong:
        name = wrong[0]
        raise TrueupError(
            f"The signal {name!r} is in {ours.unit[name]!r} in {one}, but in {theirs.unit[name]!r} "
            f"in {other}.",
            fix="Bring both into one unit: trueup episodes convert DATA --units rad --out NEW "
            "(with --read-as where a dataset does not state its unit).",
        )
    notes = []
    if abs(ours.period_s / theirs.period_s - 1.0) > 0.01:
        slow = max(ours.period_s, theirs.period_s)
        notes.append(
            f"{one} runs at {1 / ours.period_s:.3g} Hz and {other} at {1 / theirs.period_s:.3g} "
            f"Hz: they are compared at {1 / slow:.3g} Hz."
        )
    left = [name for name in ours.signals if name not in common]
    if left:
        notes.append(f"{other} does not have {', '.join(left)}; those are not compared.")
    survey = Survey(
        names={name: ours.names[name] for name in common},
        unit={name: ours.unit[name] for name in common},
        span={name: theirs.span[name] for name in common},
        size={name: theirs.size[name] for name in common},
        turned=ours.turned & theirs.turned & set(common),
        period_s=max(ours.period_s, theirs.period_s),
    )
    return survey, notes


def _listed(survey: Survey, whose: str) -> str:
    columns = survey.names.get("command") or next(iter(survey.names.values()))
    return f"{whose} has {', '.join(columns)}"
