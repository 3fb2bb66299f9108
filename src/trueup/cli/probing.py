"""`trueup identify contact` and `trueup identify payload`: what a hand touches and carries."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.files import check_distinct, writable_file, write_text
from trueup.cli.options import Count, File, Machine, OneWorld, Patterns
from trueup.episodes import Dataset, Episode
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.identify.probing import identify_contact, identify_payload
from trueup.identify.usable import readable
from trueup.worlds import World

_WorldOption = Annotated[str | None, arg(metavar="WORLD")]


@dataclass(frozen=True, kw_only=True)
class Contact(Machine):
    """Friction, mass, centre of mass and grip force from contact probes.

    The second recording of each probe is kept out of the fit and judges it. Identify the arm
    first: a thing is weighed by how far the servos give way.

    trueup identify contact probes --arm identified/estimate.json --out contact.json
    """

    episodes: Annotated[Positional[Path], arg(metavar="EPISODES")]
    """The folder of a dataset, as `trueup record --motion probes` writes it."""
    arm: File = None
    """What was identified of the arm: an estimate.json; as nominal by default."""
    world: _WorldOption = None
    """Where to replay them; by default the world that they say they come from."""
    select: Patterns = ()
    """Fit these parameters only, with their usual priors."""
    out: File = None
    """Write the estimate as JSON into this file."""
    seed: Count = 0
    """Of the search."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Fit, then tell."""
        read = {"EPISODES": self.episodes, "--arm": self.arm}
        check_distinct(read=read, written={"--out": self.out})
        if self.out:
            writable_file(self.out)
        episodes, unread = _opened(self.episodes)
        world = _world(self.world, episodes, self.episodes)
        estimate = identify_contact(
            world,
            episodes,
            world.catalogue.select(*self.select) if self.select else None,
            arm=Estimate.load(self.arm) if self.arm else None,
            seed=self.seed,
            threads=self.threads,
            on_progress=None if self.json else _progress,
        )
        estimate = replace(estimate, notes=(*unread, *estimate.notes))
        if self.out:
            estimate.save(self.out)
        if self.json:
            show.print_json(estimate.to_json())
        else:
            _print(estimate, real=_real(episodes))


@dataclass(frozen=True, kw_only=True)
class Payload(Machine):
    """Weigh what a link carries, from motions with it and without it.

    trueup identify payload loaded --bare empty --out payload.json
    """

    episodes: Annotated[Positional[Path], arg(metavar="LOADED")]
    """The folder of a dataset: motions with the payload."""
    bare: Annotated[Path | None, arg(metavar="FOLDER")] = None
    """The same motions without it. Without them the mass is told several times less well."""
    world: _WorldOption = None
    """Where to replay them; by default the world that they say they come from."""
    link: Annotated[str, arg(metavar="BODY")] = "gripper"
    """The body that carries it."""
    masses_known: Annotated[float, arg(metavar="SHARE")] = 0.0
    """How well the masses of the arm's links are known, e.g. 0.05: the payload is weighed against
    them."""
    out: File = None
    """Write everything as JSON into this file."""
    threads: Count = 0
    """CPU threads; 0 takes all. Results do not depend on it."""

    def run(self) -> None:
        """Weigh, then tell."""
        read = {"LOADED": self.episodes, "--bare": self.bare}
        check_distinct(read=read, written={"--out": self.out})
        if self.out:
            writable_file(self.out)
        loaded, unread = _opened(self.episodes)
        bare, lost = _opened(self.bare) if self.bare else ([], ())
        found = identify_payload(
            _world(self.world, loaded, self.episodes),
            loaded,
            bare,
            link=self.link,
            masses_known=self.masses_known,
            threads=self.threads,
            on_progress=None if self.json else _progress,
        )
        if self.out:
            write_text(self.out, show.as_json(found.to_json()) + "\n")
        if self.json:
            show.print_json(found.to_json())
            return
        out = show.console()
        out.print(found.sentence)
        place = ", ".join(f"{1e3 * x:.1f}" for x in found.place_m)
        spread = ", ".join(f"{1e3 * x:.1f}" for x in found.place_std_m)
        out.print(f"It sits at {place} mm (± {spread}) from the centre of mass of {self.link}.")
        for line in (*unread, *lost, *found.loaded.notes):
            out.print(line)
        if not _real([*loaded, *bare]):
            out.print("sim-to-sim: no real robot took part")


def _opened(folder: Path) -> tuple[list[Episode], tuple[str, ...]]:
    episodes, unread = readable(Dataset.open(folder))
    if not episodes:
        why = " ".join(unread[:1])
        raise TrueupError(
            f"{folder} has no episodes that can be read. {why}".strip(), fix="Record some first."
        )
    return episodes, unread


def _world(name: str | None, episodes: list[Episode], folder: Path) -> World:
    name = name or episodes[0].origin.get("world")
    if not isinstance(name, str):
        raise TrueupError(
            f"The episodes in {folder} do not say which world they belong to.",
            fix="Give --world.",
        )
    return OneWorld(world=name).opened_world()


def _print(estimate: Estimate, *, real: bool) -> None:
    out = show.console()
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
    out.print(rows)
    for line in (*estimate.unseen, *estimate.notes):
        out.print(line)
    if not real:
        out.print("sim-to-sim: no real robot took part")


def _real(episodes: list[Episode]) -> bool:
    return any(episode.origin.get("real") for episode in episodes)


def _progress(line: str) -> None:
    print(line, file=sys.stderr)
