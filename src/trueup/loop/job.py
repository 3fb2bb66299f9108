"""What every stage is given: the run folder, its settings, and whom to talk to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from trueup.hardware import Robot, open_robot
from trueup.loop.settings import Settings
from trueup.policies import Policy
from trueup.worlds import World, get

MOST_CELLS = 256
POLICIES = Path("out/policies")
"""Where starting policies and their banks are kept for the next run."""


def _silent(_: str) -> None:
    return


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run while it runs.

    Attributes:
        folder: The run folder.
        settings: What to do.
        arm: Whether a real robot may move.
        threads: CPU threads; 0 takes all. Results do not depend on it.
        cache: Where what other runs can use, too, is kept.
        tell: Told in a line how a stage stands; shown for a moment.
        say: Told what an operator must read.
    """

    folder: Path
    settings: Settings
    arm: bool = False
    threads: int = 0
    cache: Path = POLICIES
    tell: Callable[[str], None] = field(default=_silent)
    say: Callable[[str], None] = field(default=_silent)

    def path(self, name: str) -> Path:
        """Where an artefact of the run is."""
        return self.folder / name

    @cached_property
    def world(self) -> World:
        """What the policy is to do."""
        return get(self.settings.world)

    @cached_property
    def bare(self) -> World:
        """The robot without its task."""
        return get(self.settings.bare)

    def policy(self, name: str) -> Policy:
        """A policy of the run."""
        return Policy.load(self.path(name))

    def robot(self, cells: int = 1) -> Robot:
        """The robot, not yet connected; only one that is started here can have many bodies."""
        own = self.settings.rehearsal
        address, threads = self.settings.robot, self.threads if own else 0
        return open_robot(address, cells=min(cells, MOST_CELLS) if own else 1, threads=threads)
