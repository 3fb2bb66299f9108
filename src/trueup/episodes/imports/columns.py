"""Columns of numbers out of CSV and npz files, with the place of whatever is not one."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trueup.errors import TrueupError, suggestion


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Some columns of one file.

    Attributes:
        path: The file.
        values: (k, size) by column.
        lines: (k,) the line, or row, in which each was.
    """

    path: Path
    values: Mapping[str, np.ndarray]
    lines: np.ndarray


def read_columns(
    path: Path,
    names: Sequence[str],
    *,
    where: Mapping[str, str],
    delimiter: str,
    keep_missing: bool,
) -> Columns:
    """Read columns by name; their order in the file does not matter."""
    if not path.is_file():
        raise TrueupError(f"{path} is missing.", fix="The mapping names it: check both.")
    try:
        if path.suffix == ".npz":
            found = _from_npz(path, names)
        else:
            found = _from_csv(path, names, where, delimiter)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise TrueupError(
            f"{path} cannot be read to its end: {error}.",
            fix="It is damaged or cut off: copy it again.",
        ) from error
    if not keep_missing:
        _check_finite(found)
    return found


def _from_npz(path: Path, names: Sequence[str]) -> Columns:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            _check_names(path, names, list(arrays), "array")
            read = {name: np.asarray(arrays[name]) for name in names}
    except ValueError as error:
        raise TrueupError(
            f"{path} cannot be read: {error}.", fix="Save plain arrays of numbers with numpy.savez."
        ) from error
    values = {}
    for name, array in read.items():
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2):
            raise TrueupError(
                f"The array {name!r} in {path} has the shape {array.shape} and the type "
                f"{array.dtype}.",
                fix="Save numbers as (rows,) or (rows, columns).",
            )
        values[name] = array.reshape(len(array), -1).astype(float)
    counts = {name: len(array) for name, array in values.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name!r} {count}" for name, count in counts.items())
        raise TrueupError(
            f"The arrays in {path} have different numbers of rows: {told}.",
            fix="Map signals that share one clock from one file.",
        )
    return Columns(path=path, values=values, lines=np.arange(max(counts.values(), default=0)))


def _from_csv(
    path: Path, names: Sequence[str], where: Mapping[str, str], delimiter: str
) -> Columns:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter)
        header = [cell.strip() for cell in next(reader, [])]
        _check_names(path, [*names, *where], header, "column")
        chosen = [header.index(name) for name in names]
        tests = [(header.index(name), wanted) for name, wanted in where.items()]
        lines, rows = [], []
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise TrueupError(
                    f"{path} line {reader.line_num} has {len(row)} cells, its header "
                    f"{len(header)}.",
                    fix="The file is cut off there, or a cell holds the delimiter unquoted.",
                )
            if all(row[i].strip() == wanted for i, wanted in tests):
                lines.append(reader.line_num)
                rows.append([row[i] for i in chosen])
    values = {
        name: _parsed(path, name, [row[i] for row in rows], lines) for i, name in enumerate(names)
    }
    return Columns(path=path, values=values, lines=np.array(lines, int))


def _parsed(path: Path, name: str, cells: list[str], lines: list[int]) -> np.ndarray:
    """(k, size) a column of numbers, or of lists of numbers."""
    found, size = [], None
    for line, cell in zip(lines, cells, strict=True):
        try:
            numbers = _numbers(cell)
        except ValueError:
            raise TrueupError(
                f"{path} line {line}, column {name!r}: {_short(cell)} is not a number or a list of "
                "numbers.",
                fix="Mend the cell, or leave its rows out with `where`.",
            ) from None
        size = len(numbers) if size is None else size
        if len(numbers) != size:
            raise TrueupError(
                f"{path} line {line}, column {name!r}: {len(numbers)} numbers, {size} in the rows "
                "before.",
                fix="The file may be cut off there.",
            )
        found.append(numbers)
    return np.array(found, float).reshape(len(found), size or 1)


def _numbers(cell: str) -> list[float]:
    text = cell.strip()
    if text.startswith("["):
        return [
            float("nan") if x is None else float(x) for x in json.loads(text.replace("nan", "null"))
        ]
    return [float(text) if text else float("nan")]


def _check_names(path: Path, names: Sequence[str], there: list[str], what: str) -> None:
    for name in names:
        if name not in there:
            raise TrueupError(
                f"{path} has no {what} {name!r}.",
                fix=f"{suggestion(name, there)} It has: {', '.join(there) or 'nothing'}.",
            )
    twice = [name for name in names if there.count(name) > 1]
    if twice:
        raise TrueupError(f"{path} has two columns {twice[0]!r}.", fix="Rename one of them.")


def _check_finite(found: Columns) -> None:
    for name, values in found.values.items():
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, entry = bad[0]
            place = "row" if found.path.suffix == ".npz" else "line"
            inside = f", entry {entry}" if values.shape[1] > 1 else ""
            raise TrueupError(
                f"{found.path} {place} {found.lines[row]}, column {name!r}{inside}: no finite "
                f"number there, nor in {len(bad) - 1} more of its cells.",
                fix='Mend the file, or write missing = "keep" in the mapping to keep them as lost.',
            )


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:37]}...")
