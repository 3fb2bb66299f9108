"""One row of `meta/episodes`: what LeRobot keeps about an episode, and what commits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.stats import Stats


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is to be known of one episode to find and use it.

    Attributes:
        index: Its number.
        begin: The frames before it.
        length: Its frames.
        task: In words.
        place: Of all its files.
        spans: By camera's key, where its frames begin and end in the video, in s.
        stats: Of its frames.
    """

    index: int
    begin: int
    length: int
    task: str
    place: Place
    spans: Mapping[str, tuple[float, float]]
    stats: Stats

    def table(self) -> pa.Table:
        """As LeRobot stores it."""
        cells: dict[str, Any] = {
            "episode_index": self.index,
            "tasks": [self.task],
            "length": self.length,
            **at("data", self.place),
            "dataset_from_index": self.begin,
            "dataset_to_index": self.begin + self.length,
        }
        for key, (begin, end) in self.spans.items():
            cells |= at(f"videos/{key}", self.place)
            cells |= {f"videos/{key}/from_timestamp": begin, f"videos/{key}/to_timestamp": end}
        columns = {name: pa.array([value]) for name, value in cells.items()}
        for key, stats in self.stats.items():
            columns |= {f"stats/{key}/{name}": _listed(value) for name, value in stats.items()}
        columns |= {name: pa.array([v]) for name, v in at("meta/episodes", self.place).items()}
        return pa.table(columns)


def at(kind: str, place: Place) -> dict[str, int]:
    """The two columns that say where something is."""
    return {f"{kind}/chunk_index": place.chunk, f"{kind}/file_index": place.file}


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with exactly these columns: LeRobot's reader wants all files alike."""
    if table.schema.equals(schema):
        return table
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def moved(table: pa.Table, place: Place, shifts: Mapping[str, np.ndarray]) -> pa.Table:
    """Rows whose files are now all at one place, their pictures later by so much, in s."""
    for name in ("data", "meta/episodes", *(f"videos/{key}" for key in shifts)):
        for column, value in at(name, place).items():
            table = _replaced(table, column, np.full(len(table), value))
    for key, shift in shifts.items():
        for end in ("from_timestamp", "to_timestamp"):
            name = f"videos/{key}/{end}"
            table = _replaced(table, name, table[name].to_numpy() + shift)
    return table


def _replaced(table: pa.Table, name: str, values: np.ndarray) -> pa.Table:
    i = table.schema.get_field_index(name)
    field = table.schema.field(i)
    return table.set_column(i, field, pa.array(values, field.type))


def _listed(values: np.ndarray) -> pa.Array:
    """One cell that holds an array of any depth."""
    kind = pa.int64() if values.dtype.kind in "iu" else pa.float64()
    for _ in range(values.ndim):
        kind = pa.list_(kind)
    return pa.array([values.tolist()], kind)
