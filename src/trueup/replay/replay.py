"""What a replay gives: simulated signals over measured ones, at the measured times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trueup.errors import UnknownName
from trueup.files import whole
from trueup.space import Points


@dataclass(frozen=True, kw_only=True)
class Track:
    """One signal of one episode, simulated at p points and measured once.

    Attributes:
        time_s: (m,) when it was measured, by the episode's clock.
        measured: (m, size) NaN where a reading is missing.
        simulated: (p, m, size) at the same times; NaN where the physics broke down.
        age_s: (m,) since the simulation last began at the measured state.
        unit: Of every column.
        names: Of each column.
    """

    time_s: np.ndarray
    measured: np.ndarray
    simulated: np.ndarray
    age_s: np.ndarray
    unit: str
    names: tuple[str, ...]

    @property
    def residual(self) -> np.ndarray:
        """(p, m, size) simulated minus measured."""
        return self.simulated - self.measured

    @property
    def rmse(self) -> np.ndarray:
        """(p, size) root mean square of the residual over what was measured."""
        with np.errstate(invalid="ignore"):
            square = self.residual**2
        square[:, np.isnan(self.measured)] = 0.0
        there = np.isfinite(self.measured).sum(axis=0)
        return np.sqrt(square.sum(axis=1) / np.where(there, there, np.nan))


@dataclass(frozen=True, kw_only=True)
class Replay:
    """E episodes again at p points.

    Attributes:
        world: The world's name.
        window_s: How often the simulation began anew at the measured state; none where only once.
        points: The points, p of them.
        tracks: Of each episode, its signals by name.
    """

    world: str
    window_s: float | None
    points: Points
    tracks: tuple[Mapping[str, Track], ...]

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals that any episode has, in the order of the first."""
        return tuple(dict.fromkeys(name for tracks in self.tracks for name in tracks))

    def residual(self, name: str) -> np.ndarray:
        """(p, k, size) simulated minus measured, all episodes that have the signal in a row."""
        return np.concatenate([track.residual for track in self._having(name)], axis=1)

    def rmse(self, name: str) -> np.ndarray:
        """(p, E, size) by point, episode and column."""
        return np.stack([track.rmse for track in self._having(name)], axis=1)

    def only(self, episode: int) -> Replay:
        """One of the episodes by itself."""
        return replace(self, tracks=(self.tracks[episode],))

    @property
    def broken(self) -> np.ndarray:
        """(p, E) whether the physics broke down in some of it."""
        return np.stack(
            [
                np.any([np.isnan(t.simulated).any(axis=(1, 2)) for t in tracks.values()], axis=0)
                for tracks in self.tracks
            ],
            axis=1,
        )

    def save(self, path: Path | str) -> None:
        """Write as a compressed .npz that numpy reads without trueup."""
        arrays: dict[str, np.ndarray] = {
            "world": np.array(self.world),
            "window_s": np.array(np.nan if self.window_s is None else self.window_s),
            "parameters": np.array(self.points.names, dtype=str),
            "points": self.points.values,
        }
        for e, tracks in enumerate(self.tracks):
            for name, track in tracks.items():
                for part in ("time_s", "age_s", "measured", "simulated"):
                    arrays[f"{e}/{name}/{part}"] = getattr(track, part)
                arrays[f"{e}/{name}/columns"] = np.array(track.names, dtype=str)
        with whole(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    def _having(self, name: str) -> list[Track]:
        found = [tracks[name] for tracks in self.tracks if name in tracks]
        if not found:
            raise UnknownName("signal in this replay", name, self.signals)
        return found
