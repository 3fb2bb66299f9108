"""How long a joint moves on after its command has come to rest, simulated and measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.episodes import Channel
from trueup.replay.replay import Track

STEP = 0.05
"""A command that moves by at least this much from one rest to the next is a step, rad."""
_SHARE, _TICKS = 0.05, 0.004  # the band about the rest: 5 % of the step, but no less than 2 ticks
_HELD_S = 0.3  # a step counts only if the command then rests for this long
_REST = 0.2  # the last part of the time to the next command shows where the joint came to rest


@dataclass(frozen=True, kw_only=True)
class Settling:
    """Steps of one joint, fast or slow, each after a rest and followed by one.

    Times are from when the command rests until the joint stays within 5 % of the step about where
    it comes to rest itself; each is the median over the steps.

    Attributes:
        steps: How many.
        simulated_s: In the simulation.
        measured_s: In the record.
        rest_error: Simulated minus measured place of rest, in the median, rad.
    """

    steps: int
    simulated_s: float
    measured_s: float
    rest_error: float

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def settling_of(commands: Channel, track: Track, point: int = 0) -> dict[str, Settling]:
    """By joint, for the joints whose command had steps after which it rested."""
    found = {}
    for column, name in enumerate(track.names):
        if name not in commands.names:
            continue
        told = commands.values[:, commands.names.index(name)]
        steps = [
            step
            for begin, end, size in _steps(commands.time_s, told)
            if (step := _measured(track, column, point, begin, end, size)) is not None
        ]
        if steps:
            simulated, measured, rest = np.median(np.array(steps), axis=0)
            found[name] = Settling(
                steps=len(steps),
                simulated_s=float(simulated),
                measured_s=float(measured),
                rest_error=float(rest),
            )
    return found


def _steps(time_s: np.ndarray, told: np.ndarray) -> list[tuple[float, float, float]]:
    """When the command came to each rest, when it moved on, and how far it had moved before."""
    moves = np.flatnonzero(np.abs(np.diff(told)) > 1e-9)
    begins = np.concatenate([[0], moves + 1])
    ends = np.concatenate([moves, [len(told) - 1]])
    rests = time_s[ends] - time_s[begins] >= _HELD_S
    begins, ends = begins[rests], ends[rests]
    sizes = np.abs(np.diff(told[begins]))
    return [
        (float(time_s[begin]), float(time_s[end]), float(size))
        for begin, end, size in zip(begins[1:], ends[1:], sizes, strict=True)
        if size >= STEP
    ]


def _measured(
    track: Track, column: int, point: int, begin: float, end: float, size: float
) -> tuple[float, float, float] | None:
    """Seconds to rest of the simulation and of the record, and how far the rests lie apart."""
    inside = (track.time_s >= begin) & (track.time_s <= end)
    values = np.stack([track.simulated[point, inside, column], track.measured[inside, column]])
    if inside.sum() < 5 or not np.isfinite(values).all():
        return None
    time_s, band = track.time_s[inside], max(_SHARE * size, _TICKS)
    last = time_s >= end - _REST * (end - begin)
    rest = np.median(values[:, last], axis=1)
    outside = np.abs(values - rest[:, None]) > band
    count = outside.shape[1]
    # the reading after the last one that is outside
    after = np.where(outside.any(axis=1), count - np.argmax(outside[:, ::-1], axis=1), 0)
    seconds = time_s[np.minimum(after, count - 1)] - begin
    return float(seconds[0]), float(seconds[1]), float(rest[0] - rest[1])
