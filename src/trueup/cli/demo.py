"""`trueup demo`: what a newcomer sees first. It trains nothing and needs neither robot nor GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from tyro.conf import arg

from trueup.cli import show
from trueup.cli.copies import Copies, check_positive, control_steps, drawn, played
from trueup.cli.files import writable_folder, write_text
from trueup.cli.motions import controller
from trueup.cli.options import Chosen, CopyCount, Count, Machine
from trueup.cli.pictures import filmed, frame_rate
from trueup.evaluate import wilson
from trueup.simulate import Camera, NoGraphics, save_picture, save_video
from trueup.space import Space
from trueup.versions import versions
from trueup.worlds import World, get

_WORLD = "so101/lift"
_FEWER = 4  # rows but the first need less certainty: n / 4 copies each
_SEEN = 9  # copies in picture and video
_WIDTH, _HEIGHT = 400, 300


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: what differed, and how often the grasp worked.

    Attributes:
        name: What was randomized.
        meaning: What that means, for a newcomer.
        parameters: How many numbers differed.
        copies: The copies that were run.
    """

    name: str
    meaning: str
    parameters: int
    copies: Copies


@dataclass(frozen=True, kw_only=True)
class Demo(Machine):
    """See it work: one grasp in 1,024 randomized worlds.

    An SO-101 arm picks up a cube by a script that knows the nominal world only. The same episodes
    run in worlds where everything differs a little, and in worlds where one gap alone does. Writes
    table.md, table.json, picture.png, video.mp4 and run.json. Trains nothing; no robot, no GPU.
    """

    out: Annotated[Path, arg(metavar="FOLDER")] = Path("out/demo")
    """Where to write; files of an earlier demo there are replaced, others stay."""
    n: CopyCount = 1024
    """Copies with everything randomized; each other row takes a quarter of them."""
    seed: Count = 0
    """Same seed, same worlds, same result."""

    def run(self) -> None:
        """Play every row, then draw."""
        started = perf_counter()
        check_positive("--n", self.n)
        writable_folder(self.out)
        world = get(_WORLD)
        everything = drawn(world, Chosen(seed=self.seed), self.n)
        rows = list(_rows(everything, -(-self.n // _FEWER)))
        results = self._played(rows)
        sentences = _sentences(results)
        self._write(results, sentences)
        if not self.json:
            _print(results, sentences)
        missing = self._drawn(everything.first(_SEEN))
        written = ["table.md", "table.json"] + ([] if missing else ["picture.png", "video.mp4"])
        run = {
            "configuration": {"world": _WORLD, "out": str(self.out), "n": self.n},
            "seed": self.seed,
            "versions": versions(),
            "wall_s": perf_counter() - started,
            "files": [*written, "run.json"],
            "no_pictures": missing,
        }
        write_text(self.out / "run.json", show.as_json(run) + "\n")
        if self.json:
            show.print_json({"label": "sim-to-sim", "rows": results, "run": run})
            return
        out = show.console()
        if missing:
            out.print(missing, markup=False)
        files = ", ".join(run["files"])
        seconds = show.number(run["wall_s"])
        out.print(f"In {self.out}: {files}. {seconds} s.", markup=False, soft_wrap=True)

    def _played(self, rows: list[Row]) -> list[dict[str, Any]]:
        steps = control_steps(rows[0].copies.world, None)
        results = []
        with show.progress("grasping", steps * len(rows), quiet=self.json) as advance:
            for row in rows:
                worlds = row.copies.opened()
                outcome = played(worlds, controller(worlds, "script"), steps, on_step=advance)
                low, high = wilson(outcome.successes, outcome.n)
                results.append(
                    {
                        "randomized": row.name,
                        "meaning": row.meaning,
                        "parameters": row.parameters,
                        "episodes": outcome.n,
                        "successes": outcome.successes,
                        "share": outcome.successes / outcome.n,
                        "interval_95": [low, high],
                    }
                )
        return results

    def _write(self, results: list[dict[str, Any]], sentences: str) -> None:
        table = {"label": "sim-to-sim", "world": _WORLD, "seed": self.seed, "rows": results}
        write_text(self.out / "table.json", show.as_json(table) + "\n")
        write_text(self.out / "table.md", _markdown(results, sentences))

    def _drawn(self, copies: Copies) -> str:
        """Write picture and video; where nothing can be drawn, say so instead."""
        worlds = copies.opened()
        steps = control_steps(copies.world, None)
        try:
            camera = Camera(worlds, camera="front", width=_WIDTH, height=_HEIGHT)
        except NoGraphics as error:
            return f"No picture and no video: {error}"
        last: list[np.ndarray] = []

        def kept(frames: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
            for frame in frames:
                last[:] = [frame]
                yield frame

        with camera, show.progress("drawing", steps, quiet=self.json) as advance:
            move = controller(worlds, "script")
            frames = kept(filmed(worlds, camera, move, steps, advance))
            save_video(frames, self.out / "video.mp4", fps=frame_rate(copies.world))
        save_picture(last[0], self.out / "picture.png")
        return ""


def _rows(everything: Copies, n: int) -> Iterator[Row]:
    """The rows: each plays the first episodes of the first one, in fewer dimensions."""
    world: World = everything.world
    few = everything.first(n)
    yield Row(
        name="nothing",
        meaning="The world the script was written for.",
        parameters=0,
        copies=few.within(Space(())),
    )
    yield Row(
        name="everything",
        meaning="Each copy is its own world.",
        parameters=len(world.space),
        copies=everything,
    )
    for gap, part in world.space.by_gap().items():
        yield Row(
            name=f"{gap} only",
            meaning=gap.question,
            parameters=len(part),
            copies=few.within(part),
        )


def _sentences(results: list[dict[str, Any]]) -> str:
    nothing, everything, *gaps = results
    return (
        "A script that knows only the nominal world grasps a cube with an SO-101 arm. The same "
        "episodes were played again in worlds that differ from it a little, as a real one would: "
        "first in everything, then in one gap at a time (sim-to-sim: no real robot took part). "
        f"It works in {_percent(nothing)} of the nominal episodes, and in {_percent(everything)} "
        f"where everything differs. {_blamed(nothing, gaps)}"
    )


def _blamed(nothing: dict[str, Any], gaps: list[dict[str, Any]]) -> str:
    """Which gaps cost successes by themselves; only what the intervals tell apart."""
    clear = [row for row in gaps if row["interval_95"][1] < nothing["interval_95"][0]]
    if not clear:
        return "No gap alone can be told from none at this many episodes: take a larger --n."
    names = [f"{row['randomized'].removesuffix(' only')} ({_percent(row)})" for row in clear]
    named = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"Alone, {named} clearly cost{'s' if len(names) == 1 else ''} successes; the other gaps "
        "cannot be told from none at this many episodes, for a script that looks once and then "
        "plays blindly; a policy that reacts may well feel delays and wrong readings."
    )


def _percent(row: dict[str, Any]) -> str:
    return f"{100 * row['share']:.0f} %"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    low, high = row["interval_95"]
    return (
        row["randomized"],
        str(row["parameters"]),
        f"{row['episodes']:,}",
        f"{100 * row['share']:.1f} %",
        f"{100 * low:.1f} – {100 * high:.1f}",
        row["meaning"],
    )


_HEADINGS = ("randomized", "numbers", "episodes", "success", "95 % interval", "what it asks")


def _print(results: list[dict[str, Any]], sentences: str) -> None:
    rows = show.table(*_HEADINGS, right=_HEADINGS[1:5])
    for row in results:
        rows.add_row(*_cells(row))
    out = show.console()
    out.print(sentences, markup=False)
    out.print()
    out.print(rows)
    out.print()


def _markdown(results: list[dict[str, Any]], sentences: str) -> str:
    lines = [_HEADINGS, ("---", "---:", "---:", "---:", "---:", "---"), *map(_cells, results)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"# One scripted grasp, many worlds (sim-to-sim)\n\n{sentences}\n\n{table}\n"
