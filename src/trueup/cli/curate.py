"""`trueup curate`: which episodes of a dataset to train on, and why not on the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli import people, show
from trueup.cli.files import writable_folder
from trueup.cli.options import Count, Machine
from trueup.curate import KeepList, Lent, Settings, copy_kept, curate
from trueup.episodes import Dataset
from trueup.episodes.consent import Purpose
from trueup.episodes.conversion import check_new

_FILE = "keep.json"
_GIVEAWAYS = 5


@dataclass(frozen=True, kw_only=True)
class Curate(Machine):
    """Which episodes of a dataset to train on, and why not on the rest.

    Every episode is measured by some twenty rules and judged by what is ordinary in its own
    dataset. Prints the worst ones and what is wrong with them. Reads LeRobotDataset v3.0 and v2.1.

    trueup curate recordings --out curated
    """

    dataset: Annotated[Positional[Path], arg(metavar="DATASET")]
    """The folder that holds data/ and meta/."""
    reference: Annotated[Path | None, arg(metavar="DATASET")] = None
    """Episodes that are known to be real or right: a discriminator learns to tell both apart, says
    by which signal, and moves weights towards what looks real."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write keep.json here: what to keep, weights, and every reason."""
    copy: Annotated[Path | None, arg(metavar="DATASET")] = None
    """Write the episodes that are kept into this new dataset."""
    worst: Count = 10
    """How many of the worst episodes to show."""
    ignore: Annotated[tuple[str, ...], arg(metavar="RULE...")] = ()
    """Rules to leave out."""
    losses: Annotated[float, arg(metavar="SHARE")] = 0.02
    """The share of ordinary episodes that may be dropped by chance, over all rules together."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """Put recorded states into this world to see contacts and success; by default into the one
    that the episodes name."""
    by_reference: bool = False
    """Let the reference set say what is ordinary, instead of the dataset."""
    realness: Annotated[float, arg(metavar="P")] = 0.0
    """Drop what the discriminator takes for real with a probability below this."""
    seed: Count = 0
    """Of the discriminator's folds and shuffles."""
    participants: Annotated[Path, arg(metavar="FOLDER")] = Path("participants")
    """The register of participants: episodes of people who did not agree to training are dropped
    unread."""

    def run(self) -> None:
        """Judge, print, write."""
        settings = Settings(
            ignore=self.ignore,
            losses=self.losses,
            world=self.world,
            by_reference=self.by_reference,
            realness=self.realness,
            seed=self.seed,
        )
        dataset = Dataset.open(self.dataset)
        reference = None if self.reference is None else self._lent(Dataset.open(self.reference))
        if self.copy is not None:
            check_new(self.copy)
        if self.out is not None:
            writable_folder(self.out)
        with show.progress(f"{len(dataset)} episodes", len(dataset), quiet=self.json) as advance:
            keep = curate(self._lent(dataset), reference, settings, on_progress=advance)
        if self.out is not None:
            keep.save(self.out / _FILE)
        if self.copy is not None:
            with show.progress("copying", len(keep.kept), quiet=self.json) as advance:
                copy_kept(dataset, keep, self.copy, on_progress=advance)
            allowed = people.trained_on(dataset, self.participants)
            if allowed is not None:
                people.noted(allowed, Purpose.TRAINING, self.participants, self.copy)
        if self.json:
            show.print_json(keep.to_json())
        else:
            self._print(keep)

    def _lent(self, dataset: Dataset) -> Dataset | Lent:
        allowed = people.trained_on(dataset, self.participants)
        return dataset if allowed is None else Lent(dataset, allowed)

    def _print(self, keep: KeepList) -> None:
        out = show.console()
        out.print(
            f"{len(keep.kept)} of {len(keep)} episodes are kept, {len(keep.dropped)} dropped.",
            markup=False,
        )
        _print_worst(keep, self.worst)
        _print_rules(keep)
        _print_discriminator(keep)
        for note in keep.notes:
            out.print(f"note: {note}", markup=False)
        if self.out is not None:
            out.print(f"written: {self.out / _FILE}", markup=False, soft_wrap=True)
        if self.copy is not None:
            out.print(f"copied: {self.copy}", markup=False, soft_wrap=True)


def _print_worst(keep: KeepList, worst: int) -> None:
    out = show.console()
    rows = show.table("episode", "", "rule", "why", right=("episode",), keep=("", "rule"))
    for verdict in keep.worst(worst):
        if verdict.reasons:
            more = len(verdict.reasons) - 1
            also = f" (and {more} more)" if more else ""
            rows.add_row(
                str(verdict.episode), "dropped", verdict.reasons[0].rule, f"{verdict.why}{also}"
            )
        else:
            share = f"{100 * verdict.badness:.0f} % of the way to being dropped"
            rule, _, where = verdict.nearest.partition(": ")
            rows.add_row(
                str(verdict.episode), "kept", rule, f"{where}: {share}" if where else share
            )
    if worst > 0:
        out.print()
        out.print(rows)
        out.print()


def _print_rules(keep: KeepList) -> None:
    out = show.console()
    counts = [f"{rule.name} {rule.first}" for rule in keep.rules if rule.first]
    if counts:
        out.print(f"dropped by their first reason: {', '.join(counts)}", markup=False)
    for rule in keep.rules:
        if rule.blind:
            out.print(f"{rule.name} did not look: {rule.blind}", markup=False)


def _print_discriminator(keep: KeepList) -> None:
    found, out = keep.discriminator, show.console()
    if not found:
        return
    out.print(
        f"told from the reference: {100 * found['auroc']:.0f} % of pairs (50 % is chance; with "
        f"shuffled labels {100 * found['control']:.0f} % ± {100 * found['control_spread']:.0f})",
        markup=False,
    )
    by = [f"{name} {100 * v:.0f} %" for name, v in list(found["by_signal"].items())[:_GIVEAWAYS]]
    out.print(f"by one signal alone: {', '.join(by)}", markup=False)
    out.print(f"by what: {', '.join(found['tells'])}", markup=False)
