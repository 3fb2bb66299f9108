"""`trueup replay`: recorded commands again in a world, and how far it lies from what happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import Positional, arg

from trueup.cli import residuals, show
from trueup.cli.copies import check_threads
from trueup.cli.files import check_distinct, writable_folder, write_text
from trueup.cli.findings import world_of
from trueup.cli.options import Count, File, Machine, Row, Seconds
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.replay import (
    Replay,
    Summary,
    panels_of,
    realigned,
    replayed,
    save_chart,
    save_drawing,
    save_side_by_side,
    summary_of,
)
from trueup.space import Point, Space
from trueup.space.point import read_json
from trueup.versions import versions
from trueup.worlds import World

_TOGETHER = 64  # episodes that are replayed at once, which bounds memory


@dataclass(frozen=True, kw_only=True)
class ReplayEpisodes(Machine):
    """Play recorded commands again in a world: how far is it from what happened?

    Open loop by default: the simulation begins where the record begins and is then left alone. With
    --window it begins anew at the measured state, again and again.

    trueup replay recordings --world so101/arm --out replay
    """

    episodes: Annotated[Positional[Path], arg(metavar="EPISODES")]
    """The folder of a dataset, as `trueup record`, `deploy` and `episodes import` write it."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """Where to play them; by default the world that they say they come from."""
    point: File = None
    """At this point: a JSON object of parameter names and values; nominal by default."""
    estimate: File = None
    """At the middle of what this file believes: an estimate, a space with priors, or a point."""
    episode: Row = None
    """Only episode I of the dataset."""
    window: Seconds = None
    """Begin anew at the measured state after each S seconds."""
    align: bool = False
    """Put the readings on the clock of the commands first, by the offset and drift found here."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write result.json, and of each episode a .png, an .html and the numbers as .npz."""
    video: bool = False
    """With --out, film what each camera recorded beside what the simulation would have shown."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Replay, then say how it compares."""
        self._check()
        dataset = Dataset.open(self.episodes)
        numbers = list(range(len(dataset))) if self.episode is None else [self.episode]
        if not numbers:
            raise TrueupError(f"{self.episodes} has no episodes yet.", fix="Record some first.")
        world = world_of(self.world, dataset[numbers[0]], self.episodes)
        point = self._point()
        found: dict[int, dict[str, Any]] = {}
        with show.progress(
            f"{len(numbers)} episodes in {world.name}", len(numbers), quiet=self.json
        ) as advance:
            for some, episodes in _grouped(dataset, numbers):
                episodes, replay = self._replayed(world, episodes, point)
                for k, number in enumerate(some):
                    found[number] = self._one(world, number, episodes[k], replay, k, point)
                advance(len(some))
        result = self._result(world, point, [found[number] for number in numbers])
        if self.out:
            write_text(self.out / "result.json", show.as_json(result) + "\n")
        if self.json:
            show.print_json(result)
        else:
            residuals.print_result(result)

    # --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self.point and self.estimate:
            raise TrueupError(
                "--point and --estimate contradict each other: both say where to replay.",
                fix="Give one of the two.",
            )
        if self.video and not self.out:
            raise TrueupError("--video has no folder to write to.", fix="Give --out FOLDER.")
        check_threads(self.threads)
        if self.out:
            check_distinct(
                read={"EPISODES": self.episodes, "--point": self.point},
                written={"--out": self.out},
            )
            writable_folder(self.out)

    def _point(self) -> Point:
        file = self.point or self.estimate
        if file is None:
            return Point({})
        data = read_json(file, "estimate" if self.estimate else "point")
        if isinstance(data, dict) and data.get("format") == "trueup/space":
            space = Space.load(file)
            middle = space.from_uniform(np.full((1, len(space)), 0.5))
            return middle[0]
        if isinstance(data, dict) and data.get("format") == "trueup/estimate":
            return Estimate.from_json(data, str(file)).point
        try:
            return Point.load(file)
        except TrueupError as error:
            raise TrueupError(
                f"{file} is neither a point nor a space with priors: {error.what}",
                fix='Write {"actuation/elbow_flex/kp": 12.0, ...}, or a space as `trueup space '
                "WORLD --json --out FILE` does.",
            ) from error

    def _replayed(
        self, world: World, episodes: list[Episode], point: Point
    ) -> tuple[list[Episode], Replay]:
        """The episodes, on one clock if asked, and their replay."""

        def play() -> Replay:
            return replayed(world, episodes, point, window_s=self.window, threads=self.threads)

        replay = play()
        if self.align:
            for k, tracks in enumerate(replay.tracks):
                alignment = summary_of(episodes[k], tracks).alignment
                if alignment is not None:
                    episodes[k] = realigned(episodes[k], alignment)
            replay = play()
        return episodes, replay

    def _one(
        self,
        world: World,
        number: int,
        episode: Episode,
        replay: Replay,
        k: int,
        point: Point,
    ) -> dict[str, Any]:
        """What is said of one episode, and what is drawn of it."""
        tracks = replay.tracks[k]
        summary = summary_of(episode, tracks)
        found: dict[str, Any] = {
            "episode": number,
            "task": episode.task,
            "labels": dict(episode.labels),
            "broken": bool(replay.broken[0, k]),
            **summary.to_json(),
        }
        if self.out:
            found["files"] = self._draw(self.out, world, number, episode, replay, k, point)
        return found

    def _draw(
        self,
        folder: Path,
        world: World,
        number: int,
        episode: Episode,
        replay: Replay,
        k: int,
        point: Point,
    ) -> list[str]:
        tracks, stem = replay.tracks[k], folder / f"episode{number:04d}"
        title = _title(world, number, summary_of(episode, tracks), self.window)
        save_drawing(panels_of(episode, tracks), stem.with_suffix(".png"), title=title)
        save_chart(panels_of(episode, tracks, list(tracks)), stem.with_suffix(".html"), title=title)
        replay.only(k).save(stem.with_suffix(".npz"))
        files = [stem.with_suffix(ending) for ending in (".png", ".html", ".npz")]
        for camera in episode.videos if self.video else ():
            file = folder / f"episode{number:04d}-{camera.rsplit('.', 1)[-1]}.mp4"
            save_side_by_side(
                world, episode, file, camera=camera, point=point, window_s=self.window
            )
            files.append(file)
        return [str(file) for file in files]

    def _result(self, world: World, point: Point, episodes: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "world": world.name,
            "point": dict(point),
            "window_s": self.window,
            "aligned": self.align,
            "label": ", ".join(dict.fromkeys(e["kind"] for e in episodes)),
            "rmse": residuals.means(episodes),
            "episodes": episodes,
            "configuration": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in vars(self).items()
            },
            "versions": versions(),
        }


def _grouped(dataset: Dataset, numbers: list[int]) -> Iterator[tuple[list[int], list[Episode]]]:
    """Episodes of one rate, some at a time."""
    by_period: dict[float, list[int]] = defaultdict(list)
    for number in numbers:
        by_period[round(dataset[number].period_s, 6)].append(number)
    for group in by_period.values():
        for k in range(0, len(group), _TOGETHER):
            some = group[k : k + _TOGETHER]
            yield some, [dataset[number] for number in some]


def _title(world: World, number: int, summary: Summary, window_s: float | None) -> str:
    rmse = summary.signals[summary.main].overall.rmse
    apart = "the physics broke down" if rmse is None else f"{summary.main} {_rmse(summary)}"
    how = "open loop" if window_s is None else f"windows of {window_s:g} s"
    return f"{world.name} over episode {number} ({summary.kind}): {apart}, {how}"


def _rmse(summary: Summary) -> str:
    errors = summary.signals[summary.main]
    return f"{errors.overall.rmse:.3g} {errors.unit} RMSE"
