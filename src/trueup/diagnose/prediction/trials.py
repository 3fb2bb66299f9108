"""Trials of policies on a robot, out of the datasets that `trueup deploy` writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.episodes import Dataset, Outcome
from trueup.errors import TrueupError

_JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Trials:
    """What one policy did on a robot.

    Attributes:
        policy: Its folder, as it was when it was tried.
        mark: SHA-256 of its network: what tells it from others, whatever its folder is called.
        success: (n,) of the trials that were judged.
        seeds: (n,) how each began.
        repeatable: Whether simulation can begin as the trials did; a person's reset it cannot.
        real: Whether a real robot took part.
        robot: Its name.
        notes: What was left out, and why.
    """

    policy: str
    mark: str
    success: np.ndarray
    seeds: np.ndarray
    repeatable: bool
    real: bool
    robot: str = ""
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.success)

    @property
    def successes(self) -> int:
        """How many succeeded."""
        return int(self.success.sum())


def trials_in(folders: Iterable[Path | str], world: str) -> list[Trials]:
    """The trials of each policy in some datasets, all of them in one world.

    A trial of another world is refused: a robot at another task says nothing of this one. Trials as
    a shadow, and those that were aborted or never judged, are left out and counted in the notes.
    """
    found: dict[tuple[str, str, bool], list[Trials]] = {}
    for folder in _distinct(folders):
        for trials in _of_folder(folder, world):
            found.setdefault((trials.mark, trials.policy, trials.repeatable), []).append(trials)
    return [_joined(parts) for parts in found.values()]


def _of_folder(folder: Path, world: str) -> list[Trials]:
    rows: dict[tuple[str, str, bool], list[tuple[Mapping[str, Any], bool]]] = {}
    skipped: Counter[str] = Counter()
    for i, about in enumerate(Dataset.open(folder).abouts()):
        origin = about.origin
        if "trial" not in origin:
            skipped["no trials, but recordings"] += 1
            continue
        if origin.get("world") != world:
            raise TrueupError(
                f"Episode {i} of {folder} is a trial in the world {origin.get('world')!r}, and the "
                f"prediction is for {world!r}.",
                fix="Give trials of this world only, or choose the world with --world.",
            )
        if origin.get("mode") == "shadow" or about.outcome not in _JUDGED:
            shadow = origin.get("mode") == "shadow"
            skipped["a shadow" if shadow else "aborted or never judged"] += 1
            continue
        key = (
            str(origin.get("policy_sha256", "")),
            str(origin.get("policy", "")),
            not origin.get("real"),
        )
        rows.setdefault(key, []).append((origin, about.outcome is Outcome.SUCCESS))
    if not rows:
        raise TrueupError(
            f"{folder} has no trial that came to its end.",
            fix="`trueup deploy POLICY --robot ADDRESS --out FOLDER` writes them into "
            "FOLDER/episodes.",
        )
    said = tuple(f"{n} episodes of {folder} were {what}: left out." for what, n in skipped.items())
    return [replace(_trials(key, some), notes=said) for key, some in rows.items()]


def _trials(key: tuple[str, str, bool], rows: list[tuple[Mapping[str, Any], bool]]) -> Trials:
    mark, policy, repeatable = key
    return Trials(
        policy=policy,
        mark=mark,
        success=np.array([success for _, success in rows], bool),
        seeds=np.array([origin.get("seed", 0) for origin, _ in rows], np.uint64),
        repeatable=repeatable,
        real=not repeatable,
        robot=str(rows[0][0].get("robot", "")),
    )


def _joined(parts: list[Trials]) -> Trials:
    """Trials of one policy from several datasets."""
    return replace(
        parts[0],
        success=np.concatenate([p.success for p in parts]),
        seeds=np.concatenate([p.seeds for p in parts]),
        notes=tuple(note for p in parts for note in p.notes),
    )


def _distinct(folders: Iterable[Path | str]) -> list[Path]:
    """Each dataset once: trials that are counted twice would seem twice as sure."""
    found: dict[Path, Path] = {}
    for folder in map(Path, folders):
        inside = folder / "episodes"  # what `deploy --out FOLDER` makes of FOLDER
        taken = inside if (inside / "meta").is_dir() else folder
        found.setdefault(taken.resolve(), taken)
    return list(found.values())
