"""How errors hang together in time, and so how many readings err as one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueup.identify.problem import Residual

_LAGS = 100  # readings over which errors may hang together, at most
_SHOWS = 2.0  # standard errors from which on a correlation counts as one


def lasting(residual: Residual) -> np.ndarray:
    """(columns,) how many readings of each column err as one, at the first point.

    One error that lasts for a second is one observation, however often it was read.
    """
    found = np.ones(int(residual.column.max()) + 1)
    for c in range(len(found)):
        mine = residual.column == c
        values, episode = residual.values[0, mine], residual.episode[mine]
        series = [values[episode == e] for e in np.unique(episode)]
        found[c] += 2.0 * sum(share for _, share in together(series))
    return found


def together(series: list[np.ndarray]) -> Iterator[tuple[int, float]]:
    """Lags up to where errors no longer hang together, and how much they do at each."""
    power, count = sum(float(x @ x) for x in series), sum(map(len, series))
    for lag in range(1, min(_LAGS, count // 4)):
        share = sum(float(x[lag:] @ x[: max(len(x) - lag, 0)]) for x in series) / (power + 1e-300)
        if not share >= _SHOWS / np.sqrt(count):
            return
        yield lag, share
