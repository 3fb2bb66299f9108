"""Outcomes beside labels: all that some teams have, and enough to ask what goes with failure."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.episodes import Episode, Outcome
from trueup.errors import TrueupError

JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)
_CONSEQUENCES = frozenset({"stopped"})  # labels that follow from how a trial went

_NAMES = ("success", "succeeded", "outcome", "result", "passed", "failure", "failed")
_REVERSED = frozenset({"failure", "failed"})  # there, yes means that it failed
_PLAIN_YES = frozenset({"1", "1.0", "yes", "y", "true", "t", "x"})
_PLAIN_NO = frozenset({"0", "0.0", "no", "n", "false", "f"})
_GOOD = frozenset({"success", "succeeded", "successful", "pass", "passed", "ok", "good", "done"})
_BAD = frozenset({"failure", "failed", "fail", "unsuccessful", "bad", "error", "not ok"})
_LEFT_OUT = frozenset({"", "aborted", "redo", "skipped", "n/a", "na", "nan", "none", "-", "?"})


@dataclass(frozen=True, kw_only=True)
class Table:
    """Trials, one a row.

    Attributes:
        success: (n,) whether each succeeded.
        columns: The labels by name, (n,) words each; empty where nobody wrote one down.
        notes: What was left out of it, and why.
    """

    success: np.ndarray
    columns: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.success)

    @staticmethod
    def of(episodes: Iterable[Episode]) -> Table:
        """Outcomes and labels of episodes that were judged."""
        kept = [e for e in episodes if e.outcome in JUDGED]
        names = dict.fromkeys(name for e in kept for name in e.labels if name not in _CONSEQUENCES)
        return Table(
            success=np.array([e.outcome is Outcome.SUCCESS for e in kept], bool),
            columns={name: tuple(str(e.labels.get(name, "")) for e in kept) for name in names},
        )

    @staticmethod
    def read(path: Path | str, *, outcome: str | None = None) -> Table:
        """A CSV with a line of names, one column of outcomes and any columns of labels.

        Args:
            path: The file; commas, semicolons or tabs between cells.
            outcome: The column of outcomes; by default the one that is called so.
        """
        path = Path(path)
        names, rows = _cells(path)
        chosen = _outcome_column(path, names, outcome)
        at = names.index(chosen)
        verdicts = [_verdict(path, chosen, line, row[at]) for line, row in rows]
        kept = [k for k, verdict in enumerate(verdicts) if verdict is not None]
        if not kept:
            there = "none of its rows has an outcome" if rows else "it has a line of names alone"
            raise TrueupError(
                f"{path} tells of no trial: {there}.",
                fix="Give one line for each trial, with its outcome.",
            )
        left = len(rows) - len(kept)
        notes = [f"{left} rows have no outcome and are left out."] if left else []
        twins = [n for n in names if n != chosen and n.lower() in _NAMES and outcome is None]
        notes += [f"{chosen!r} is taken as the outcome, and {n!r} is left out." for n in twins]
        return Table(
            success=np.array([verdicts[k] for k in kept], bool),
            columns={
                name: tuple(rows[k][1][j] for k in kept)
                for j, name in enumerate(names)
                if j != at and name not in twins
            },
            notes=tuple(notes),
        )


def _cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of the columns; and the rows that are not empty, with their line numbers."""
    text = _text(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    mark = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise TrueupError(
            f"{path} cannot be read as a table, near line {reader.line_num}: {error}.",
            fix="Save it as CSV, one trial a line.",
        ) from error
    lines = [(number, row) for number, row in lines if any(row)]
    if not lines:
        raise TrueupError(
            f"{path} is empty.",
            fix="Give a line of column names, then one line for each trial.",
        )
    names = _named(path, lines[0][1])
    for number, row in lines[1:]:
        if len(row) != len(names):
            raise TrueupError(
                f"Line {number} of {path} has {len(row)} cells; the line of names has "
                f"{len(names)}.",
                fix="Give each line a cell for each column; put cells with commas in quotes.",
            )
    return names, lines[1:]


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TrueupError(
            f"{path} could not be read: {error.strerror or error}.",
            fix="Give a CSV of outcomes and labels, or the folder of a dataset.",
        ) from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as some spreadsheets save "Unicode text"
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _named(path: Path, names: list[str]) -> list[str]:
    twice = [
        name for name, count in Counter(n.lower() for n in names).items() if count > 1 and name
    ]
    if twice:
        raise TrueupError(
            f"{path} has more than one column named {twice[0]!r}.", fix="Rename one of them."
        )
    return [name or f"column {i + 1}" for i, name in enumerate(names)]


def _outcome_column(path: Path, names: list[str], asked: str | None) -> str:
    lower = {name.lower(): name for name in names}
    for wanted in (asked.lower(),) if asked else _NAMES:
        if wanted in lower:
            return lower[wanted]
    wanted = f"named {asked!r}" if asked else f"of outcomes ({', '.join(_NAMES)})"
    raise TrueupError(
        f"{path} has no column {wanted}; it has {', '.join(names)}.",
        fix="Name the column with --outcome.",
    )


def _verdict(path: Path, column: str, line: int, cell: str) -> bool | None:
    word = cell.lower()
    if word in _LEFT_OUT:
        return None
    if word in _GOOD or word in _BAD:
        return word in _GOOD
    if word in _PLAIN_YES or word in _PLAIN_NO:
        return (word in _PLAIN_YES) != (column.lower() in _REVERSED)
    raise TrueupError(
        f"Line {line} of {path} has the outcome {cell!r} in its column {column!r}, which is "
        "neither a success nor a failure.",
        fix="Write success or failure, yes or no, pass or fail, 1 or 0; leave it empty for a trial "
        "that does not count.",
    )
