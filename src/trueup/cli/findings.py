"""What the verbs of identification share: recordings, the world they belong to, what was found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from trueup.cli import show
from trueup.cli.options import OneWorld
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.identify.usable import readable
from trueup.loop.identified import FILES, RESIDUAL
from trueup.worlds import World


def estimate_of(world: World, path: Path) -> Estimate:
    """What was identified, if it tells something of a world."""
    found = Estimate.load(path)
    if not any(name in world.catalogue for name in found.belief.names):
        raise TrueupError(
            f"{path} tells nothing of {world.name}: it is of {found.world}, and none of its "
            "numbers is a parameter here.",
            fix="Give an estimate of the same robot.",
        )
    return found


def estimate_files(paths: Sequence[Path]) -> list[Path]:
    """Estimates in files; of a folder, all that `trueup diagnose` or a run has left in it."""
    found: list[Path] = []
    for path in paths:
        inside = [path / name for name in FILES if (path / name).is_file()]
        if path.is_dir() and not inside:
            raise TrueupError(
                f"The folder {path} has no estimate: none of {', '.join(FILES)}.",
                fix="Name the file that `trueup identify` wrote, or the folder it is in.",
            )
        found += inside if path.is_dir() else [path]
    return found


def residual_in(paths: Sequence[Path]) -> Path | None:
    """What was learnt beside the estimates of a folder; none where nothing was, or in files."""
    return next((path / RESIDUAL for path in paths if (path / RESIDUAL).is_dir()), None)


def opened(folder: Path) -> tuple[list[Episode], tuple[str, ...]]:
    """The episodes of a dataset that can be read, and a sentence on each that cannot."""
    episodes, unread = readable(Dataset.open(folder))
    if not episodes:
        why = " ".join(unread[:1])
        raise TrueupError(
            f"{folder} has no episodes that can be read. {why}".strip(), fix="Record some first."
        )
    return episodes, unread


def world_of(name: str | None, episode: Episode, folder: Path) -> World:
    """The world of a name, or else the one that an episode says it comes from."""
    name = name or episode.origin.get("world")
    if not isinstance(name, str):
        raise TrueupError(
            f"The episodes in {folder} do not say which world they belong to.",
            fix="Give --world; for motions of a bare SO-101, so101/arm.",
        )
    return OneWorld(world=name).opened_world()


def real(episodes: Sequence[Episode]) -> bool:
    """Whether any of them comes from a real robot."""
    return any(episode.origin.get("real") for episode in episodes)


def table_of(estimate: Estimate) -> Table:
    """What was found, a line for each parameter."""
    rows = show.table(
        "parameter",
        "before",
        "after",
        "90 % interval",
        "unit",
        "verdict",
        right=("before", "after"),
    )
    for f in estimate.findings:
        interval = f"{show.number(f.low)} … {show.number(f.high)}"
        numbers = show.number(f.before), show.number(f.value)
        rows.add_row(f.name, *numbers, interval, show.unit(f.unit), f.verdict)
    return rows
