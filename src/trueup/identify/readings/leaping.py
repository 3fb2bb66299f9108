"""Noise of sensors that never rest: what leaps from reading to reading while everything moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from trueup.episodes import Channel, Episode
from trueup.identify.allan import Strength
from trueup.identify.readings.still import nothing

_ORDERS = (4, 8)  # of differences: what is smooth drops out of them
_WHITE = 0.75  # as much is left of white noise in both, or nearly; of what only moves fast, less
_LEAST = 200
_ALONE = 0.25  # of its power: as much may other sensors tell of noise, by chance
_ROUGHLY, _FEW = 0.1, 4.0  # of a strength: how well readings tell it, and times 1 / √n
_LAGS = (-1, 0, 1)


def leaping(episodes: Sequence[Episode], signal: str, column: int, quantum: float) -> Strength:
    """White noise of a column of a signal, from motion alone.

    Differences of differences of white noise grow as those of nothing else do. Where the other
    signals of the same joint leap along with it, or it is smoother than noise, that is no noise: it
    is then at most so much.
    """
    having = [episode for episode in episodes if signal in episode.signals]
    unit = having[0][signal].unit if having else ""
    parts = [_column(episode[signal], column) for episode in having]
    readings = sum(map(len, parts))
    if readings < _LEAST:
        return nothing(unit, f"{readings} readings are too few to hear noise in motion.")
    rough, fine = (_size(parts, order) for order in _ORDERS)
    if fine <= 0.5 * quantum:
        return nothing(unit, "In motion it leaps by less than its steps.")
    unsure = _ROUGHLY + _FEW / readings**0.5
    told = _told([_leaps_with(episode, signal, column) for episode in having])
    if fine < _WHITE * rough or told > _ALONE:
        return Strength(
            value=0.0,
            low=0.0,
            high=(1.0 + unsure) * fine,
            unit=unit,
            seen=False,
            sentence="In motion it leaps no more than this, and not as noise does.",
        )
    value = float(np.sqrt(max((1.0 - told) * fine**2 - quantum**2 / 12.0, 0.0)))
    return Strength(
        value=value,
        low=(1.0 - unsure) * value,
        high=(1.0 + unsure) * value,
        unit=unit,
        seen=value > 0.0,
        sentence=f"From {readings:,} readings in motion, by how they leap.",
    )


def _column(channel: Channel, column: int) -> np.ndarray:
    values = np.asarray(channel.values[:, column], float)
    return values[np.isfinite(values)]


def _size(parts: Sequence[np.ndarray], order: int) -> float:
    """Of the white noise that differences of an order come from."""
    leaps = np.abs(np.concatenate([np.diff(part, order) for part in parts]))
    return float(np.median(leaps) / (0.6745 * comb(2 * order, order) ** 0.5))


def _leaps_with(episode: Episode, signal: str, column: int) -> tuple[np.ndarray, np.ndarray]:
    """(m,) leaps of a column, and (m, k) those of the same joint in other signals around then."""
    own = np.asarray(episode[signal].values[:, column], float)
    joint = episode[signal].names[column].removesuffix("_force")
    others = [
        np.asarray(channel.values[:, k], float)
        for name, channel in episode.signals.items()
        if name != signal and name.startswith("joint_") and len(channel) == len(own)
        for k, of in enumerate(channel.names)
        if of.removesuffix("_force") == joint
    ]
    order = _ORDERS[0]
    y = np.diff(own, order)
    x = [np.roll(np.diff(other, order), lag) for other in others for lag in _LAGS]
    x = np.stack(x, axis=1) if x else np.zeros((len(y), 0))
    whole = np.isfinite(y) & np.isfinite(x).all(axis=1)
    return y[whole], x[whole]


def _told(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """How much of its power other signals tell, as a share of 1; stick and slip do not count."""
    y = np.concatenate([pair[0] for pair in pairs])
    x = np.concatenate([pair[1] for pair in pairs])
    if not x.shape[1] or not y.any():
        return 0.0
    usual = np.abs(y) < 4.0 * np.median(np.abs(y)) / 0.6745
    y, x = y[usual], x[usual]
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(1.0 - left.var() / max(y.var(), 1e-300))
