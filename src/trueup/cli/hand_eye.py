"""`trueup identify hand-eye` and `trueup identify stops`: zeros that no free motion shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.files import check_distinct, writable_file
from trueup.cli.findings import opened, real, world_of
from trueup.cli.options import File, Machine
from trueup.cli.probing import told
from trueup.episodes import Episode
from trueup.identify import Estimate
from trueup.identify.probing import identify_hand_eye, identify_stops


@dataclass(frozen=True, kw_only=True)
class HandEye(Machine):
    """Zeros of the joints, camera and table, from a thing seen while held.

    Any episodes will do in which the thing was lifted: `trueup record --motion carry`, trials,
    demonstrations.

    trueup identify hand-eye carried trials/episodes --arm identified/estimate.json --out eye.json
    """

    episodes: Annotated[Positional[tuple[Path, ...]], arg(metavar="EPISODES")]
    """Folders of datasets."""
    arm: File = None
    """What was identified of the arm: an estimate.json; as nominal by default."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """Whose arm and camera they are; by default the world that the first says it comes from."""
    out: File = None
    """Write the estimate as JSON into this file."""

    def run(self) -> None:
        """Fit, then tell."""
        episodes, unread = _read(self.episodes, out=self.out, arm=self.arm)
        arm = Estimate.load(self.arm) if self.arm else None
        world = world_of(self.world, episodes[0], self.episodes[0])
        estimate = identify_hand_eye(world, episodes, arm=arm)
        told(estimate, unread, robot=real(episodes), out=self.out, json=self.json)


@dataclass(frozen=True, kw_only=True)
class Stops(Machine):
    """The zero of a joint, such as the jaw, from where it stops.

    trueup record --robot rehearsal:benign --motion stops --out stops
    trueup identify stops stops --out jaw.json
    """

    episodes: Annotated[Positional[tuple[Path, ...]], arg(metavar="EPISODES")]
    """Folders of datasets; what is no such motion is passed over."""
    world: Annotated[str | None, arg(metavar="WORLD")] = None
    """Whose stops they are; by default the world that the first says it comes from."""
    out: File = None
    """Write the estimate as JSON into this file."""

    def run(self) -> None:
        """Compare, then tell."""
        episodes, unread = _read(self.episodes, out=self.out)
        estimate = identify_stops(world_of(self.world, episodes[0], self.episodes[0]), episodes)
        told(estimate, unread, robot=real(episodes), out=self.out, json=self.json)


def _read(
    folders: tuple[Path, ...], *, out: Path | None, arm: Path | None = None
) -> tuple[list[Episode], list[str]]:
    """All episodes of some datasets, and a sentence on each that cannot be read."""
    read = {f"EPISODES {k}": folder for k, folder in enumerate(folders)}
    check_distinct(read={**read, "--arm": arm}, written={"--out": out})
    if out:
        writable_file(out)
    found = [opened(folder) for folder in folders]
    notes = [note for _, notes in found for note in notes]
    return [episode for some, _ in found for episode in some], notes
