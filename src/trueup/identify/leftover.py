"""What is left of one joint when a fit is replayed: how large it is, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND
from trueup.identify.expected import Sensor, allowed, excess_of, sensor_of
from trueup.replay import Track

_STRUCTURED = 0.15  # share of what is left, predicted on recordings that had no part in it
_BINS = 12
_SETTLED_S = 0.5  # a replay that begins in motion knows its speed only roughly
_FEWEST = 25  # readings in a bin
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


class Column:
    """What is left of one joint in all recordings.

    Args:
        name: Of the joint.
        j: Its column.
        tracks: Of each recording, the best point replayed.
        episodes: The recordings.
    """

    def __init__(
        self, name: str, j: int, tracks: Sequence[Track], episodes: Sequence[Episode]
    ) -> None:
        self.name, self._j = name, j
        parts = [_Part(t, e, name, j) for t, e in zip(tracks, episodes, strict=True)]
        self._whose = [i for i, part in enumerate(parts) if len(part.left) > _BINS]
        self.parts = [parts[i] for i in self._whose]

    @property
    def used(self) -> bool:
        """Whether there is enough of it to be looked at."""
        return bool(self.parts)

    @cached_property
    def left(self) -> np.ndarray:
        """(m,) simulated less measured."""
        return np.concatenate([part.left for part in self.parts])

    @cached_property
    def measured(self) -> np.ndarray:
        """(m,) what the sensor read."""
        return np.concatenate([part.features["position"] for part in self.parts])

    @cached_property
    def sensor(self) -> Sensor:
        """Who read it."""
        return sensor_of(self.left, self.measured)

    @property
    def excess(self) -> float:
        """What is left as a multiple of what the sensor alone would leave."""
        return excess_of(self.left, self.sensor.quantum)

    def allowed(self, drawn: Sequence[Track], generator: np.random.Generator) -> float:
        """How large the excess may become if nothing is missing.

        Args:
            drawn: Of each recording, points of the posterior replayed; empty where there are none.
            generator: Where noise comes from.
        """
        best = self.left + self.measured
        others = np.zeros((0, len(best)))
        if drawn:
            some = [drawn[i].simulated[:, part.known, self._j] for i, part in self._numbered]
            others = np.concatenate(some, axis=1)
            others = others[np.isfinite(others).all(axis=1)]  # worlds that did not break down
        return allowed(best, others, self.sensor, generator)

    def patterns(self) -> Iterator[Pattern]:
        """Regularities that hold from one recording to the others."""
        if len(self.parts) < 2:
            return
        for of in _WORDS:
            share = self._predicted(of)
            if share > _STRUCTURED:
                yield Pattern(column=self.name, of=of, share=share)

    @property
    def _numbered(self) -> Iterator[tuple[int, _Part]]:
        return zip(self._whose, self.parts, strict=True)

    def _predicted(self, of: str) -> float:
        """Share of the squared residual that its mean over like readings predicts elsewhere."""
        feature = np.concatenate([part.features[of] for part in self.parts])
        left = self.left
        edges = np.unique(np.quantile(feature, np.linspace(0, 1, _BINS + 1)[1:-1]))
        bins = np.searchsorted(edges, feature)
        of_episode = np.repeat(np.arange(len(self.parts)), [len(p.left) for p in self.parts])
        error = np.empty_like(left)
        for e in range(len(self.parts)):
            mine = of_episode == e
            counts = np.bincount(bins[~mine], minlength=len(edges) + 1)
            sums = np.bincount(bins[~mine], left[~mine], minlength=len(edges) + 1)
            known = np.where(counts >= _FEWEST, sums / np.maximum(counts, 1), 0.0)
            error[mine] = left[mine] - known[bins[mine]]
        return 1.0 - float((error**2).sum() / (left**2).sum())


class _Part:
    """What is left of one joint in one recording, and what it may depend on.

    Attributes:
        known: (T,) which readings count.
        left: (m,) simulated less measured, of those.
        features: What it may depend on, by name: (m,) each.
    """

    def __init__(self, track: Track, episode: Episode, name: str, j: int) -> None:
        measured = np.asarray(track.measured[:, j], float)
        known = np.isfinite(measured) & np.isfinite(track.simulated[0, :, j])
        self.known = known & (track.age_s > _SETTLED_S)
        time, measured = track.time_s[self.known], measured[self.known]
        command = episode[COMMAND]
        bare = [column.removesuffix(".pos") for column in command.names]
        told = np.asarray(command.values[:, bare.index(name.removesuffix(".pos"))], float)
        speed = np.gradient(measured, time) if len(time) > 2 else np.zeros(len(time))
        self.left = track.simulated[0, self.known, j] - measured
        self.features = {
            "position": measured,
            "direction": np.sign(np.where(np.abs(speed) > 0.02, speed, 0.0)),
            "time": time - time[0] if len(time) else time,
            "load": np.interp(time, command.time_s, told) - measured,
        }
