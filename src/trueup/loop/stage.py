"""A stage: from stored artefacts to stored artefacts, and a sentence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from trueup.loop.job import Job

EARLIER = "earlier"
"""Where recordings go that are made again: nothing recorded is ever lost."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of the circle.

    Attributes:
        name: What it is chosen by.
        inputs: Artefacts of the run folder that it reads.
        outputs: Those that it writes.
        reads: Settings that its result depends on.
        do: Does it, and says what it found.
        scratch: Folders that it works in, and that a kill may leave half done.
        resumes: Whether it goes on with what a kill left; if not, that is removed before it begins.
        precious: Whether a robot made its outputs: they are put aside then, and never removed.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reads: tuple[str, ...]
    do: Callable[[Job], str]
    scratch: tuple[str, ...] = ()
    resumes: bool = False
    precious: bool = False

    def clear(self, folder: Path) -> None:
        """Make room for doing it again."""
        there = [name for name in (*self.scratch, *self.outputs) if (folder / name).exists()]
        if not there:
            return
        if self.precious:
            aside = next(
                path
                for k in count(1)
                if not (path := folder / EARLIER / f"{self.name}-{k}").exists()
            )
            for name in there:
                if (folder / name).exists():  # not gone with its parent
                    (aside / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).rename(aside / name)
            return
        for name in there:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
