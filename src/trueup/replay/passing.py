"""Whole signals through the filters of a point: what a bus or a sensor does to them on the way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueup.effects import Filter, Values
from trueup.simulate.chain import Chain
from trueup.space import Points
from trueup.worlds import Compiled


def passed(
    filters: Sequence[Filter],
    compiled: Compiled,
    points: Points,
    x: np.ndarray,
    first: np.ndarray,
    *,
    before: np.ndarray,
    seeds: np.ndarray,
    salt: int,
) -> np.ndarray:
    """Signals of several episodes as filters leave them at each point, reading by reading.

    Args:
        filters: In order.
        compiled: Whose parameters.
        points: p of them.
        x: (p or 1, k, width) the signals of all episodes in a row.
        first: (E + 1,) where each episode begins in it.
        before: (p or 1, E, width) what was there before the first.
        seeds: (E,)
        salt: Keeps these draws apart from others.

    Returns:
        (p, k, width)
    """
    p, episodes, width = len(points), len(first) - 1, x.shape[2]
    rows = np.arange(p * episodes)
    each = Points(points.names, np.repeat(points.values, episodes, axis=0))
    values = Values.at(each, compiled.nominal)
    chain = Chain(filters, n=len(rows), salt=salt)
    begin = np.broadcast_to(before, (p, episodes, width)).reshape(-1, width)
    chain.start(rows, np.tile(seeds, p), begin, values)
    signal = np.broadcast_to(x, (p, *x.shape[1:]))
    out, lengths = signal.copy(), np.diff(first)
    for k in range(int(lengths.max())):
        at = first[:-1] + np.minimum(k, lengths - 1)
        now = chain.apply(signal[:, at].reshape(-1, width), values).reshape(p, episodes, width)
        going = k < lengths
        out[:, at[going]] = now[:, going]
    return out
