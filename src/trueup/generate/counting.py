"""Statistics of many episodes at once, as LeRobot keeps them of each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.episodes.storage.stats import QUANTILES, Stats

_WHOLE = ("min", "max", *QUANTILES)  # whole numbers where the column holds whole numbers


def counted(columns: Mapping[str, np.ndarray], lengths: np.ndarray) -> Stats:
    """Statistics (n, size) of n episodes that follow each other in columns (frames, size).

    The numbers of `trueup.episodes` for each of them, from one sort of all columns together: a call
    for each column of each episode would take longer than the physics.
    """
    wide = np.concatenate([np.asarray(values, float) for values in columns.values()], axis=1)
    parts = [_of(part) for part in np.split(wide, np.cumsum(lengths)[:-1])]
    stacked = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    found, first = {}, 0
    for key, values in columns.items():
        last = first + values.shape[1]
        found[key] = {name: numbers[:, first:last] for name, numbers in stacked.items()}
        if values.dtype.kind in "bui":
            found[key] |= {name: found[key][name].astype(np.int64) for name in _WHOLE}
        found[key]["count"] = lengths[:, None].astype(np.int64)
        first = last
    return found


def spread(found: Stats, lengths: np.ndarray) -> Stats:
    """Statistics of all of them together, from those of each.

    Quantiles are the episodes' mean, weighted by length, as LeRobot has them.
    """
    share = (lengths / lengths.sum())[:, None]
    total: Stats = {}
    for key, values in found.items():
        mean = (share * values["mean"]).sum(axis=0)
        variance = (share * (values["std"] ** 2 + (values["mean"] - mean) ** 2)).sum(axis=0)
        total[key] = {
            "min": values["min"].min(axis=0),
            "max": values["max"].max(axis=0),
            "mean": mean,
            "std": np.sqrt(variance),
            "count": np.array([lengths.sum()]),
            **{q: (share * values[q]).sum(axis=0) for q in QUANTILES},
        }
    return total


def _of(wide: np.ndarray) -> dict[str, np.ndarray]:
    """Of one episode (k, all columns); nothing in it may be missing."""
    k, rising = len(wide), np.sort(wide, axis=0)
    at = [int(np.ceil(q * k)) - 1 for q in QUANTILES.values()]
    return {
        "min": rising[0],
        "max": rising[-1],
        "mean": wide.mean(axis=0),
        "std": wide.std(axis=0),
        **{name: rising[max(i, 0)] for name, i in zip(QUANTILES, at, strict=True)},
    }
