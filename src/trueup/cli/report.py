"""`trueup report`: what was found, as one page to show to colleagues."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from trueup.cli import show
from trueup.cli.copies import check_threads
from trueup.cli.files import check_distinct, trials_at, writable_folder
from trueup.cli.findings import estimate_files, estimate_of
from trueup.cli.options import Count, File, Machine, OneWorld
from trueup.diagnose import GapReport
from trueup.diagnose.failures import analysed
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.identify import Estimate, readable
from trueup.plan import Protocol
from trueup.report import (
    FILES,
    Material,
    Recorded,
    Report,
    films_of,
    overlaid,
    read_after,
    read_latency,
    reported,
)
from trueup.worlds import World

_GIVEN = (
    "gaps",
    "after",
    "look",
    "estimate",
    "protocol",
    "recordings",
    "trials",
    "world",
    "title",
    "out",
)


@dataclass(frozen=True, kw_only=True)
class ReportFindings(Machine):
    """What was found, as one page to show: HTML, JSON and Markdown.

    The page needs nothing else: no network, no second file. It tells of what you give: a gap
    report, and whatever else there is. Sections whose material is absent say so.

    trueup report --gaps diagnosed/gaps.json --trials trials --out report
    """

    gaps: Annotated[Path, arg(metavar="GAPS")]
    """What was lost, and to what: a gap report, as `trueup diagnose` writes it."""
    out: Annotated[Path, arg(metavar="FOLDER")]
    """Write report.html, report.json, report.md and the films here."""
    after: File = None
    """The new policy: another gap report, or the result.json of `trueup deploy`."""
    look: File = None
    """A gap report from trials alone, made before anything was recorded."""
    estimate: Annotated[tuple[Path, ...], arg(metavar="FILE...")] = ()
    """What recordings say, as `trueup identify` writes it; several where there are."""
    protocol: File = None
    """The plan, as `trueup plan` writes it."""
    recordings: Annotated[Path | None, arg(metavar="DATA")] = None
    """What was recorded: its last episode is laid over the simulator, before and after."""
    trials: Annotated[Path | None, arg(metavar="DATA")] = None
    """The first trials, as `trueup deploy` writes them: failures, films, latency budget."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """By default the one that the gap report names."""
    title: str = ""
    """The heading."""
    films: Count = 2
    """How many trials are filmed at most, failures first; 0 for none."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Read, write, say where."""
        read = {"--gaps": self.gaps, "--after": self.after, "--protocol": self.protocol}
        written: dict[str, Path | None] = {f"--out ({n})": self.out / n for n in FILES}
        check_distinct(read=read, written=written)
        report = reported(self._material())
        writable_folder(self.out)
        page = report.save(self.out)
        if self.json:
            show.print_json(_result(report, page))
        else:
            _print(report, page)

    def _material(self) -> Material:
        if self.films < 0:
            raise TrueupError(f"--films is {self.films}.", fix="Give 0 for none, or more.")
        check_threads(self.threads)
        before = GapReport.load(self.gaps)
        world = OneWorld(world=self.world or before.world).opened_world()
        _check_world(f"--world {self.world}", world.name, before)
        estimates = tuple(estimate_of(world, path) for path in estimate_files(self.estimate))
        trials = [] if self.trials is None else _trials(self.trials)
        for trial in trials:
            _check_world(str(self.trials), str(trial.origin.get("world") or before.world), before)
        films, unfilmed = ((), "") if not trials else films_of(world, trials, most=self.films)
        return Material(
            title=self.title,
            before=before,
            look=None if self.look is None else GapReport.load(self.look),
            after=None if self.after is None else read_after(self.after, before),
            estimates=estimates,
            protocol=None if self.protocol is None else Protocol.load(self.protocol),
            failures=before.failures or _failures(world, trials),
            films=films,
            unfilmed=unfilmed if self.films else "",
            latency=None if self.trials is None else read_latency(self.trials),
            provenance={"commands": [self._again]},
            **self._recorded(estimates, world),
        )

    @property
    def _again(self) -> str:
        """The command that makes this report."""
        words = ["trueup", "report"]
        for name in _GIVEN:
            if value := getattr(self, name):
                many = value if isinstance(value, tuple) else (value,)
                words += [f"--{name}", *(str(one) for one in many)]
        return shlex.join(words)

    def _recorded(self, estimates: tuple[Estimate, ...], task: World) -> dict[str, Any]:
        """What was recorded, and its last episode over the simulator."""
        if self.recordings is None:
            return {}
        recorded = Recorded.of(Dataset.open(self.recordings))
        if not estimates:
            return {"recorded": recorded}
        last = _episodes(self.recordings)[-1]
        name = str(last.origin.get("world") or estimates[0].world)
        world = task if name == task.name else OneWorld(world=name).opened_world()
        if world.commands != task.commands:
            raise TrueupError(
                f"{self.recordings} is of {world.name}, whose robot is not that of {task.name}, "
                "which the gap report is of.",
                fix="Give recordings of the same robot.",
            )
        point = {name: value for estimate in estimates for name, value in estimate.point.items()}
        return {
            "recorded": recorded,
            "overlays": overlaid(world, last, point, threads=self.threads),
        }


def _check_world(what: str, world: str, before: GapReport) -> None:
    if world != before.world:
        raise TrueupError(
            f"{what} is of {world}, and the gap report is of {before.world}: they do not belong "
            "together.",
            fix="Report each by itself.",
        )


def _trials(folder: Path) -> list[Episode]:
    return _episodes(trials_at(folder))


def _episodes(folder: Path) -> list[Episode]:
    episodes, unread = readable(Dataset.open(folder))
    if not episodes:
        why = " ".join(unread[:1])
        raise TrueupError(
            f"{folder} has no episodes that can be read. {why}".strip(), fix="Record some first."
        )
    return episodes


def _failures(world: World, trials: list[Episode]) -> Mapping[str, Any] | None:
    try:
        return analysed(world, trials).to_json() if trials else None
    except TrueupError:  # trials that nobody judged; the section says that there is no analysis
        return None


def _result(report: Report, page: Path) -> dict[str, Any]:
    told = report.to_json()
    return {
        "label": told["label"],
        "answer": report.section("answer").data["sentences"],
        "files": [str(page.parent / name) for name in FILES],
    }


def _print(report: Report, page: Path) -> None:
    out = show.console()
    for sentence in report.section("answer").data["sentences"]:
        out.print(sentence, markup=False)
    out.print(f"\nWritten: {page}, and the same as JSON and Markdown", markup=False, soft_wrap=True)
    if report.rehearsal:
        out.print("sim-to-sim: no real robot took part")
