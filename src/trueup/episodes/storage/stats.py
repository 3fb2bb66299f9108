"""Statistics as LeRobot keeps them: of each episode, and of all together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from trueup.episodes.storage import layout
from trueup.episodes.storage.info import read_json
from trueup.files import whole

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)

Stats = dict[str, dict[str, np.ndarray]]
"""By column and by name of the statistic; of pictures (3, 1, 1), from 0 to 1."""


def of_columns(columns: Mapping[str, np.ndarray]) -> Stats:
    """Statistics of columns (k, size). What is not a number is passed over, and not counted."""
    return {key: _of_numbers(values) for key, values in columns.items()}


def of_pictures(pictures: np.ndarray) -> dict[str, np.ndarray]:
    """Statistics of pictures (k, height, width, 3) uint8, by channel."""
    levels = np.arange(256) / 255.0
    counts = np.stack([np.bincount(pictures[..., c].ravel(), minlength=256) for c in range(3)])
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    below = np.cumsum(counts, axis=1)
    found = {
        "min": levels[np.argmax(counts > 0, axis=1)],
        "max": levels[255 - np.argmax(counts[:, ::-1] > 0, axis=1)],
        "mean": mean,
        "std": np.sqrt(np.maximum(share @ levels**2 - mean**2, 0.0)),
    }
    for name, q in QUANTILES.items():
        found[name] = levels[(below >= np.ceil(q * below[:, -1:])).argmax(axis=1)]
    shaped = {name: values.reshape(3, 1, 1) for name, values in found.items()}
    return {**shaped, "count": np.array([len(pictures)])}


def sampled(k: int) -> np.ndarray:
    """Which of k pictures to look at: all of few, about k^0.75 of many, as LeRobot does."""
    return np.unique(np.round(np.linspace(0, k - 1, min(k, max(100, int(k**0.75))))).astype(int))


def together(parts: Iterable[Stats]) -> Stats:
    """Statistics of everything, from those of the parts.

    Extremes, mean and deviation are exact. Quantiles cannot be had that way: they are the parts'
    mean, weighted by count, as in LeRobot.
    """
    total: Stats = {}
    for part in parts:
        for key, values in part.items():
            total[key] = _joined(total[key], values) if key in total else values
    return total


def read(folder: Path) -> Stats | None:
    """`meta/stats.json`; none where it is not there."""
    path = folder / layout.STATS
    if not path.is_file():
        return None
    stored = read_json(path)
    return {key: {n: np.array(v) for n, v in values.items()} for key, values in stored.items()}


def write(folder: Path, stats: Stats) -> None:
    """Write `meta/stats.json`, whole or not at all.

    It is not waited for until it is on the disk: after a power cut the rows of the episodes tell.
    """
    plain = {key: {n: v.tolist() for n, v in values.items()} for key, values in stats.items()}
    with whole(folder / layout.STATS) as partial:
        partial.write_text(json.dumps(plain), encoding="utf-8")


def _of_numbers(values: np.ndarray) -> dict[str, np.ndarray]:
    # LeRobot counts in whole numbers where the column does, and truth values as whole numbers
    numbers = values.astype(np.int64) if values.dtype.kind in "bui" else values.astype(float)
    finite = np.isfinite(numbers)
    if not finite.all():
        numbers = np.where(finite, numbers, np.nan)
        if (~finite).all(axis=0).any():
            numbers = np.where((~finite).all(axis=0), 0.0, numbers)
    with_nan = not finite.all()
    quantile = np.nanquantile if with_nan else np.quantile
    mean, std = (np.nanmean, np.nanstd) if with_nan else (np.mean, np.std)
    low, high = (np.nanmin, np.nanmax) if with_nan else (np.min, np.max)
    found = {
        "min": low(numbers, axis=0),
        "max": high(numbers, axis=0),
        "mean": mean(numbers, axis=0),
        "std": std(numbers, axis=0),
        "count": np.array([len(numbers)]),
    }
    rows = quantile(numbers, list(QUANTILES.values()), axis=0, method="inverted_cdf")
    return {**found, **dict(zip(QUANTILES, rows, strict=True))}


def _joined(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    n, m = int(a["count"][0]), int(b["count"][0])
    share = m / max(n + m, 1)
    mean = a["mean"] + share * (b["mean"] - a["mean"])
    variance = (1 - share) * (a["std"] ** 2 + (a["mean"] - mean) ** 2)
    variance = variance + share * (b["std"] ** 2 + (b["mean"] - mean) ** 2)
    quantiles = {q: a[q] + share * (b[q] - a[q]) for q in QUANTILES if q in a and q in b}
    return {
        "min": np.minimum(a["min"], b["min"]),
        "max": np.maximum(a["max"], b["max"]),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": np.array([n + m]),
        **quantiles,
    }
