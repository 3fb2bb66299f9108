"""`trueup randomize`: look at a plan before it is trained with."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from tyro.conf import arg

from trueup.cli import show
from trueup.cli.copies import Copies, check_positive, check_seed, drawn
from trueup.cli.files import writable_folder, write_text
from trueup.cli.options import Chosen, Count, File, Machine, OneWorld, Patterns
from trueup.cli.pictures import first_camera, tiled
from trueup.errors import TrueupError
from trueup.randomize import Coverage, Drawn, Grid, Plan, coverage, marginals, plan_named, previewed
from trueup.simulate import Camera, save_picture
from trueup.space import Point, Points, Space
from trueup.space.point import about_file, read_json
from trueup.versions import versions
from trueup.worlds import World

PlanName = Literal["prior", "sobol", "lhs", "grid", "automatic", "entropy"]

_SEEN = 16  # copies in the picture
_SMOOTH = 2000  # draws behind the picture of marginals
_WIDTH, _HEIGHT = 320, 240
_WIDE = 100  # columns


@dataclass(frozen=True, kw_only=True)
class Randomize(OneWorld, Machine):
    """Preview a plan: which worlds it draws, and whether they cover yours.

    prior draws at random, sobol and lhs spread evenly, grid takes every combination of levels.
    automatic and entropy are curricula: they begin near nominal and widen during training, as
    success allows; what is shown is how they begin. The bars go over the widest that a plan may
    draw from.

    trueup randomize so101/lift --plan sobol --select latency --out out/latency
    """

    plan: PlanName = "prior"
    """How points are drawn."""
    n: Annotated[int | None, arg(metavar="N", aliases=("-n",))] = None
    """How many points; 16 by default, and all of them on a grid."""
    select: Patterns = ()
    """Randomize these parameters only, e.g. latency or 'actuation/*/damping'; the rest stays
    nominal. By default: everything `trueup space WORLD` lists."""
    space: File = None
    """Draw from this space, as `trueup space WORLD --out FILE` writes it."""
    seed: Count = 0
    """Same seed, same worlds."""
    levels: Count = 3
    """Levels of each parameter on a grid."""
    widest: float = 1.0
    """How far a curriculum may widen, in widths of the space's own ranges."""
    covers: File = None
    """A point or a space (JSON): does this plan cover it? A curriculum answers for its widest."""
    out: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """Write worlds.png, marginals.png, points.csv, points.json, space.json and run.json here."""

    def run(self) -> None:
        """Draw, and show what came."""
        check_seed(self.seed)
        asked = None if self.covers is None else asked_about(self.covers)
        if self.out:
            writable_folder(self.out)
        world = self.opened_world()
        copies, plan = self._drawn(world)
        rows = previewed(copies.points, plan.full())
        answer = None if asked is None else coverage(plan.full(), asked, catalogue=world.catalogue)
        files, missing = self._written(copies, plan) if self.out else ([], "")
        result = self._result(copies, plan, rows, answer, files, missing)
        if self.out:
            write_text(self.out / "run.json", show.as_json(result) + "\n")
        if self.json:
            show.print_json(result)
        else:
            self._print(copies, plan, rows, answer, result)

    def _drawn(self, world: World) -> tuple[Copies, Plan]:
        """The plan, and copies of the world at the points that it drew."""
        options = Chosen(select=self.select, space=self.space, seed=self.seed)
        plan = self._planned(drawn(world, options, 1).space)
        n = self.n if self.n is not None else plan.size if isinstance(plan, Grid) else 16
        check_positive("--n", n)
        copies = drawn(world, options, n)
        points = plan.draw(np.random.default_rng([self.seed, 0]), n)
        return replace(copies, points=points), plan

    def _planned(self, space: Space) -> Plan:
        if self.plan == "grid":
            return plan_named("grid", space, levels=self.levels)
        if self.plan in ("automatic", "entropy"):
            return plan_named(self.plan, space, widest=self.widest)
        if self.widest != 1.0:
            raise TrueupError(
                f"--widest is for curricula, and the plan {self.plan!r} is none.",
                fix="Give --plan automatic or entropy, or a wider --space.",
            )
        return plan_named(self.plan, space)

    def _written(self, copies: Copies, plan: Plan) -> tuple[list[str], str]:
        """Write all but run.json; names of the files, and why a picture is missing."""
        assert self.out is not None
        plan.distribution().save(self.out / "space.json")
        write_text(self.out / "points.csv", _as_csv(copies.points))
        table = {"names": list(copies.points.names), "values": copies.points.values.tolist()}
        write_text(self.out / "points.json", show.as_json(table) + "\n")
        many = self._planned(plan.space).draw(np.random.default_rng([self.seed, 2]), _SMOOTH)
        picture = marginals(previewed(many, plan.full(), parts=40))
        save_picture(picture, self.out / "marginals.png")
        files = ["marginals.png", "points.csv", "points.json", "space.json"]
        missing = _pictured(copies.first(_SEEN), self.out / "worlds.png")
        return (files if missing else ["worlds.png", *files]), missing

    def _result(
        self,
        copies: Copies,
        plan: Plan,
        rows: tuple[Drawn, ...],
        answer: Coverage | None,
        files: list[str],
        missing: str,
    ) -> dict[str, Any]:
        return {
            "world": self.world,
            "plan": self.plan,
            "moves_in_training": plan.moves,
            "summary": plan.summary(),
            "points": len(copies),
            "parameters": [row.to_json() for row in rows],
            "coverage": answer.to_json() if answer else None,
            "configuration": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in vars(self).items()
            },
            "versions": versions(),
            "files": [*files, "run.json"] if files else [],
            "no_picture": missing,
        }

    def _print(
        self,
        copies: Copies,
        plan: Plan,
        rows: tuple[Drawn, ...],
        answer: Coverage | None,
        result: dict[str, Any],
    ) -> None:
        out = show.console()
        for gap in copies.space.by_gap():
            some = [row for row in rows if row.parameter.gap is gap]
            out.print(f"[bold]{gap}[/bold]  {gap.question}")
            out.print(_table(some, narrow=out.width < _WIDE))
            out.print()
        out.print(f"{len(copies):,} points of {self.world} by the plan {self.plan}.", markup=False)
        out.print(f"The plan: {plan.summary()}.", markup=False)
        if plan.moves:
            out.print("This is how it begins; it moves during training, as success allows.")
        if answer:
            out.print(f"{self.covers}: {answer}", markup=False)
        if result["no_picture"]:
            out.print(result["no_picture"], markup=False)
        if self.out:
            files = ", ".join(result["files"])
            out.print(f"In {self.out}: {files}.", markup=False, soft_wrap=True)


def asked_about(path: Path) -> Point | Points | Space:
    """What a file holds: a space, points as --out writes them, or a point."""
    with about_file(path):
        data = read_json(path, "point or space")
        if isinstance(data, dict) and data.get("format") == "trueup/space":
            return Space.from_json(data)
        if isinstance(data, dict) and {"names", "values"} == set(data):
            return _points(data)
        return Point.from_json(data)


def _points(data: dict[str, Any]) -> Points:
    try:
        return Points(data["names"], np.array(data["values"], float))
    except (TypeError, ValueError) as error:
        raise TrueupError(
            f"The points could not be read: {error}.",
            fix="Give names, and values as one list of numbers for each point.",
        ) from error


def _table(rows: list[Drawn], *, narrow: bool) -> Any:
    numbers = ("nominal", "lowest", "median", "highest")
    made = show.table("parameter", "unit", *numbers, "drawn", right=numbers, keep=("drawn",))
    for row in rows:
        p = row.parameter
        made.add_row(
            f"…/{p.name.split('/', 1)[1]}" if narrow else p.name,
            show.unit(p.unit),
            *map(show.number, (p.nominal, row.lowest, row.median, row.highest)),
            row.bars,
        )
    return made


def _as_csv(points: Points) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(points.names)
    writer.writerows(points.values.tolist())
    return text.getvalue()


def _pictured(copies: Copies, path: Path) -> str:
    """Draw the copies where they begin; where nothing can be drawn, say so instead."""
    worlds = copies.opened()
    try:
        name = first_camera(copies.world)
        with Camera(worlds, camera=name, width=_WIDTH, height=_HEIGHT) as camera:
            frames = camera.pictures(range(len(copies)))
    except TrueupError as error:  # no graphics, or no camera
        return f"No picture of the worlds: {error}"
    save_picture(tiled(frames), path)
    return ""
