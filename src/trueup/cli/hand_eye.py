"""`trueup identify hand-eye`: whether what the arm says and what the camera says is one thing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.cli.files import check_distinct, writable_file
from trueup.cli.findings import opened, real, world_of
from trueup.cli.options import File, Machine
from trueup.cli.probing import told
from trueup.identify import Estimate
from trueup.identify.probing import identify_hand_eye


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
        read = {f"EPISODES {k}": folder for k, folder in enumerate(self.episodes)}
        check_distinct(read={**read, "--arm": self.arm}, written={"--out": self.out})
        if self.out:
            writable_file(self.out)
        found = [opened(folder) for folder in self.episodes]
        episodes = [episode for some, _ in found for episode in some]
        world = world_of(self.world, episodes[0], self.episodes[0])
        arm = Estimate.load(self.arm) if self.arm else None
        estimate = identify_hand_eye(world, episodes, arm=arm)
        unread = [note for _, notes in found for note in notes]
        told(estimate, unread, robot=real(episodes), out=self.out, json=self.json)
