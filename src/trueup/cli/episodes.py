"""`trueup episodes`: look at datasets of recordings, make them, and check them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from trueup.cli import people, show
from trueup.cli.options import File, Machine
from trueup.episodes import Dataset, JointUnits, Summary, convert, import_recordings, load_mapping
from trueup.episodes.imports.importing import recordings
from trueup.episodes.units import SO101, spans_from
from trueup.episodes.validation import Problem, problems
from trueup.errors import TrueupError

Folder = Annotated[Positional[Path], arg(metavar="DATA")]
Units = Annotated[Literal["rad", "degrees", "normalized"] | None, arg(metavar="UNITS")]
_TASKS_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class EpisodesInfo(Machine):
    """What a dataset of episodes holds: signals, units, tasks, outcomes.

    Reads LeRobotDataset v3.0, written by trueup or by LeRobot, and v2.1. What counts is what was
    committed, whatever meta/info.json says.

    trueup episodes info recordings
    """

    dataset: Folder
    """The folder that holds data/ and meta/."""

    def run(self) -> None:
        """Print the tables."""
        dataset = Dataset.open(self.dataset)
        result = {"dataset": str(self.dataset), **_summarized(dataset.info), **_counted(dataset)}
        if self.json:
            show.print_json(result)
        else:
            _print(result)


@dataclass(frozen=True, kw_only=True)
class Import(Machine):
    """Turn recordings in CSV or npz files into a dataset, as a mapping says.

    The mapping, a TOML or JSON file, says which column is which signal in which unit. Every signal
    keeps the clock of its file. docs/episodes.md shows how to write one.

    trueup episodes import logs --mapping so101-sage --out dataset
    """

    source: Annotated[Positional[Path], arg(metavar="SOURCE")]
    """A folder of recordings, or one recording."""
    mapping: Annotated[str, arg(metavar="FILE")]
    """The mapping's file, or the name of one that comes with trueup: so101-sage."""
    out: Annotated[Path, arg(metavar="DATA")]
    """A new folder, written whole or not at all."""
    append: bool = False
    """Add to the dataset that is there instead."""

    def run(self) -> None:
        """Import, then say what is there."""
        mapping = load_mapping(self.mapping)
        count = len(recordings(self.source, mapping))
        with show.progress(f"{count} recordings", count, quiet=self.json) as advance:
            summary = import_recordings(
                self.source, mapping, self.out, append=self.append, on_progress=advance
            )
        _tell(self, summary, f"Imported {count} recordings into {self.out}")


@dataclass(frozen=True, kw_only=True)
class Convert(Machine):
    """Write a dataset anew: v2.1 as v3.0, other units, few large files.

    trueup episodes convert old --out new --read-as degrees --units rad
    """

    dataset: Folder
    """What to read: LeRobotDataset v2.1 or v3.0."""
    out: Annotated[Path, arg(metavar="DATA")]
    """A new folder, written whole or not at all."""
    units: Units = None
    """Of commands and joint positions: rad, or LeRobot's degrees or normalized; by default as they
    are. LeRobot's are for an SO-101."""
    read_as: Units = None
    """What they are in now, where the dataset does not say: rad, degrees or normalized."""
    calibration: File = None
    """LeRobot's calibration file of the arm, for normalized joints; by default the model's
    ranges."""
    environment: Annotated[tuple[str, ...], arg(metavar="SIGNAL...")] = ()
    """Join these signals into one, observation.environment_state: LeRobot's policies read no other
    numbers beside the joints."""
    purpose: Annotated[Literal["recording", "training", "publication"] | None, arg()] = None
    """What the copy is for: episodes of people who did not agree to that are left out. Required
    where participants are in the dataset."""
    participants: Annotated[Path, arg(metavar="FOLDER")] = Path("participants")
    """The register of participants, as `trueup participants` keeps it."""

    def run(self) -> None:
        """Convert, then say what is there."""
        dataset = Dataset.open(self.dataset)
        allowed = people.allowed(dataset, self.purpose, self.participants)
        count = len(dataset) if allowed is None else len(allowed.kept)
        spans = SO101 if self.calibration is None else spans_from(self.calibration)
        with show.progress(f"{count} episodes", count, quiet=self.json) as advance:
            summary = convert(
                self.dataset,
                self.out,
                units=JointUnits(self.units) if self.units else None,
                read_as=JointUnits(self.read_as) if self.read_as else None,
                spans=spans,
                environment=self.environment,
                episodes=None if allowed is None else allowed.kept,
                on_progress=advance,
            )
        _tell(self, summary, f"Converted {self.dataset} into {self.out}")
        if allowed is not None:
            people.noted(allowed, self.purpose, self.participants, self.out)


@dataclass(frozen=True, kw_only=True)
class Validate(Machine):
    """Read a dataset from end to end and list everything that is wrong.

    Missing and damaged files, columns that are missing or not as declared, frames out of order or
    at another rate, numbers that are not finite, videos shorter than their frames, statistics that
    do not fit. Ends with exit code 2 where anything is.

    trueup episodes validate recordings
    """

    dataset: Folder
    """The folder that holds data/ and meta/."""

    def run(self) -> None:
        """Print each problem as it is found."""
        dataset = Dataset.open(self.dataset)
        found: list[Problem] = []
        with show.progress(f"{len(dataset)} episodes", len(dataset), quiet=self.json) as advance:
            for problem in problems(self.dataset, on_progress=advance):
                found.append(problem)
                if not self.json:
                    print(f"note: {problem.what}" if problem.harmless else problem.what)
        wrong = [problem for problem in found if not problem.harmless]
        if self.json:
            show.print_json(
                {
                    "dataset": str(self.dataset),
                    "episodes": len(dataset),
                    "sound": not wrong,
                    "problems": [vars(problem) for problem in found],
                }
            )
        if wrong:
            raise TrueupError(
                f"{self.dataset} has {_many(len(wrong), 'problem')}.",
                fix="Take the damaged files again, or leave those episodes out.",
            )
        if not self.json:
            print(f"{self.dataset}: {_many(len(dataset), 'episode')}, nothing wrong.")


def _summarized(summary: Summary) -> dict[str, Any]:
    features = summary.features
    return {
        "format": f"LeRobotDataset {summary.version}",
        "episodes": summary.episodes,
        "frames": summary.frames,
        "fps": summary.fps,
        "robot_type": summary.robot_type,
        "signals": [
            {**vars(signal), "names": list(signal.names), "size": signal.size}
            for signal in features.signals
        ],
        "cameras": [vars(camera) for camera in features.cameras],
        "tasks": list(summary.tasks),
        "true_clocks": summary.ours,
    }


def _counted(dataset: Dataset) -> dict[str, Any]:
    """How the episodes ended, and what they are labelled with."""
    outcomes: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for about in dataset.abouts():
        outcomes[str(about.outcome) if about.outcome else "not judged"] += 1
        for label, word in about.labels.items():
            labels.setdefault(label, Counter())[word] += 1
    return {"outcomes": dict(outcomes), "labels": {k: dict(v) for k, v in labels.items()}}


def _print(result: dict[str, Any]) -> None:
    out = show.console()
    seconds = result["frames"] / result["fps"] if result["fps"] else 0.0
    robot = f", {result['robot_type']}" if result["robot_type"] else ""
    out.print(result["dataset"], style="bold", markup=False, soft_wrap=True)
    out.print(f"{result['format']}{robot}", markup=False)
    out.print(
        f"{_many(result['episodes'], 'episode')}, {_many(result['frames'], 'frame')} at "
        f"{result['fps']:g} Hz, {seconds / 60:.1f} min; "
        + ("true clocks kept" if result["true_clocks"] else "nominal clocks only")
    )
    out.print()
    rows = show.table("signal", "LeRobot's key", "unit", "columns", keep=("signal",))
    for signal in result["signals"]:
        rows.add_row(signal["name"], signal["key"], signal["unit"], ", ".join(signal["names"]))
    for camera in result["cameras"]:
        size = f"{camera['height']} × {camera['width']} pixels"
        rows.add_row(camera["name"], camera["key"], "", size)
    out.print(rows)
    out.print()
    _print_counts("outcome", result["outcomes"])
    for label, counts in result["labels"].items():
        _print_counts(f"label {label}", counts)
    _print_counts("task", dict.fromkeys(result["tasks"], 0))


def _print_counts(what: str, counts: dict[str, int]) -> None:
    shown = [f"{word!s} ({n})" if n else str(word) for word, n in counts.items()][:_TASKS_SHOWN]
    more = f", and {len(counts) - len(shown)} more" if len(counts) > len(shown) else ""
    show.console().print(f"{what}: {', '.join(shown)}{more}", markup=False)


def _tell(machine: Machine, summary: Summary, sentence: str) -> None:
    if machine.json:
        show.print_json(_summarized(summary))
    else:
        print(
            f"{sentence}: {_many(summary.episodes, 'episode')}, {_many(summary.frames, 'frame')} "
            f"at {summary.fps:g} Hz, in LeRobotDataset {summary.version}."
        )


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
