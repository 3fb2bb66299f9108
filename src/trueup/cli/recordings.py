"""What a recording says, for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from trueup.cli import show
from trueup.episodes import Episode, Writer
from trueup.hardware import Robot
from trueup.record import KEYS, Motion, Probe, Progress, Recording
from trueup.worlds import World

_SHOWN = 24  # episodes in the table


@contextmanager
def told(*, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Progress for a person at a terminal; yields what to call once a turn."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    parts = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Bar(*parts, console=Console(stderr=True), transient=True) as bar:
        bar.console.print(KEYS, style="dim", markup=False)
        task = bar.add_task("", total=1.0)

        def tell(progress: Progress) -> None:
            paused = "  paused" if progress.paused else ""
            words = f"{progress.motion} ({progress.number} of {progress.of}){paused}"
            done, of = progress.time_s, progress.duration_s
            bar.update(task, description=words, completed=done, total=of)

        yield tell


def as_result(
    recording: Recording, robot: Robot, world: World, out: Path, total: int
) -> dict[str, Any]:
    """All that came of a recording."""
    probes = {plan.motion.title: plan.motion for plan in recording.plans}
    return {
        "label": "real" if robot.real else "sim-to-sim",
        "robot": robot.name,
        "world": world.name,
        "dataset": str(out),
        "episodes_in_dataset": total,
        "ended": recording.ended,
        "episodes": [
            {
                "motion": episode.task,
                "cell": episode.origin["cell"],
                "outcome": None if episode.outcome is None else str(episode.outcome),
                "duration_s": episode.duration_s,
                "frames": len(episode["command"]),
                "found": _found(probes[episode.task], episode),
            }
            for episode in recording.episodes
        ],
        "late_turns": {
            "turns": sum(len(timing.late_s) for timing in recording.timings),
            "beyond_5_ms": sum(timing.misses(0.005) for timing in recording.timings),
        },
    }


def _found(motion: Motion, episode: Episode) -> dict[str, float]:
    """What a probe's recording says at a glance."""
    return motion.found(episode) if isinstance(motion, Probe) else {}


def print_result(result: dict[str, Any]) -> None:
    """The result for people."""
    out = show.console()
    table = show.table(
        "motion", "cell", "s", "frames", "ended", "at a glance", right=("s", "frames")
    )
    for row in result["episodes"][:_SHOWN]:
        seen = ", ".join(f"{name} {show.number(value)}" for name, value in row["found"].items())
        ended = row["outcome"] or "done"
        table.add_row(
            row["motion"],
            str(row["cell"]),
            f"{row['duration_s']:.1f}",
            str(row["frames"]),
            ended,
            seen,
        )
    out.print(table)
    if (more := len(result["episodes"]) - _SHOWN) > 0:
        out.print(f"… and {more:,} more; --json lists them all.")
    late = result["late_turns"]
    out.print(
        f"\n{result['robot']}: {late['beyond_5_ms']} of {late['turns']:,} turns began more than "
        "5 ms late.",
        markup=False,
        soft_wrap=True,
    )
    if result["ended"]:
        out.print(f"Ended early: {result['ended']}.", markup=False, soft_wrap=True)
    out.print(
        f"Written: {result['dataset']}, {result['episodes_in_dataset']} episodes now.",
        markup=False,
        soft_wrap=True,
    )


class Store:
    """A dataset that comes to be with its first episode: a refused motion leaves nothing behind."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = Writer(folder) if folder.exists() else None

    def add(self, episode: Episode) -> int:
        """Store an episode; its number."""
        if self._writer is None:
            self._writer = Writer(self._folder)
        return self._writer.add(episode)

    def __len__(self) -> int:
        return 0 if self._writer is None else len(self._writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def say(sentence: str) -> None:
    """Tell the operator, beside what programs read."""
    print(sentence, file=sys.stderr, flush=True)
