"""`trueup identify`: what the robot really is, from recordings."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.copies import check_threads
from trueup.cli.files import check_distinct, writable_folder
from trueup.cli.findings import opened, real, table_of, world_of
from trueup.cli.options import Count, Machine, Patterns, Seconds
from trueup.episodes import Episode
from trueup.identify import BASE, HOLLOW, Estimate, identify, save_section
from trueup.replay import panels_of, replayed, save_drawing
from trueup.space import Point, Space
from trueup.worlds import World


@dataclass(frozen=True, kw_only=True)
class Identify(Machine):
    """Fit parameters of a world to recordings, and say how sure.

    A third of the recordings is kept out of the fit and judges it. Without --select the recordings
    decide what is fitted: what every servo has, and each effect of the catalogue that predicts the
    recordings that were kept out better than without it.

    trueup identify recordings --world so101/arm --select 'actuation/*/kp' --out identified
    """

    episodes: Annotated[Positional[Path], arg(metavar="EPISODES")]
    """The folder of a dataset, as `trueup record` and `trueup episodes import` write it."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """Where to replay them; by default the world that they say they come from."""
    select: Patterns = ()
    """Fit these parameters only, e.g. latency or 'actuation/*/damping'."""
    window: Seconds = None
    """Begin anew at the measured state after each S seconds, where open loop drifts away."""
    check: bool = True
    """Ask whether anything is missing, and which effect outside the fit would explain it."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write estimate.json, report.html, and pictures of simulated over measured, before and
    after."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Fit, then tell."""
        check_threads(self.threads)
        if self.out:
            check_distinct(read={"EPISODES": self.episodes}, written={"--out": self.out})
            writable_folder(self.out)
        episodes, unread = opened(self.episodes)
        world = world_of(self.world, episodes[0], self.episodes)
        estimate = identify(
            world,
            episodes,
            _space(world, self.select or BASE),
            window_s=self.window,
            choose=not self.select,
            check=self.check,
            threads=self.threads,
            on_progress=None if self.json else lambda line: print(line, file=sys.stderr),
        )
        estimate = replace(estimate, notes=(*unread, *estimate.notes))
        if self.out:
            estimate.save(self.out / "estimate.json")
            self._draw(self.out, world, episodes[-1], estimate)
        if self.json:
            show.print_json(estimate.to_json())
        else:
            _print(estimate, robot=real(episodes))

    # --------------------------------------------------------------------------------------------

    def _draw(self, folder: Path, world: World, episode: Episode, estimate: Estimate) -> None:
        panels = {}
        for name, point in (("before", Point({})), ("after", estimate.point)):
            replay = replayed(world, [episode], point, window_s=self.window, threads=self.threads)
            panels[name] = panels_of(episode, replay.tracks[0], ["joint_position"])
            save_drawing(
                panels[name],
                folder / f"{name}.png",
                title=f"{world.name} over the last recording, {name} identification",
            )
        save_section(estimate, panels, folder / "report.html", real=real([episode]))


def _space(world: World, patterns: tuple[str, ...]) -> Space:
    """What is fitted; of the usual patterns, those that this world has."""
    if patterns is not BASE:
        return world.catalogue.select(*patterns)
    names = world.catalogue.names
    return world.catalogue.select(*(p for p in BASE if any(fnmatchcase(n, p) for n in names)))


def _print(estimate: Estimate, *, robot: bool) -> None:
    out = show.console()
    out.print(table_of(estimate))
    out.print()
    for name, misfit in (("fitted", estimate.fitted), ("kept out", estimate.held)):
        before, after = (_all(getattr(misfit, side)) for side in ("before", "after"))
        out.print(
            f"{name}: {misfit.episodes} recordings, {before:.4f} rad off before, {after:.4f} after"
        )
    if estimate.hollow:
        out.print(f"Do not train with it: {HOLLOW}.")
    checked = estimate.check.sentences if estimate.check else ()
    for line in (*map(str, estimate.choices), *checked, *estimate.unseen, *estimate.notes):
        out.print(line)
    if not robot:
        out.print("sim-to-sim: no real robot took part")


def _all(sizes: Any) -> float:
    return float(np.sqrt(np.mean(np.square(list(sizes.values())))))
