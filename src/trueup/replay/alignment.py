"""Two clocks that should be one: how far a signal lags another, and how fast that changes.

The lag comes from the shift at which the two signals fit best: first in whole readings over the
whole range, then between readings by Gauss and Newton. A lag of the model's own, such as a delay of
the bus that it does not have, looks exactly like a clock that is set wrong: the two are told apart
by other means, for instance by a `latency` parameter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from trueup.episodes import Channel, Episode
from trueup.episodes.episode import COMMAND
from trueup.errors import TrueupError

LONGEST_S = 0.5
"""Lags are looked for up to here, to either side."""

_STILL = 0.1  # of a signal's unit, from end to end: what moves less says nothing about time
_TURNS = 20
_PARTS = 8


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """How the clock of the measurements stands to that of the commands.

    A reading stamped t was taken at t - offset_s - drift · (t - since_s).

    Attributes:
        offset_s: Seconds that the stamps are late at `since_s`.
        drift: Seconds that they fall back further in each second.
        offset_std_s: How much of the offset is uncertain: what it changes by when eighths of the
            record are left out in turn (jackknife). Errors of the model count in here.
        drift_std: The same for the drift.
        since_s: Where the offset holds: the first reading.
        rmse_before: Of what moved, in shares of its standard deviation, as stamped.
        rmse_after: The same on the aligned clock.
    """

    offset_s: float
    drift: float
    offset_std_s: float
    drift_std: float
    since_s: float
    rmse_before: float
    rmse_after: float

    @property
    def told_apart(self) -> bool:
        """Whether offset or drift is more than three times its uncertainty."""
        offset = abs(self.offset_s) > 3.0 * self.offset_std_s
        return offset or abs(self.drift) > 3.0 * self.drift_std

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "told_apart": self.told_apart}


def alignment_of(
    time_s: np.ndarray,
    simulated: np.ndarray,
    measured: np.ndarray,
    *,
    drifts: bool = True,
    longest_s: float = LONGEST_S,
    still: float = _STILL,
) -> Alignment | None:
    """The offset, and the drift too if asked, at which two signals (m, size) fit best.

    Columns that hardly move are left out; none where none does.

    Args:
        time_s: (m,) their times, rising.
        simulated: What should have been measured.
        measured: What was; NaN where a reading is missing.
        drifts: Whether the clocks may run at different speeds.
        longest_s: The largest offset to look for.
        still: Columns that move less than this from end to end are left out.
    """
    fit = _Fit.of(time_s, simulated, measured, still)
    if fit is None:
        return None
    offset, drift = fit.refined(fit.coarse(longest_s), drifts=drifts)
    stds = fit.uncertainty(offset, drift, drifts=drifts)
    return Alignment(
        offset_s=offset,
        drift=drift,
        offset_std_s=stds[0],
        drift_std=stds[1],
        since_s=float(time_s[0]),
        rmse_before=fit.rmse(0.0, 0.0),
        rmse_after=fit.rmse(offset, drift),
    )


def lag_of(
    time_s: np.ndarray, simulated: np.ndarray, measured: np.ndarray, *, still: float = _STILL
) -> float | None:
    """Seconds by which a measured signal (m, size) comes after the simulated one."""
    fit = _Fit.of(time_s, simulated, measured, still)
    return None if fit is None else fit.refined(fit.coarse(LONGEST_S), drifts=False)[0]


def realigned(episode: Episode, alignment: Alignment) -> Episode:
    """The episode with its readings on the clock of its commands."""

    def moved(channel: Channel) -> Channel:
        late = alignment.offset_s + alignment.drift * (channel.time_s - alignment.since_s)
        return replace(channel, time_s=channel.time_s - late)

    if not abs(alignment.drift) < 0.5:
        raise TrueupError(
            f"A clock cannot run wrong by {100 * alignment.drift:.0f} %.",
            fix="Estimate the drift from a longer episode with more motion.",
        )
    signals = {
        name: channel if name == COMMAND else moved(channel)
        for name, channel in episode.signals.items()
    }
    return replace(episode, signals=signals)


class _Fit:
    """Columns that move, each in units of its standard deviation, as functions of time."""

    def __init__(self, time_s: np.ndarray, simulated: np.ndarray, measured: np.ndarray) -> None:
        self.time_s, self.measured = time_s, measured
        self.there = np.isfinite(measured)
        self.curve = CubicSpline(time_s, simulated)
        self.slope = self.curve.derivative()

    @staticmethod
    def of(
        time_s: np.ndarray, simulated: np.ndarray, measured: np.ndarray, still: float
    ) -> _Fit | None:
        rows = np.diff(time_s, prepend=-np.inf) > 0
        rows &= np.isfinite(simulated).all(axis=1)
        if rows.sum() < 8:
            return None
        x, y = simulated[rows], measured[rows]
        with np.errstate(all="ignore"):
            moves = (np.ptp(x, axis=0) > still) & (
                np.nanmax(np.where(np.isnan(y), -np.inf, y), axis=0)
                - np.nanmin(np.where(np.isnan(y), np.inf, y), axis=0)
                > still
            )
        if not moves.any():
            return None
        x, y = x[:, moves], y[:, moves]
        spread = x.std(axis=0)
        return _Fit(
            time_s[rows], (x - x.mean(axis=0)) / spread, (y - np.nanmean(y, axis=0)) / spread
        )

    def residual(self, offset: float, drift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Measured minus simulated (m, size), where both are there, and how the latter changes."""
        at = self.time_s - offset - drift * (self.time_s - self.time_s[0])
        inside = self.there & ((at >= self.time_s[0]) & (at <= self.time_s[-1]))[:, None]
        gap = _centred(self.measured - self.curve(at), inside)  # a constant is no lag
        return gap, np.where(inside, self.slope(at), 0.0), inside

    def rmse(self, offset: float, drift: float) -> float:
        gap, _, inside = self.residual(offset, drift)
        return float(np.sqrt((gap**2).sum() / max(inside.sum(), 1)))

    def coarse(self, longest_s: float) -> float:
        """The best offset in whole readings."""
        step = float(np.median(np.diff(self.time_s)))
        most = int(min(longest_s, 0.4 * (self.time_s[-1] - self.time_s[0])) / step)
        offsets = step * np.arange(-most, most + 1)
        return float(offsets[np.argmin([self.rmse(offset, 0.0) for offset in offsets])])

    def uncertainty(self, offset: float, drift: float, *, drifts: bool) -> tuple[float, float]:
        """Standard deviations of offset and drift, by the jackknife over parts of the record."""
        all_there, part = self.there, np.arange(len(self.time_s)) * _PARTS // len(self.time_s)
        found = []
        for k in range(_PARTS):
            self.there = all_there & (part != k)[:, None]
            found.append(self.refined(offset, drift, drifts=drifts))
        self.there = all_there
        stds = np.sqrt((_PARTS - 1) * np.var(found, axis=0))
        return float(stds[0]), float(stds[1])

    def refined(self, offset: float, drift: float = 0.0, *, drifts: bool) -> tuple[float, float]:
        """Gauss and Newton from there; a step that makes the fit worse is halved."""
        error = self.rmse(offset, drift)
        since = (self.time_s - self.time_s[0])[:, None]
        for _ in range(_TURNS):
            gap, slope, inside = self.residual(offset, drift)
            slopes = [slope, slope * since][: 1 + drifts]
            columns = [_centred(column, inside).ravel() for column in slopes]
            change, *_ = np.linalg.lstsq(-np.stack(columns, axis=1), gap.ravel(), rcond=None)
            step = np.append(change, 0.0)[:2]
            while np.abs(step).max() > 1e-9:
                tried = self.rmse(offset + step[0], drift + step[1])
                if tried < error:
                    break
                step = 0.5 * step
            else:
                break
            offset, drift, error = offset + float(step[0]), drift + float(step[1]), tried
        return offset, drift


def _centred(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Columns less their means, and 0 where nothing is known."""
    kept = np.where(inside, values, 0.0)
    return np.where(inside, kept - kept.sum(axis=0) / np.maximum(inside.sum(axis=0), 1), 0.0)
