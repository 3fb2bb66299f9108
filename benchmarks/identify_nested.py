"""A real SO-101 identified again and again: how much does the error depend on who was fitted?

Nested cross-validation over motions. Four times a quarter of the motions is put aside. Of the
others ten are fitted and five choose between models, as `identify` always does it. Then the motions
that were put aside judge, open loop and over their full length. Every motion but the stall judges
once, and never an estimate that has seen it. Folds that are done are kept in a folder, so this can
be interrupted. The recordings are not part of the repository: `TRUEUP_DATA`, or `../shared/data`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.identify_real import STALL, TOUCHING, errors_of, identified, imported
from benchmarks.identify_rehearsal import identify_mark
from benchmarks.measure import Effort, Measure, Target
from benchmarks.nominal import data_folder
from trueup.episodes import Episode
from trueup.files import whole
from trueup.identify.usable import cleaned

_FOLDS, _GIVEN = 4, 15
_SEED = 580_000  # of the order of motions


def measure(effort: Effort) -> list[Measure]:
    folder = data_folder()
    if not folder.is_dir():
        note = "no recordings: set TRUEUP_DATA to their folder"
        return [Measure(what="a real SO-101, cross-validated", value=None, note=note)]
    with tempfile.TemporaryDirectory() as scratch:
        motions = imported(folder, Path(scratch) / "motions")
        rows = [_row(motions, fold, effort) for fold in range(_FOLDS)]
    return [
        _line("motions free of table contact", rows, 0.0038, touching=False),
        _line("all motions but the stall", rows, 0.0053, touching=True),
        _models(rows),
    ]


def folds(names: list[str]) -> list[tuple[list[str], list[str]]]:
    """Of each fold, the motions that are given to identification and those that judge it."""
    order = np.random.default_rng(_SEED).permutation(sorted(set(names) - {STALL})).tolist()
    found = []
    for fold in range(_FOLDS):
        judges = order[fold::_FOLDS]
        found.append(([name for name in order if name not in judges][:_GIVEN], judges))
    return found


def _row(motions: dict[str, Episode], fold: int, effort: Effort) -> dict[str, Any]:
    """What came of one fold; read where the same code did it before."""
    file = effort.out / "identify-nested" / f"fold-{fold}{'-quick' * effort.quick}.json"
    if file.exists():
        row = json.loads(file.read_text(encoding="utf-8"))
        if row["source"] == identify_mark():
            return row
    given, judges = folds(list(motions))[fold]
    print(f"fold {fold}: {len(judges)} motions are put aside", file=sys.stderr, flush=True)
    estimate, seconds = identified(motions, given, effort)
    row = {
        "source": identify_mark(),
        "given": given,
        "seconds": seconds,
        "taken": [choice.suspect.what for choice in estimate.choices if choice.taken],
        "errors": errors_of(_trusted(motions), judges, estimate),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as partial:
        partial.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    return row


def _trusted(motions: dict[str, Episode]) -> dict[str, Episode]:
    """Motions without readings that cannot be trusted, which shows best beside all others."""
    return {str(episode.task): episode for episode in cleaned(list(motions.values())).episodes}


def _line(which: str, rows: list[dict[str, Any]], target: float, *, touching: bool) -> Measure:
    """The mean over folds; its spread is that of the folds' own means."""
    some = [
        [error for name, error in row["errors"].items() if touching or name not in TOUCHING]
        for row in rows
    ]
    means = [float(np.mean(errors)) for errors in some]
    every = np.concatenate(some)
    error = float(np.std(means, ddof=1) / np.sqrt(len(means)))
    return Measure(
        what=f"cross-validated open-loop error of a real SO-101, {which}",
        value=float(np.mean(means)),
        unit="rad",
        spread=(min(means), max(means)),
        target=Target(side="≤", value=target),
        note=f"{len(rows)} folds, whose means are the spread, ± {error:.4f}; {len(every)} motions "
        f"from {every.min():.4f} to {every.max():.4f}; 10 fitted and 5 choosing in each",
        details={"means": means, "errors": [row["errors"] for row in rows]},
    )


def _models(rows: list[dict[str, Any]]) -> Measure:
    """Which effects the folds chose: selection is part of what is validated."""
    taken = sorted({what for row in rows for what in row["taken"]})
    counts = {what: sum(what in row["taken"] for row in rows) for what in taken}
    seconds = [row["seconds"] for row in rows]
    return Measure.of(
        "time of each fold",
        seconds,
        unit="s",
        note="; ".join(f"{what}: {k} of {len(rows)}" for what, k in counts.items())
        or "no effect was added",
    )
