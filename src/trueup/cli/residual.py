"""`trueup identify residual`: what no parameter explains, learnt from recordings."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.copies import check_threads
from trueup.cli.files import check_distinct, writable_folder
from trueup.cli.options import Count, Machine, OneWorld, Patterns
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.identify.residual import LearnedResidual, Lesson, learn_residual
from trueup.identify.residual.artefact import check_free
from trueup.identify.usable import usable
from trueup.replay import panels_of, replayed, save_drawing
from trueup.space import Point
from trueup.space.point import read_json
from trueup.worlds import World


@dataclass(frozen=True, kw_only=True)
class Residual(Machine):
    """Learn what an identified world still misses, where that is worth it.

    A small network adds a torque at each joint. Recordings that it never saw judge it: where it
    does not beat the plain world by more than they differ, it is refused and nothing is written.

    trueup identify residual recordings --estimate identified/estimate.json --out residual
    """

    episodes: Annotated[Positional[Path], arg(metavar="DATA")]
    """The folder of a dataset; the one that was identified, or more of the same robot."""
    estimate: Annotated[Path, arg(metavar="FILE")]
    """What was identified: an estimate.json, or a point."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write the residual, and pictures of simulated over measured, before and after."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """The world that was identified; by default as the estimate or the recordings say."""
    joints: Patterns = ("*",)
    """Correct and judge these joints only."""
    seed: Count = 0
    """Of the network's first layer."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Learn, then tell; exit code 2 where it is refused."""
        check_threads(self.threads)
        if self.out:
            check_distinct(
                read={"DATA": self.episodes, "--estimate": self.estimate},
                written={"--out": self.out},
            )
            check_free(self.out)
            writable_folder(self.out.absolute().parent)
        episodes = list(Dataset.open(self.episodes))
        named, point = _identified(self.estimate)
        world = self._world(episodes, named)
        lesson = learn_residual(
            world,
            episodes,
            point,
            joints=self.joints,
            seed=self.seed,
            threads=self.threads,
            on_progress=None if self.json else lambda line: print(line, file=sys.stderr),
        )
        if self.json:
            show.print_json({**lesson.judgement.to_json(), "notes": list(lesson.notes)})
        else:
            _print(lesson)
        residual = lesson.accepted()
        if self.out:
            residual.save(self.out)
            self._draw(self.out, world, usable(episodes).held[-1], residual)

    def _world(self, episodes: list[Episode], named: str | None) -> World:
        if not episodes:
            raise TrueupError(f"{self.episodes} has no episodes yet.", fix="Record some first.")
        name = self.world or named or episodes[0].origin.get("world")
        if not isinstance(name, str):
            raise TrueupError(
                f"Neither {self.estimate} nor the episodes in {self.episodes} say which world "
                "they belong to.",
                fix="Give --world; for motions of a bare SO-101, so101/arm.",
            )
        return OneWorld(world=name).opened_world()

    def _draw(
        self, folder: Path, world: World, episode: Episode, residual: LearnedResidual
    ) -> None:
        sides = (
            ("before", world, residual.point, "without the residual"),
            ("after", residual.added_to(world), residual.full, "with the residual"),
        )
        for name, where, point, words in sides:
            replay = replayed(where, [episode], point, threads=self.threads)
            save_drawing(
                panels_of(episode, replay.tracks[0], ["joint_position"]),
                folder / f"{name}.png",
                title=f"{world.name} over a recording that was kept out, {words}",
            )


def _identified(file: Path) -> tuple[str | None, Point]:
    """The world that a file names, where it does, and the point it holds."""
    data = read_json(file, "estimate")
    if isinstance(data, dict) and data.get("format") == "trueup/estimate":
        estimate = Estimate.from_json(data, str(file))
        return estimate.world, estimate.point
    return None, Point.load(file)


def _print(lesson: Lesson) -> None:
    out = show.console()
    columns = ("without, rad", "with, rad", "less")
    rows = show.table("joint", *columns, right=columns)
    found: dict[str, Any] = dict(lesson.judgement.joints)
    for joint, (plain, corrected) in found.items():
        less = 100.0 * (1.0 - corrected / plain) if plain else 0.0
        rows.add_row(joint, f"{plain:.5f}", f"{corrected:.5f}", f"{round(less)} %")
    out.print(rows)
    for line in lesson.notes:
        out.print(line)
    if lesson.residual is not None:
        out.print(lesson.judgement.sentence)
    if not lesson.judgement.real:
        out.print("sim-to-sim: no real robot took part")
