"""How well a simulation follows a record, in numbers per joint and over all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueup.replay.alignment import lag_of
from trueup.replay.replay import Track

_STILL = {"rad": 0.03, "rad/s": 0.3, "N·m": 0.1, "m": 0.01, "m/s": 0.05, "1": 0.02}
"""What moves less from end to end has no correlation and no lag worth the name, by unit."""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Simulated against measured.

    Attributes:
        rmse: Root mean square of simulated minus measured.
        mae: Mean of its absolute value.
        mean: Mean; what a wrong zero leaves behind.
        worst: The largest absolute value.
        correlation: Of the two, each about its mean; none where one hardly moves.
        lag_s: Seconds by which the measured signal comes after the simulated one; none likewise.
        readings: How many were compared.
    """

    rmse: float | None
    mae: float | None
    mean: float | None
    worst: float | None
    correlation: float | None
    lag_s: float | None
    readings: int


@dataclass(frozen=True, kw_only=True)
class SignalErrors:
    """The errors of one signal of one episode.

    Attributes:
        unit: Of rmse, mae, mean and worst.
        columns: By column, such as a joint.
        overall: All columns together.
    """

    unit: str
    columns: Mapping[str, Errors]
    overall: Errors

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def errors_of(track: Track, point: int = 0) -> SignalErrors:
    """The errors of a track at one of its points."""
    simulated, measured = track.simulated[point], track.measured
    still = _STILL.get(track.unit, 0.0)

    def over(columns: slice) -> Errors:
        return _errors(track.time_s, simulated[:, columns], measured[:, columns], still)

    return SignalErrors(
        unit=track.unit,
        columns={name: over(slice(i, i + 1)) for i, name in enumerate(track.names)},
        overall=over(slice(None)),
    )


def _errors(
    time_s: np.ndarray, simulated: np.ndarray, measured: np.ndarray, still: float
) -> Errors:
    there = np.isfinite(simulated) & np.isfinite(measured)
    if not there.any():
        nothing = dict.fromkeys(("rmse", "mae", "mean", "worst", "correlation", "lag_s"))
        return Errors(**nothing, readings=0)
    gap = (simulated - measured)[there]
    return Errors(
        rmse=float(np.sqrt(np.mean(gap**2))),
        mae=float(np.mean(np.abs(gap))),
        mean=float(np.mean(gap)),
        worst=float(np.max(np.abs(gap))),
        correlation=_correlation(simulated, measured, there, still),
        lag_s=lag_of(time_s, simulated, measured, still=still),
        readings=int(there.sum()),
    )


def _correlation(
    simulated: np.ndarray, measured: np.ndarray, there: np.ndarray, still: float
) -> float | None:
    """Of the columns that move, each about its own mean."""
    x, y = (np.where(there, values, np.nan) for values in (simulated, measured))
    some = there.any(axis=0)
    moves = np.zeros_like(some)
    moves[some] = np.nanmax(x[:, some], axis=0) - np.nanmin(x[:, some], axis=0) > still
    moves[some] &= np.nanmax(y[:, some], axis=0) - np.nanmin(y[:, some], axis=0) > still
    if not moves.any():
        return None
    x, y = (v[:, moves] - np.nanmean(v[:, moves], axis=0) for v in (x, y))
    return float(np.nansum(x * y) / np.sqrt(np.nansum(x**2) * np.nansum(y**2)))
