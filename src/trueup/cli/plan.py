"""`trueup plan`: what to record next, and what to expect before anything was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli import protocols, show
from trueup.cli.files import check_distinct, writable_file
from trueup.cli.options import File, Machine, Row
from trueup.diagnose import GapReport
from trueup.errors import TrueupError
from trueup.plan import Costs, Nature, Protocol, entered, outlook, planned
from trueup.space import Space
from trueup.worlds import World, get


@dataclass(frozen=True, kw_only=True)
class Plan(Machine):
    """What to record next, from a gap report: most recovery a minute first.

    Each item says what to do exactly, what it should give back in points and how sure that is, what
    it costs, and how many trials would show it.

    trueup plan gaps.json --out protocol.json
    """

    gaps: Annotated[Positional[Path], arg(metavar="GAPS")]
    """A gap report, as `trueup diagnose` writes it."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """The world it is about; by default the one that the report names."""
    costs: File = None
    """How long things take with you: a JSON object, such as {"demonstration_minutes": 2}."""
    estimate: File = None
    """What is identified so far: motions are then designed for it (`trueup record --design`)."""
    worth: Annotated[float, arg(metavar="POINTS")] = 2.0
    """Leave out what is expected to give back less."""
    out: File = None
    """Write the protocol here as JSON, for `trueup record --protocol`."""

    def run(self) -> None:
        """Plan, then tell."""
        read = {"GAPS": self.gaps, "--costs": self.costs, "--estimate": self.estimate}
        check_distinct(read=read, written={"--out": self.out})
        if self.out:
            writable_file(self.out, ".json")
        report = GapReport.load(self.gaps)
        world = get(self.world or report.world)
        _check_world(report, self.gaps, world)
        protocol = planned(
            report,
            world=world,
            costs=None if self.costs is None else Costs.load(self.costs),
            estimate=self.estimate,
            worth=self.worth,
        )
        if self.out:
            protocol.save(self.out)
        if self.json:
            show.print_json(protocol.to_json())
        else:
            protocols.print_protocol(protocol, self.out)


@dataclass(frozen=True, kw_only=True)
class PlanOutlook(Machine):
    """Which gaps to expect before any trial, and how to split the effort.

    It reads from the world what it can; say the rest. What it says is field experience, until
    --gaps puts measurement in its place.

    trueup plan outlook so101/lift --variable-objects
    """

    world: Annotated[Positional[str | None], arg(metavar="WORLD")] = None
    """A world to read the nature of the task from; none for a task that is not built yet."""
    contact_rich: bool = False
    """Touch decides the task: grasping, inserting, pushing."""
    force_regulated: bool = False
    """A force is to be kept, and not only a place reached."""
    seen: bool = False
    """The policy looks at pictures."""
    tracked: bool = False
    """Something tells the policy where the objects are."""
    variable_objects: bool = False
    """Objects differ from one time to the next."""
    people: bool = False
    """People are nearby or take part."""
    cluttered: bool = False
    """The place is not structured."""
    gaps: File = None
    """A gap report: measurement takes the place of experience."""

    def run(self) -> None:
        """Print what to expect."""
        world = None if self.world is None else get(self.world)
        nature = Nature() if world is None else Nature.of(world)
        told = {name: True for name in vars(Nature()) if getattr(self, name)}
        report = None if self.gaps is None else GapReport.load(self.gaps)
        if report is not None and world is not None and self.gaps is not None:
            _check_world(report, self.gaps, world)
        found = outlook(nature.with_(**told), report)
        if self.json:
            show.print_json(found.to_json())
        else:
            protocols.print_outlook(found)


@dataclass(frozen=True, kw_only=True)
class PlanEnter(Machine):
    """Take in what was measured by hand: a space that believes it.

    One value with its error, or the range over several objects, in SI units.

    trueup plan enter so101/lift --measured object/cube/mass=0.034+-0.001 --out measured.json
    """

    world: Annotated[Positional[str], arg(metavar="WORLD|PROTOCOL")]
    """The world, or the protocol whose item was carried out."""
    measured: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE+-ERROR|NAME=LOW..HIGH...")]
    """What was measured."""
    out: Annotated[Path, arg(metavar="FILE")]
    """The space to write, for `trueup train --space` and `trueup evaluate --space`."""
    space: File = None
    """Begin with this space, such as one that was entered before; the world's own by default."""
    item: Row = None
    """Which item of the protocol it was: only what that item is about is then taken."""

    def run(self) -> None:
        """Write the space."""
        check_distinct(read={"--space": self.space}, written={"--out": self.out})
        writable_file(self.out, ".json")
        before = None if self.space is None else Space.load(self.space)
        space = entered(self._world(), self.measured, before)
        space.save(self.out)
        names = [text.partition("=")[0] for text in self.measured]
        if self.json:
            show.print_json({"space": str(self.out), "entered": names})
        else:
            print(f"Written: {self.out}, which believes {', '.join(names)} as measured.")

    def _world(self) -> World:
        if not self.world.endswith(".json"):
            return get(self.world)
        protocol = Protocol.load(self.world)
        if self.item is not None:
            known = protocol.item(self.item).work.parameters
            for text in self.measured:
                if (name := text.partition("=")[0]) not in known:
                    raise TrueupError(
                        f"Item {self.item} of {self.world} is not about {name!r}; it is about "
                        f"{', '.join(known) or 'no parameter'}.",
                        fix="Check the name, or leave --item away.",
                    )
        return get(protocol.world)


def _check_world(report: GapReport, path: Path, world: World) -> None:
    if report.world != world.name:
        raise TrueupError(
            f"{path} is a diagnosis in {report.world}, not in {world.name}.",
            fix=f"Plan for {report.world}, or diagnose trials of {world.name}.",
        )
