"""`trueup identify contact` and `trueup identify payload`: what a hand touches and carries."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli import show
from trueup.cli.copies import check_threads
from trueup.cli.files import check_distinct, writable_file, write_text
from trueup.cli.findings import opened, real, table_of, world_of
from trueup.cli.options import Count, File, Machine, Patterns
from trueup.identify import Estimate
from trueup.identify.probing import identify_contact, identify_payload

_WorldOption = Annotated[str | None, arg(metavar="WORLD")]


@dataclass(frozen=True, kw_only=True)
class Contact(Machine):
    """Friction, mass, size, balance and grip force from contact probes.

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
        check_threads(self.threads)
        read = {"EPISODES": self.episodes, "--arm": self.arm}
        check_distinct(read=read, written={"--out": self.out})
        if self.out:
            writable_file(self.out)
        episodes, unread = opened(self.episodes)
        world = world_of(self.world, episodes[0], self.episodes)
        estimate = identify_contact(
            world,
            episodes,
            world.catalogue.select(*self.select) if self.select else None,
            arm=Estimate.load(self.arm) if self.arm else None,
            seed=self.seed,
            threads=self.threads,
            on_progress=None if self.json else _progress,
        )
        told(estimate, unread, robot=real(episodes), out=self.out, json=self.json)


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
        check_threads(self.threads)
        read = {"LOADED": self.episodes, "--bare": self.bare}
        check_distinct(read=read, written={"--out": self.out})
        if self.out:
            writable_file(self.out)
        loaded, unread = opened(self.episodes)
        bare, lost = opened(self.bare) if self.bare else ([], ())
        found = identify_payload(
            world_of(self.world, loaded[0], self.episodes),
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
        if not real([*loaded, *bare]):
            out.print("sim-to-sim: no real robot took part")


def told(
    estimate: Estimate, unread: Sequence[str], *, robot: bool, out: Path | None, json: bool
) -> None:
    """Keep an estimate where that is asked for, and print it."""
    estimate = replace(estimate, notes=(*unread, *estimate.notes))
    if out:
        estimate.save(out)
    if json:
        show.print_json(estimate.to_json())
    else:
        _print(estimate, robot=robot)


def _print(estimate: Estimate, *, robot: bool) -> None:
    """A table, then what the data cannot tell."""
    out = show.console()
    out.print(table_of(estimate))
    for line in (*estimate.unseen, *estimate.notes):
        out.print(line)
    if not robot:
        out.print("sim-to-sim: no real robot took part")


def _progress(line: str) -> None:
    print(line, file=sys.stderr)
