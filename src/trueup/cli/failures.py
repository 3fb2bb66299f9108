"""`trueup failures`: where trials fail, how, and what goes along with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.files import check_distinct, trials_at, writable_folder, write_text
from trueup.cli.options import Machine, OneWorld
from trueup.diagnose.failures import (
    FailureAnalysis,
    LabelAnalysis,
    Phase,
    Table,
    analysed,
    labelled,
    save_failures,
)
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError

_FILES = ("failures.json", "failures.png")
_TOLD = 5


@dataclass(frozen=True, kw_only=True)
class Failures(Machine):
    """Where trials fail and how, and which labels go along with it.

    DATA is the folder of a dataset of trials, as `trueup deploy` writes it: each failure gets a
    phase, an event, a time and the evidence. Or a CSV of outcomes and labels, one trial a line.

    trueup failures trials/episodes --out failures
    """

    data: Annotated[Positional[Path], arg(metavar="DATA")]
    """The folder of a dataset of trials, or a CSV file of outcomes and labels."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """Whose model says where the hand is; by default the world that the trials name."""
    outcome: Annotated[str | None, arg(metavar="COLUMN")] = None
    """The column of outcomes of a CSV; by default the one named success, outcome or result."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write failures.json and the picture failures.png here."""

    def run(self) -> None:
        """Read, analyse, tell."""
        if self.out:
            written: dict[str, Path | None] = {f"--out ({n})": self.out / n for n in _FILES}
            check_distinct(read={"DATA": self.data}, written=written)
            writable_folder(self.out)
        found = self._of_trials() if self.data.is_dir() else self._of_table()
        files = _FILES if _shows(found) else _FILES[:1]
        if self.out:
            write_text(self.out / _FILES[0], show.as_json(found.to_json()) + "\n")
            if len(files) > 1:
                save_failures(found, self.out / _FILES[1])
        if self.json:
            show.print_json(found.to_json())
        else:
            _print(found, [] if self.out is None else [self.out / name for name in files])

    def _of_table(self) -> LabelAnalysis:
        return labelled(Table.read(self.data, outcome=self.outcome))

    def _of_trials(self) -> FailureAnalysis:
        folder = trials_at(self.data)
        episodes = list(Dataset.open(folder))
        if not episodes:
            raise TrueupError(f"{folder} has no episodes yet.", fix="Record trials first.")
        return analysed(OneWorld(world=self._named(episodes)).opened_world(), episodes)

    def _named(self, episodes: list[Episode]) -> str:
        names = {e.origin.get("world") for e in episodes}
        if self.world:
            return self.world
        if len(names) != 1 or not isinstance(name := next(iter(names)), str):
            said = ", ".join(sorted(str(n) for n in names if n)) or "none"
            raise TrueupError(
                f"The trials in {self.data} do not name one world; they name {said}.",
                fix="Give --world.",
            )
        return name


def _shows(found: FailureAnalysis | LabelAnalysis) -> bool:
    """Whether there is anything to draw."""
    labels = found.labels if isinstance(found, FailureAnalysis) else found
    events = isinstance(found, FailureAnalysis) and bool(found.failures)
    return events or (labels is not None and bool(labels.labels))


def _print(found: FailureAnalysis | LabelAnalysis, files: list[Path]) -> None:
    out = show.console()
    if isinstance(found, LabelAnalysis):
        share = show.percent(found.trials - found.failed, found.trials)
        out.print(f"{found.failed} of {found.trials} trials failed: success {share}.")
    for sentence in found.sentences:
        out.print(sentence, markup=False)
    if isinstance(found, FailureAnalysis) and found.failures:
        _print_events(out, found)
    labels = found.labels if isinstance(found, FailureAnalysis) else found
    if labels is not None and labels.labels:
        _print_labels(out, labels)
    notes = (*found.notes, *(labels.notes if isinstance(found, FailureAnalysis) and labels else ()))
    if notes:
        out.print()
    for note in notes:
        out.print(note, markup=False)
    if files:
        show.say(f"\nWritten: {', '.join(map(str, files))}")


def _print_events(out: Console, found: FailureAnalysis) -> None:
    phases = [str(phase) for phase in Phase]
    rows = show.table("event", *phases, "all", right=(*phases, "all"))
    for event, parts in found.by_both.items():
        rows.add_row(event, *(str(parts[p] or "") for p in phases), str(sum(parts.values())))
    out.print()
    out.print(rows)
    out.print()
    told = show.table("episode", "at", "evidence", right=("episode", "at"))
    for e in found.failures[:_TOLD]:
        told.add_row(
            str(e.episode), f"{e.time_s:.2f} s", f"[bold]{e.event}[/] {_plain(e.evidence)}"
        )
    out.print(told)
    if (more := len(found.failures) - _TOLD) > 0:
        out.print(f"… and {more} more; --json and --out list them all.")


def _print_labels(out: Console, found: LabelAnalysis) -> None:
    rows = show.table(
        "label", "word", "failed", "of", "success", "95 % interval", "p", right=("failed", "of")
    )
    for label in found.labels:
        for k, level in enumerate(label.levels):
            low, high = level.interval
            share = 100 * (1 - level.failed / max(level.trials, 1))
            rows.add_row(
                "" if k else _plain(label.name),
                _plain(level.name),
                str(level.failed),
                str(level.trials),
                f"{share:.0f} %",
                f"{100 * low:.0f} – {100 * high:.0f} %",
                "" if k else f"{label.p_value:.2g}",
            )
    out.print()
    out.print(rows)


def _plain(text: Any) -> str:
    """Text that rich must not read as markup."""
    return str(text).replace("[", r"\[")
