"""What goes along with failure: labels of trials, tested together so that no luck is claimed.

Every level of a label is set against all other trials, every numeric label is looked at by rank,
and all of these are tested at once by dealing the outcomes out at random (Westfall and Young 1993,
as in `trueup.evaluate.association`), so that the chance of any false claim stays at 5 % however
many labels there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.diagnose.failures.labels.columns import Column, Skipped, column_of
from trueup.diagnose.failures.labels.contrast import Contrast, Level
from trueup.diagnose.failures.labels.table import Table
from trueup.evaluate import wilson
from trueup.evaluate.association import associations

LEVEL = 0.05
LEAST = 5
"""Trials from which something can be told at all."""

_SHUFFLES = 4999
_SEED = 6  # the same table is always told in the same words
_MOST = 2  # sentences for each label: the levels that stand out most
_ENOUGH = 2.8  # standard errors: told at 5 % in four of five series


@dataclass(frozen=True, kw_only=True)
class Label:
    """One label and what it has to do with failure.

    Attributes:
        name: The column.
        numeric: Whether it is looked at by rank.
        levels: Trials and failures of each word; of thirds, where it is numeric.
        contrasts: Each level against the rest, the clearest first.
    """

    name: str
    numeric: bool
    levels: tuple[Level, ...]
    contrasts: tuple[Contrast, ...]

    @property
    def p_value(self) -> float:
        """Of the clearest contrast, corrected for all labels and levels."""
        return self.contrasts[0].p_value

    @property
    def claimed(self) -> bool:
        """Whether the corrected test supports a claim at 5 %."""
        return self.p_value < LEVEL


@dataclass(frozen=True, kw_only=True)
class LabelAnalysis:
    """What goes along with failure.

    Attributes:
        trials: How many.
        failed: How many of them failed.
        labels: Those that could be tested, the clearest first.
        sentences: The answer in words.
        notes: Labels and rows that were left out, and why.
    """

    trials: int
    failed: int
    labels: tuple[Label, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A JSON object; a ratio without end is null."""
        return {
            "trials": self.trials,
            "failed": self.failed,
            "failed_interval_95": list(wilson(self.failed, self.trials)),
            "labels": [_as_json(label) for label in self.labels],
            "sentences": list(self.sentences),
            "notes": list(self.notes),
        }


def labelled(
    table: Table, *, generator: np.random.Generator | None = None, shuffles: int = _SHUFFLES
) -> LabelAnalysis:
    """Ask of each label whether trials fail more often with some of its words than with others.

    What is claimed is that failure goes along with a word, not that the word is the cause.

    Args:
        table: Outcomes and labels.
        generator: For the test, which shuffles outcomes; by default always the same.
        shuffles: How often: the smallest p-value is one over this.
    """
    columns, notes = _usable(table)
    failed = int((~table.success).sum())
    cannot = _cannot(table, failed, columns)
    if cannot:
        return LabelAnalysis(
            trials=len(table),
            failed=failed,
            labels=(),
            sentences=(cannot,),
            notes=(*table.notes, *notes),
        )
    dealer = generator or np.random.default_rng(_SEED)
    labels = _tested(columns, table.success, dealer, shuffles)
    return LabelAnalysis(
        trials=len(table),
        failed=failed,
        labels=labels,
        sentences=tuple(_said(labels, table.success)),
        notes=(*table.notes, *notes),
    )


def _usable(table: Table) -> tuple[list[Column], list[str]]:
    columns, notes = [], []
    for name, words in table.columns.items():
        found = column_of(name, words)
        if isinstance(found, Skipped):
            notes.append(found.why)
        else:
            columns.append(found)
    return columns, notes


def _cannot(table: Table, failed: int, columns: list[Column]) -> str:
    """Why nothing can be told; empty where something can."""
    n = len(table)
    what = "1 trial" if n == 1 else f"{n} trials"
    if n < LEAST:
        return f"Nothing can be told about labels from {what}: at least {LEAST} are needed."
    if failed in (0, n):
        which = "failed" if failed else "succeeded"
        return f"Nothing can be told about labels: all {what} {which}, whatever their labels."
    if not columns:
        return "Nothing can be told about labels: there is none with two words or more."
    return ""


def _tested(
    columns: list[Column], success: np.ndarray, generator: np.random.Generator, shuffles: int
) -> tuple[Label, ...]:
    sides = [(column, side) for column in columns for side in column.sides]
    values = np.stack([side.values for _, side in sides], axis=1)
    bins = np.stack([side.bins for _, side in sides], axis=1)
    found = associations(values, bins, success, generator, shuffles=shuffles)
    made = []
    for column in columns:
        mine = [k for k, (owner, _) in enumerate(sides) if owner is column]
        contrasts = [
            Contrast.of(column, sides[k][1], success, float(found.corrected[k])) for k in mine
        ]
        raw = [min(found.trend[k], found.bins[k]) for k in mine]
        order = sorted(range(len(mine)), key=lambda i: (contrasts[i].p_value, raw[i]))
        made.append(
            Label(
                name=column.name,
                numeric=column.numeric,
                levels=column.levels(success),
                contrasts=tuple(contrasts[i] for i in order),
            )
        )
    return tuple(sorted(made, key=lambda label: label.p_value))


def _said(labels: tuple[Label, ...], success: np.ndarray) -> Iterator[str]:
    count = "1 label" if len(labels) == 1 else f"{len(labels)} labels"
    claimed = [label for label in labels if label.claimed]
    for label in claimed:
        clear = [c for c in label.contrasts if c.p_value < LEVEL]
        for contrast in clear[:_MOST]:
            yield f"{contrast}, p = {_p(contrast.p_value)} after correction for {count}."
    if len(claimed) > 1:
        yield "Labels that change together cannot be told apart: each of them goes with failure."
    if not claimed:
        best = labels[0].contrasts[0]
        yield (
            f"Nothing can be told: no label goes with failure at 5 % after correction for {count}. "
            f"The largest hint: {_lower(str(best))}, p = {_p(best.p_value)}. "
            f"{_power(labels, success)}"
        )


def _power(labels: tuple[Label, ...], success: np.ndarray) -> str:
    """What these trials could have shown."""
    n, share = len(success), float(np.clip(success.mean(), 0.1, 0.9))
    spread = _ENOUGH * np.sqrt(share * (1.0 - share) * 4.0 / n)
    points = min(100.0, 100.0 * spread * (1.0 + 0.15 * np.log2(max(1, len(labels)))))
    return (
        f"{n} trials show a difference between two halves only where it is about "
        f"{points:.0f} points or more."
    )


def _p(value: float) -> str:
    return f"{value:.2g}" if value >= 0.001 else "0.001 or less"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _as_json(label: Label) -> dict[str, Any]:
    return {
        "name": label.name,
        "numeric": label.numeric,
        "p_value": label.p_value,
        "claimed": label.claimed,
        "levels": [
            {**asdict(level), "success_interval_95": list(level.interval)} for level in label.levels
        ],
        "contrasts": [contrast.to_json() for contrast in label.contrasts],
    }
