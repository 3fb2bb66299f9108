"""A replayed episode in a few numbers, for tables and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trueup.episodes import Episode
from trueup.episodes.episode import COMMAND
from trueup.replay.alignment import Alignment, alignment_of
from trueup.replay.metrics import SignalErrors, errors_of
from trueup.replay.pictures.panels import main_signal
from trueup.replay.replay import Track
from trueup.replay.settling import Settling, settling_of

_KINDS = {True: "real", False: "sim-to-sim", None: "of unknown origin"}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How well a simulation followed one episode at one point.

    Attributes:
        kind: `real`, `sim-to-sim`, or `of unknown origin` where the record does not say.
        duration_s: Of the record.
        main: The signal that a single number is about.
        signals: Errors of each signal that was compared.
        settling: By joint, after steps of its command.
        alignment: How the clock of its readings seems to stand to that of its commands; none where
            nothing moves, or the physics broke down.
    """

    kind: str
    duration_s: float
    main: str
    signals: Mapping[str, SignalErrors]
    settling: Mapping[str, Settling]
    alignment: Alignment | None

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "duration_s": self.duration_s,
            "main": self.main,
            "signals": {name: errors.to_json() for name, errors in self.signals.items()},
            "settling": {joint: found.to_json() for joint, found in self.settling.items()},
            "alignment": None if self.alignment is None else self.alignment.to_json(),
        }


def summary_of(episode: Episode, tracks: Mapping[str, Track], point: int = 0) -> Summary:
    """The tracks of an episode at one of the points, in a few numbers."""
    main = main_signal(tracks)
    track = tracks[main]
    return Summary(
        kind=_KINDS.get(episode.origin.get("real"), _KINDS[None]),
        duration_s=episode.duration_s,
        main=main,
        signals={name: errors_of(t, point) for name, t in tracks.items()},
        settling=settling_of(episode[COMMAND], track, point),
        alignment=alignment_of(track.time_s, track.simulated[point], track.measured),
    )
