"""Filters in a row: commands, readings or images pass through them world by world, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from trueup.effects import Array, Draws, Filter, Values
from trueup.streams import Streams


class Chain:
    """Filters applied one after the other, with their memories and random streams.

    Each filter draws from a stream of its own, so that leaving one out does not change what the
    others draw: worlds with and without an effect compare pair by pair.

    Args:
        filters: In order.
        n: Worlds.
        salt: Keeps this chain's draws apart from others with the same seeds.
    """

    def __init__(self, filters: Sequence[Filter], *, n: int, salt: int) -> None:
        self._links = [_Link(f, n, salt) for f in filters]

    def start(self, rows: np.ndarray, seeds: ArrayLike, x: Array, p: Values) -> None:
        """Forget what was in some worlds; `x` (len(rows), width) is the first signal there."""
        for link in self._links:
            link.start(rows, seeds, x, p)

    def apply(self, x: Array, p: Values, rows: np.ndarray | None = None) -> Array:
        """The signal as the filters leave it, in some worlds or in all. `x` stays as it is."""
        if not self._links:
            return x
        out = x.copy()
        for link in self._links:
            out[:, link.columns] = link.apply(out[:, link.columns].copy(), p, rows)
        return out


class _Link:
    """One filter with its stream and its memory."""

    def __init__(self, f: Filter, n: int, salt: int) -> None:
        self.filter, self.columns = f, _columns(f)
        name = f"{type(f).__module__}.{type(f).__qualname__}{f.columns}"
        self._salt = salt + 16 * crc32(name.encode())
        self._streams = Streams(np.zeros(n, np.uint64), salt=self._salt)
        self._memory: dict[str, Array] = {}

    def start(self, rows: np.ndarray, seeds: ArrayLike, x: Array, p: Values) -> None:
        self._streams.reseed(rows, Streams(seeds, salt=self._salt))
        self._keep(self.filter.start(x[:, self.columns], p), rows)

    def apply(self, x: Array, p: Values, rows: np.ndarray | None) -> Array:
        streams = self._streams if rows is None else self._streams.take(rows)
        draws = Draws(
            streams.normal(self.filter.normals) if self.filter.normals else _NONE,
            streams.uniform(self.filter.uniforms) if self.filter.uniforms else _NONE,
        )
        if rows is None:
            x, self._memory = self.filter.apply(x, p, self._memory, draws)
            return x
        self._streams.reseed(rows, streams)
        some = {key: values[rows] for key, values in self._memory.items()}
        x, some = self.filter.apply(x, p, some, draws)
        self._keep(some, rows)
        return x

    def _keep(self, some: dict[str, Array], rows: np.ndarray) -> None:
        """Write rows of the memory, without touching arrays that a filter may still hold."""
        for key, values in some.items():
            kept = self._memory.get(key)
            if kept is None:
                kept = np.zeros((len(self._streams), *values.shape[1:]), values.dtype)
            self._memory[key] = kept = kept.copy()
            kept[rows] = values


_NONE = np.zeros((0, 0))


def _columns(f: Filter) -> slice | np.ndarray:
    """Columns as a slice where they are neighbours: a view instead of a copy."""
    if f.columns is None:
        return slice(None)
    columns = np.asarray(f.columns)
    if len(columns) and (np.diff(columns) == 1).all():
        return slice(int(columns[0]), int(columns[-1]) + 1)
    return columns
