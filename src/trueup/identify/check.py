"""Does reality lie inside what the fitted space can produce? And if not, what is it like?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.identify.suspects import Suspect
from trueup.replay import Replayer, Track
from trueup.space import Point, Space
from trueup.worlds import World

_OUTSIDE = 1.6  # times what the sensor alone would leave
_STRUCTURED = 0.15  # share of what is left, predicted on recordings that had no part in it
_BINS = 12
_SETTLED_S = 0.5  # a replay that begins in motion knows its speed only roughly
_FEWEST = 25  # readings in a bin
_NAMED = 0.03  # of what is left: an effect that explains less is not named
_WORDS = {
    "position": "depends on where the joint stands",
    "direction": "depends on the direction of motion",
    "time": "changes in the course of a recording, as with warmth",
    "load": "depends on the load that the servo carries",
}


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A regularity in what is left.

    Attributes:
        column: Of which joint.
        of: `position`, `direction`, `time` or `load`.
        share: How much of it that predicts in other recordings.
    """

    column: str
    of: str
    share: float

    def __str__(self) -> str:
        return (
            f"What is left of {self.column} {_WORDS[self.of]}: that alone predicts "
            f"{100 * self.share:.0f} % of it in other recordings."
        )


@dataclass(frozen=True, kw_only=True)
class Check:
    """Whether the fitted space can produce what was measured.

    Attributes:
        excess: By column, what is left as a multiple of what the sensor alone would leave.
        patterns: Regularities in it.
        suspects: Effects that are not in the fit and would explain some of it.
    """

    excess: Mapping[str, float]
    patterns: tuple[Pattern, ...] = ()
    suspects: tuple[Suspect, ...] = ()

    @property
    def outside(self) -> tuple[str, ...]:
        """Columns in which something is missing."""
        return tuple(name for name, times in self.excess.items() if times > _OUTSIDE)

    @property
    def inside(self) -> bool:
        """Whether nothing is missing that the sensors could show."""
        return not self.outside

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words."""
        if self.inside:
            return ("What is left is no more than the sensors' own noise: nothing is missing.",)
        worst = max(self.outside, key=lambda name: self.excess[name])
        lines = [
            f"Unmodelled: {', '.join(self.outside)} differ from the simulator by more than their "
            f"sensors explain ({worst}: {self.excess[worst]:.1f} times)."
        ]
        lines += [str(pattern) for pattern in self.patterns if pattern.column in self.outside]
        named = [suspect for suspect in self.suspects if suspect.gain > _NAMED][:4]
        lines += [f"Not in the fit: {suspect}" for suspect in named]
        if not named:
            lines.append("No effect of the catalogue explains it.")
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "inside": self.inside,
            "excess": dict(self.excess),
            "patterns": [vars(pattern) for pattern in self.patterns],
            "suspects": [suspect.to_json() for suspect in self.suspects],
            "sentences": list(self.sentences),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Check:
        """What `to_json` described."""
        return Check(
            excess=data["excess"],
            patterns=tuple(Pattern(**row) for row in data["patterns"]),
            suspects=tuple(Suspect.from_json(row) for row in data["suspects"]),
        )


def checked(
    world: World,
    episodes: Sequence[Episode],
    point: Point,
    *,
    suspects: Sequence[Suspect] = (),
    window_s: float | None = None,
    threads: int = 0,
) -> Check:
    """Replay recordings that had no part in a fit, and look at what is left.

    Args:
        world: Where they are replayed.
        episodes: What was measured.
        point: The fitted world.
        suspects: What is known about effects outside the fit.
        window_s: Begin anew at the measured state after each so many seconds.
        threads: CPU threads; 0 takes all.
    """
    space = Space(tuple(world.catalogue[name] for name in point))
    replayer = Replayer(
        world, episodes, space, window_s=window_s, signals=(JOINTS,), threads=threads
    )
    tracks = [found[JOINTS] for found in replayer(space.points(point, 1)).tracks]
    names = tracks[0].names
    columns = [_Column(name, j, tracks, episodes) for j, name in enumerate(names)]
    used = [column for column in columns if column.used]
    return Check(
        excess={column.name: column.excess for column in used},
        patterns=tuple(pattern for column in used for pattern in column.patterns()),
        suspects=tuple(suspects),
    )


class _Column:
    """What is left of one joint in all recordings."""

    def __init__(
        self, name: str, j: int, tracks: Sequence[Track], episodes: Sequence[Episode]
    ) -> None:
        self.name = name
        parts = [
            _part(track, episode, name, j) for track, episode in zip(tracks, episodes, strict=True)
        ]
        self.parts = [part for part in parts if len(part["left"]) > _BINS]
        self.used = bool(self.parts)

    @property
    def excess(self) -> float:
        left = np.concatenate([part["left"] for part in self.parts])
        measured = np.concatenate([part["position"] for part in self.parts])
        return float(np.sqrt((left**2).mean()) / _floor(left, measured))

    def patterns(self) -> Iterator[Pattern]:
        """Regularities that hold from one recording to the others."""
        if len(self.parts) < 2:
            return
        for of in _WORDS:
            share = self._predicted(of)
            if share > _STRUCTURED:
                yield Pattern(column=self.name, of=of, share=share)

    def _predicted(self, of: str) -> float:
        """Share of the squared residual that its mean over like readings predicts elsewhere."""
        feature = np.concatenate([part[of] for part in self.parts])
        left = np.concatenate([part["left"] for part in self.parts])
        edges = np.unique(np.quantile(feature, np.linspace(0, 1, _BINS + 1)[1:-1]))
        bins = np.searchsorted(edges, feature)
        of_episode = np.repeat(np.arange(len(self.parts)), [len(p["left"]) for p in self.parts])
        error = np.empty_like(left)
        for e in range(len(self.parts)):
            mine = of_episode == e
            counts = np.bincount(bins[~mine], minlength=len(edges) + 1)
            sums = np.bincount(bins[~mine], left[~mine], minlength=len(edges) + 1)
            known = np.where(counts >= _FEWEST, sums / np.maximum(counts, 1), 0.0)
            error[mine] = left[mine] - known[bins[mine]]
        return 1.0 - float((error**2).sum() / (left**2).sum())


def _part(track: Track, episode: Episode, name: str, j: int) -> dict[str, np.ndarray]:
    """What is left of one joint in one recording, and what it may depend on."""
    measured = np.asarray(track.measured[:, j], float)
    known = np.isfinite(measured) & np.isfinite(track.simulated[0, :, j])
    known &= track.age_s > _SETTLED_S
    time = track.time_s[known]
    command = episode[COMMAND]
    column = [bare.removesuffix(".pos") for bare in command.names].index(name.removesuffix(".pos"))
    told = np.interp(time, command.time_s, np.asarray(command.values[:, column], float))
    measured = measured[known]
    speed = np.gradient(measured, time) if len(time) > 2 else np.zeros(len(time))
    return {
        "left": track.simulated[0, known, j] - measured,
        "position": measured,
        "direction": np.sign(np.where(np.abs(speed) > 0.02, speed, 0.0)),
        "time": time - time[0] if len(time) else time,
        "load": told - measured,
    }


def _floor(left: np.ndarray, measured: np.ndarray) -> float:
    """What a sensor alone would leave: its ticks, and noise from one reading to the next."""
    steps = np.abs(np.diff(measured))
    quantum = float(np.quantile(steps[steps > 1e-9], 0.02)) if (steps > 1e-9).any() else 0.0
    lattice = measured / quantum if quantum > 0 else measured
    on_ticks = quantum > 0 and np.mean(np.abs(lattice - np.rint(lattice)) < 0.05) > 0.9
    noise = np.sqrt((np.diff(left, 2) ** 2).mean() / 6.0)
    return float(max(noise, quantum / np.sqrt(12.0) if on_ticks else 0.0, 1e-9))
