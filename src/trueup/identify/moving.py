"""When a column moves: what a joint at rest reads says little about what a fit leaves of it."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

_AROUND_S = 1.0
_SHARE = 0.02  # of a column's whole range: readings that change by less around a moment rest
_FEWEST = 50  # readings that move: with fewer, all count


def stir(values: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """(m,) by how much readings (m,) change around each, within a second."""
    if len(values) < 3:
        return np.zeros(len(values))
    period = float(np.median(np.diff(time_s)))
    size = int(np.clip(round(_AROUND_S / max(period, 1e-6)), 3, len(values)))
    return maximum_filter1d(values, size) - minimum_filter1d(values, size)


def moving(stirred: np.ndarray, values: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(N,) which readings are of a column that moves; all of a column that hardly ever does.

    Args:
        stirred: (N,) by how much readings change around each.
        values: (N,) the readings.
        column: (N,) whose they are.
    """
    found = np.ones(len(values), bool)
    for c in np.unique(column):
        mine = column == c
        moves = stirred[mine] > _SHARE * np.ptp(values[mine])
        if moves.sum() >= _FEWEST:
            found[mine] = moves
    return found
