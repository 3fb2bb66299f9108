"""What pictures of a replay show: each column of a signal, simulated over measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.replay.metrics import errors_of
from trueup.replay.replay import Track

MEASURED, SIMULATED, TOLD, REST = "#1f2328", "#1f6feb", "#afb8c1", "#cf222e"
KEY = {"measured": MEASURED, "simulated": SIMULATED, "command": TOLD, "simulated - measured": REST}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One column over time.

    Attributes:
        title: Its name, and how far the two lie apart.
        unit: Of all that follows.
        time_s: (m,)
        measured: (m,)
        simulated: (m,)
        told_s: (c,) when commands were sent; none where there are none for this column.
        told: (c,)
    """

    title: str
    unit: str
    time_s: np.ndarray
    measured: np.ndarray
    simulated: np.ndarray
    told_s: np.ndarray
    told: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """(m,) simulated minus measured."""
        return self.simulated - self.measured


def panels_of(
    episode: Episode,
    tracks: Mapping[str, Track],
    signals: Sequence[str] | None = None,
    *,
    point: int = 0,
) -> list[Panel]:
    """A panel for each column of some signals, or of the first one that was compared."""
    chosen = list(signals) if signals is not None else [main_signal(tracks)]
    found = []
    for name in chosen:
        track = tracks[name]
        errors = errors_of(track, point).columns
        for column, joint in enumerate(track.names):
            told_s, told = _told(episode[COMMAND], joint) if name == JOINTS else _NOTHING
            rmse = errors[joint].rmse
            apart = "the physics broke down" if rmse is None else f"RMSE {rmse:.2g} {track.unit}"
            found.append(
                Panel(
                    title=f"{joint if name == JOINTS else f'{name} {joint}'}   {apart}",
                    unit=track.unit,
                    time_s=track.time_s - track.time_s[0],
                    measured=track.measured[:, column],
                    simulated=track.simulated[point, :, column],
                    told_s=told_s - track.time_s[0],
                    told=told,
                )
            )
    return found


def main_signal(tracks: Mapping[str, Track]) -> str:
    """The signal that a single number or picture is about: where the joints are, if compared."""
    return JOINTS if JOINTS in tracks else next(iter(tracks))


_NOTHING = np.zeros(0), np.zeros(0)


def _told(commands: Channel, joint: str) -> tuple[np.ndarray, np.ndarray]:
    if joint not in commands.names:
        return _NOTHING
    return commands.time_s, commands.values[:, commands.names.index(joint)]
