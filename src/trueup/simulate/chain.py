"""Filters in a row: commands, readings or images pass through them world by world, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from trueup.effects import Array, Draws, Filter, Values
from trueup.streams import Streams


class Chain:
    """Filters applied one after the other, with their memories and random streams.

    Args:
        filters: In order.
        width: Columns of the signal.
        n: Worlds.
        salt: Keeps this chain's draws apart from others with the same seeds.
    """

    def __init__(self, filters: Sequence[Filter], *, width: int, n: int, salt: int) -> None:
        self._filters = list(filters)
        self._columns = [_columns(f, width) for f in filters]
        self._memories: list[dict[str, Array]] = [{} for _ in filters]
        self._salt = salt
        self._streams = Streams(np.zeros(n, np.uint64), salt=salt)
        self._normals = sum(f.normals for f in filters)
        self._uniforms = sum(f.uniforms for f in filters)

    def start(self, ids: np.ndarray, seeds: ArrayLike, x: Array, p: Values) -> None:
        """Forget what was in some worlds; `x` (len(ids), width) is the first signal there."""
        self._streams.reseed(ids, Streams(seeds, salt=self._salt))
        for i, (f, columns) in enumerate(zip(self._filters, self._columns, strict=True)):
            fresh = f.start(x[:, columns], p)
            if len(ids) == p.n == len(self._streams):
                self._memories[i] = dict(fresh)
                continue
            for key, rows in fresh.items():
                kept = (
                    self._memories[i]
                    .setdefault(key, np.zeros((len(self._streams), *rows.shape[1:]), rows.dtype))
                    .copy()
                )
                kept[ids] = rows
                self._memories[i][key] = kept

    def apply(self, x: Array, p: Values) -> Array:
        """The signal (n, width) as the filters leave it. `x` stays as it is."""
        if not self._filters:
            return x
        normal = self._streams.normal(self._normals) if self._normals else _NONE
        uniform = self._streams.uniform(self._uniforms) if self._uniforms else _NONE
        out, at, to = x.copy(), 0, 0
        for i, (f, columns) in enumerate(zip(self._filters, self._columns, strict=True)):
            draws = Draws(normal[:, at : at + f.normals], uniform[:, to : to + f.uniforms])
            at, to = at + f.normals, to + f.uniforms
            out[:, columns], self._memories[i] = f.apply(
                out[:, columns], p, self._memories[i], draws
            )
        return out


_NONE = np.zeros((0, 0))


def _columns(f: Filter, width: int) -> slice | np.ndarray:
    """Columns as a slice where they are neighbours: a view instead of a copy."""
    if f.columns is None:
        return slice(0, width)
    columns = np.asarray(f.columns)
    if len(columns) and (np.diff(columns) == 1).all():
        return slice(int(columns[0]), int(columns[-1]) + 1)
    return columns
