"""Options that several verbs share, as fields to inherit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

WorldName = Annotated[Positional[str], arg(metavar="WORLD")]
File = Annotated[Path | None, arg(metavar="FILE")]
Patterns = Annotated[tuple[str, ...], arg(metavar="PATTERN...")]
Count = Annotated[int, arg(metavar="N")]
Seconds = Annotated[float | None, arg(metavar="S")]
Row = Annotated[int | None, arg(metavar="I")]


@dataclass(frozen=True, kw_only=True)
class OneWorld:
    """The world a verb is about."""

    world: WorldName
    """A name from `trueup worlds`, or your own as FILE.py:CLASS."""


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
    """Draw from this space, as `trueup space WORLD --json --out FILE` writes it."""
    point: File = None
    """Put every copy at this point: a JSON object of parameter names and values."""
    seed: Count = 0
    """Same seed, same worlds, same result."""
    only: Row = None
    """Run copy I alone, exactly as it was among the others."""
