"""Where trials are kept, so that a series that was interrupted goes on where it stopped."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from trueup.deploy.flight import Flight
from trueup.episodes import Dataset, Episode, Outcome, Writer
from trueup.errors import TrueupError
from trueup.hardware import Robot
from trueup.policies import Policy

if TYPE_CHECKING:
    from trueup.deploy.trials import Series

_JUDGED = (Outcome.SUCCESS, Outcome.FAILURE)
_SHADOW = "shadow"


class Keeper:
    """Writes trials into a dataset, and knows which are there.

    Args:
        folder: The dataset.
        policy: What drives.
        robot: What is driven.
        series: What is tried; a folder that holds another series is refused.
    """

    def __init__(self, folder: Path, policy: Policy, robot: Robot, series: Series) -> None:
        self.folder, self._policy, self._series = folder, policy, series
        self._origin = {
            "robot": robot.name,
            "address": series.address,
            "kind": robot.kind,
            "real": robot.real,
            "label": "real" if robot.real else "sim-to-sim",
            "world": policy.contract.world,
            "policy": policy.name,
            "policy_sha256": policy.mark,
            "series_seed": series.seed,
            "mode": _SHADOW if series.shadow else "trial",
        }
        self._check()
        self._failed: TrueupError | None = None
        self._spare = _Spare()
        self._writer = Writer(folder, robot_type=robot.kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def done(self) -> dict[int, Outcome | None]:
        """Trials that came to their end, by number, and how."""
        found: dict[int, Outcome | None] = {}
        for origin, outcome in self._there():
            if outcome in _JUDGED or (outcome is None and origin.get("mode") == _SHADOW):
                found[int(origin["trial"])] = outcome
        return found

    def keep(
        self,
        flight: Flight,
        row: int,
        trial: int,
        seed: int,
        outcome: Outcome | None,
        why: Mapping[str, str],
    ) -> None:
        """Store what one body did in its trial."""
        episode = flight.tape.episode(
            row,
            int(flight.ended[row]),
            task=self._policy.contract.task,
            outcome=outcome,
            labels={**self._series.words, **why},
            origin={**self._origin, "trial": trial, "seed": seed},
        )
        if episode is not None:
            self._store(episode)

    def check(self) -> None:
        """Raise where something could not be stored in the dataset; it is elsewhere then."""
        if self._failed is not None:
            raise TrueupError(
                f"{self._failed.what} {self._spare.said}",
                fix=f"{self._failed.fix} Then run the same command again.",
            ) from self._failed

    def _store(self, episode: Episode) -> None:
        try:
            if self._failed is None:
                self._writer.add(episode)
                return
        except TrueupError as error:
            self._failed = error
        self._spare.add(episode)

    def _there(self) -> list[tuple[Mapping[str, Any], Outcome | None]]:
        if not (self.folder / "meta" / "info.json").is_file():
            return []
        dataset = Dataset.open(self.folder)
        about = [dataset.about(i) for i in range(len(dataset))]
        return [(a.origin, a.outcome) for a in about if "trial" in a.origin]

    def _check(self) -> None:
        for origin, _ in self._there():
            for word in ("policy_sha256", "address", "series_seed", "mode"):
                if origin.get(word) != self._origin[word]:
                    raise TrueupError(
                        f"{self.folder} holds another series: its {word} is {origin.get(word)!r}, "
                        f"here it is {self._origin[word]!r}.",
                        fix="Choose another --out, or give the options of that series to go on "
                        "with it.",
                    )


class _Spare:
    """A second dataset, where there may still be room; it is made when it is needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._kept = self._lost = 0

    def add(self, episode: Episode) -> None:
        try:
            self._folder = self._folder or Path(tempfile.mkdtemp(prefix="trueup-rescued-"))
            with Writer(self._folder) as writer:
                writer.add(episode)
            self._kept += 1
        except (TrueupError, OSError):
            self._lost += 1

    @property
    def said(self) -> str:
        """Where the rest is, as a sentence."""
        lost = f" {self._lost} could not be stored anywhere." if self._lost else ""
        return f"{self._kept} trials are in {self._folder} instead.{lost}"
