"""What readings are worth: less than their number, where their errors hang together in time."""

from __future__ import annotations

import numpy as np

from trueup.identify.problem import Residual
from trueup.identify.target import Slopes
from trueup.identify.worth import together

_LEAST = 1e-6  # information along a direction, against the prior's: below it there is none


def independent(seen: Slopes, spread: np.ndarray) -> np.ndarray:
    """(d, d) covariance if the errors of all readings were independent."""
    slopes = seen.slopes * spread  # in units of the prior
    return _with_prior(slopes.T @ slopes) * np.outer(spread, spread)


def _with_prior(told: np.ndarray) -> np.ndarray:
    """(d, d) covariance in units of the prior, of which data tell so much (d, d).

    By its axes: none is told less than nothing, whatever rounding makes of readings without error.
    """
    information, vectors = np.linalg.eigh(0.5 * (told + told.T))
    narrow = vectors / np.sqrt(1.0 + np.maximum(information, 0.0))
    return narrow @ narrow.T


def hanging_together(seen: Slopes, here: Residual, spread: np.ndarray) -> np.ndarray:
    """(d, d) covariance with errors that hang together in time counted as what they are.

    Readings 20 ms apart are not independent evidence where the model itself is a little wrong. How
    much they tell follows from how their errors hang together (the sandwich of White and Huber);
    never more than if all were independent, and never so little that the prior is forgotten.

    Args:
        seen: Residuals and slopes, in units of the noise.
        here: Which column and episode each is of.
        spread: (d,) standard deviation of the prior.
    """
    slopes = seen.slopes * spread  # in units of the prior
    information, vectors = np.linalg.eigh(slopes.T @ slopes)
    information = np.maximum(information, _LEAST)
    axes = vectors / np.sqrt(information)
    scatter = axes.T @ _scatter(seen.values, slopes, here) @ axes
    inflation, turned = np.linalg.eigh(0.5 * (scatter + scatter.T))
    half = (vectors * np.sqrt(information)) @ turned
    told = (half / np.maximum(inflation, 1.0)) @ half.T
    return _with_prior(told) * np.outer(spread, spread)


def sensors_alone(
    seen: Slopes, here: Residual, spread: np.ndarray, given: np.ndarray
) -> np.ndarray:
    """(d, d) covariance if no error were left but what differs from one reading to the next.

    Args:
        seen: Residuals and slopes, in units of the noise.
        here: Which column each is of.
        spread: (d,) standard deviation of the prior.
        given: Parameters that are taken as known.
    """
    white = np.array([_white(seen.values[here.column == c]) for c in range(here.column.max() + 1)])
    slopes = seen.slopes / white[here.column][:, None]
    free = np.setdiff1d(np.arange(len(spread)), given)
    part = Slopes(values=seen.values, slopes=slopes[:, free])
    found = np.zeros((len(spread), len(spread)))
    found[np.ix_(free, free)] = independent(part, spread[free])
    return found


def inflation(values: np.ndarray, change: np.ndarray, here: Residual) -> float:
    """How many times less a change of readings tells than if all errors were independent.

    Args:
        values: (N,) what is left of the readings, in units of the noise.
        change: (N,) how another model would change that.
        here: Which column and episode each is of.
    """
    power = float(change @ change)
    return max(1.0, float(_scatter(values, change[:, None], here)[0, 0]) / power) if power else 1.0


def _white(values: np.ndarray) -> float:
    """Standard deviation of what differs from one reading to the next."""
    size = np.sqrt((np.diff(values, 2) ** 2).mean() / 6.0) if len(values) > 2 else 1.0
    return float(np.clip(size, 1e-3, 1.0))


def _scatter(values: np.ndarray, slopes: np.ndarray, here: Residual) -> np.ndarray:
    """(d, d) covariance of the score, errors of each column hanging together over some lags."""
    total = slopes.T @ slopes
    for column in np.unique(here.column):
        parts = [
            np.flatnonzero((here.column == column) & (here.episode == e))
            for e in np.unique(here.episode)
        ]
        lags = list(together([values[rows] for rows in parts]))
        for rows in parts:
            mine = slopes[rows]
            before = np.zeros_like(mine)
            for lag, share in lags:
                before[lag:] += share * mine[: max(len(mine) - lag, 0)]
            late = mine.T @ before
            total = total + late + late.T
    return total
