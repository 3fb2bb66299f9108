"""Options that several verbs share, as fields to inherit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from trueup.errors import TrueupError
from trueup.worlds import World, get

WorldName = Annotated[Positional[str], arg(metavar="WORLD")]
File = Annotated[Path | None, arg(metavar="FILE")]
Patterns = Annotated[tuple[str, ...], arg(metavar="PATTERN...")]
Count = Annotated[int, arg(metavar="N")]
CopyCount = Annotated[int, arg(metavar="N", aliases=("-n",))]
Seconds = Annotated[float | None, arg(metavar="S")]
Row = Annotated[int | None, arg(metavar="I")]


@dataclass(frozen=True, kw_only=True)
class OneWorld:
    """The world a verb is about."""

    world: WorldName
    """A name from `trueup worlds`, or your own as FILE.py:CLASS."""

    def opened_world(self) -> World:
        """The world of that name."""
        if Path(self.world).suffix.lower() in (".xml", ".mjcf", ".urdf"):
            raise TrueupError(
                f"{self.world} is a model alone: an MJCF needs a world class, which says what is "
                "observed and what counts as success.",
                fix="docs/your-own-robot.md shows how to write one; then give FILE.py:CLASS.",
            )
        return get(self.world)

    @property
    def world_file(self) -> Path | None:
        """The Python file of one's own world."""
        name = self.world.partition(":")[0]
        return Path(name) if name.endswith(".py") else None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Output for programs."""

    json: bool = False
    """Print JSON on stdout and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which copies of the world: drawn from a space, or all at one point."""

    select: Patterns = ()
    """Randomize these parameters only, e.g. latency or 'actuation/*/damping'; the rest stays
    nominal. By default: everything `trueup space WORLD` lists."""
    space: File = None
    """Draw from this space, as `trueup space WORLD --out FILE` writes it."""
    point: File = None
    """Put every copy at this point: a JSON object of parameter names and values."""
    seed: Count = 0
    """Same seed, same worlds, same result."""
    only: Row = None
    """Run copy I of the seed alone, exactly as it is among others, however many those are."""

    def again(self, copy: int) -> list[str]:
        """The options that choose this copy alone, as words to type."""
        words = ["--only", str(copy), "--seed", str(self.seed)]
        words += ["--select", *self.select] if self.select else []
        return words + [f"--{o}={v}" for o in ("space", "point") if (v := getattr(self, o))]
