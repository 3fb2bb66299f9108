"""Parquet files that are written whole and read in parts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trueup.episodes.storage.files import durable
from trueup.errors import TrueupError

_OPEN = 4  # files kept open by a reader


class Damaged(TrueupError):
    """A file that is not what its name says."""

    def __init__(self, path: Path, why: object) -> None:
        text = str(why).strip().rstrip(".").splitlines()[0] if str(why).strip() else "no reason"
        super().__init__(
            f"{path} cannot be read: {text}.",
            fix="Take the file again from where the dataset was made.",
        )


class Missing(TrueupError):
    """A file that the dataset refers to and that is not there."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is missing, though the dataset refers to it.",
            fix="Take the file again from where the dataset was made.",
        )


def write_groups(path: Path, groups: Iterable[pa.Table]) -> None:
    """Write a file with one row group for each table, so that each can be read alone."""
    writer: pq.ParquetWriter | None = None
    with durable(path) as partial:
        try:
            for group in groups:
                writer = writer or pq.ParquetWriter(partial, group.schema, compression="snappy")
                if not group.schema.equals(writer.schema):
                    group = group.cast(writer.schema)
                writer.write_table(group, row_group_size=max(len(group), 1))
        finally:
            if writer is not None:
                writer.close()


def read_rows(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A whole file, or some columns of it."""
    try:
        file = pq.ParquetFile(path)
        with file:
            there = set(file.schema_arrow.names)
            kept = None if columns is None else [name for name in columns if name in there]
            return file.read(columns=kept)
    except FileNotFoundError:
        raise Missing(path) from None
    except (pa.ArrowException, OSError) as error:
        raise Damaged(path, error) from error


def schema_of(path: Path) -> pa.Schema:
    """The columns of a file, without reading them."""
    try:
        return pq.read_schema(path)
    except FileNotFoundError:
        raise Missing(path) from None
    except (pa.ArrowException, OSError) as error:
        raise Damaged(path, error) from error


def row_count(path: Path) -> int:
    """How many rows a file has, from its last bytes alone."""
    try:
        return pq.read_metadata(path).num_rows
    except FileNotFoundError:
        raise Missing(path) from None
    except (pa.ArrowException, OSError) as error:
        raise Damaged(path, error) from error


class Tables:
    """Reads the rows of one episode out of large files; keeps the last few files open."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple, _Groups] = OrderedDict()

    def episode(self, path: Path, index: int) -> pa.Table:
        """The rows of an episode, in the order of the file; none where it is not in there."""
        try:
            return self._groups(path).rows(index)
        except FileNotFoundError:
            raise Missing(path) from None
        except (pa.ArrowException, OSError) as error:
            raise Damaged(path, error) from error

    def close(self) -> None:
        """Let go of all files."""
        while self._open:
            self._open.popitem()[1].file.close()

    def _groups(self, path: Path) -> _Groups:
        state = path.stat()
        key = (path, state.st_ino, state.st_mtime_ns, state.st_size)
        if key in self._open:
            self._open.move_to_end(key)
        else:
            self._open[key] = _Groups(path)
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)[1].file.close()
        return self._open[key]


class _Groups:
    """A file, and which episodes each of its row groups may hold."""

    def __init__(self, path: Path) -> None:
        self.file = pq.ParquetFile(path, pre_buffer=False)
        names = self.file.schema_arrow.names
        if "episode_index" not in names:
            raise Damaged(path, "it has no column 'episode_index'")
        self._spans = np.array([self._span(g) for g in range(self.file.num_row_groups)])

    def _span(self, group: int) -> tuple[float, float]:
        meta = self.file.metadata.row_group(group)
        for i in range(meta.num_columns):
            column = meta.column(i)
            if column.path_in_schema == "episode_index":
                known = column.statistics
                if known is not None and known.has_min_max:
                    return known.min, known.max
        return -np.inf, np.inf

    def rows(self, index: int) -> pa.Table:
        near = np.zeros(0, int)
        if len(self._spans):
            near = np.flatnonzero((self._spans[:, 0] <= index) & (index <= self._spans[:, 1]))
        table = self.file.read_row_groups(near.tolist(), use_threads=False)
        exact = (self._spans[near] == index).all() if len(near) else True
        if exact:
            return table
        return table.filter(pa.array(table["episode_index"].to_numpy() == index))


def column(table: pa.Table, name: str, size: int, *, where: str) -> np.ndarray:
    """(k, size) one column as numbers, whether it holds single ones or lists."""
    if name not in table.column_names:
        raise TrueupError(
            f"{where} has no column {name!r}, which meta/info.json declares; it has "
            f"{', '.join(table.column_names)}.",
            fix="Take the dataset again from where it was made, or declare what is there.",
        )
    values = table[name].combine_chunks()
    nulls = values.null_count
    while pa.types.is_list(values.type) or _is_list(values.type):
        values = values.flatten()
        nulls += values.null_count
    if nulls:
        raise TrueupError(
            f"{where} has {nulls} empty cells in its column {name!r}.",
            fix="Fill them, or leave the episode out.",
        )
    numbers = values.to_numpy(zero_copy_only=False)
    if len(numbers) != len(table) * size:
        raise TrueupError(
            f"{where} has {len(numbers)} numbers in the {len(table)} rows of its column {name!r}; "
            f"meta/info.json declares {size} for each row.",
            fix="Take the dataset again from where it was made, or declare what is there.",
        )
    return numbers.reshape(len(table), size)


def listed(values: np.ndarray) -> pa.Array:
    """A column (k, size) as LeRobot stores it: single numbers where the size is 1."""
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return (
        flat if values.shape[1] == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    )


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
