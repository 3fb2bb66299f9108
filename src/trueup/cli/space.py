"""`trueup space`: every number a world may have wrong."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

from tyro.conf import arg

from trueup.cli import show
from trueup.cli.copies import chosen_space
from trueup.cli.families import Family, families
from trueup.cli.files import check_distinct, writable_file, write_text
from trueup.cli.options import File, Machine, OneWorld, Patterns
from trueup.space import Fixed, Gap, Parameter, Space, Uniform
from trueup.worlds import World

_WIDE = 100  # columns
_IN = {True: ("default", ""), False: ("optional", "opt")}  # in wide and in narrow tables


@dataclass(frozen=True, kw_only=True)
class ListSpace(OneWorld, Machine):
    """Every number a world may have wrong, gap by gap.

    `bounds` is what is physically possible; `usual` is the prior, which randomization draws from;
    `why` names the source, below each table. Joints and axes that are alike share a row, whose name
    is also the pattern that --select takes.

    trueup space so101/lift --select latency 'actuation/*/damping'
    """

    select: Patterns = ()
    """Only these parameters: a gap such as latency, or a pattern such as 'actuation/*/damping'."""
    all: bool = False
    """Also the optional ones, which differ only where they are asked for."""
    each: bool = False
    """One row for each parameter, even where joints and axes are alike."""
    out: Annotated[File, arg(metavar="FILE")] = None
    """Write the space here as JSON, for `trueup simulate --space` and `Space.load`; with --json
    nothing is printed then."""

    def run(self) -> None:
        """Print the tables, or the space itself."""
        if self.out:
            check_distinct(read={"WORLD": self.world_file}, written={"--out": self.out})
            writable_file(self.out)
        world = self.opened_world()
        space = chosen_space(world, self.select, everything=self.all)
        if self.out:
            write_text(self.out, show.as_json(space.to_json()) + "\n")
        if not self.json:
            self._print(world, space)
        elif not self.out:
            show.print_json(space.to_json())
        if self.out:
            print(f"Written: {self.out}", file=sys.stderr if self.json else sys.stdout)

    def _print(self, world: World, space: Space) -> None:
        out = show.console()
        for gap, part in space.by_gap().items():
            out.print(f"[bold]{gap}[/bold]  {gap.question}  [dim]{_counted(world, part)}[/dim]")
            rows, sources = _rows(self._families(world, part), narrow=out.width < _WIDE)
            out.print(rows)
            for i, source in enumerate(sources, start=1):
                out.print(f"  {i}. {source}", style="dim", markup=False)
            out.print()
        out.print(_summary(world, space), markup=False)

    def _families(self, world: World, part: Space) -> list[Family]:
        if not self.each:
            return families(part, world.space)
        return [Family(pattern=p.name, members=(p,), default=p.name in world.space) for p in part]


def _rows(found: list[Family], *, narrow: bool) -> tuple[Any, list[str]]:
    mixed = not all(family.default for family in found)
    rows = show.table(
        *("parameter", "unit", "nominal", "bounds", "usual", *(["in"] if mixed else []), "why"),
        right=("nominal", "why"),
        keep=("bounds", "usual"),
    )
    sources = list(dict.fromkeys(f.members[0].source for f in found if f.members[0].source))
    for family in found:
        p, count = family.members[0], len(family.members)
        # the gap stands above the table; where columns are scarce, once is enough
        name = f"…/{family.pattern.split('/', 1)[1]}" if narrow else family.pattern
        rows.add_row(
            f"{name} ×{count}" if count > 1 else name,
            show.unit(p.unit),
            show.number(p.nominal),
            show.span(p.low, p.high),
            usual(p),
            *([_IN[family.default][narrow]] if mixed else []),
            str(sources.index(p.source) + 1) if p.source else "",
        )
    return rows, sources


def usual(p: Parameter) -> str:
    """The prior as a range: its ends, or where 95 % of it lies."""
    match p.belief:
        case Fixed(value):
            return f"= {show.number(value)}"
        case Uniform(low, high):
            return show.span(p.low if low is None else low, p.high if high is None else high)
        case _:
            return f"{show.span(*map(float, p.quantile([0.025, 0.975])))} (95 %)"


def _counted(world: World, part: Space) -> str:
    default = sum(p.name in world.space for p in part)
    optional = len(part) - default
    return f"{default} by default" + (f", {optional} optional" if optional else "")


def _summary(world: World, space: Space) -> str:
    hidden = len(world.catalogue) - len(world.space)
    text = f"{len(space)} parameters in {len(space.by_gap())} of {len(Gap)} gaps."
    if any(p.name not in world.space for p in space) or not hidden:
        return text
    return f"{text} --all shows the {hidden} optional ones of {world.name} too."
