"""`meta/tasks.parquet`: every task text once, by its number."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from trueup.episodes.storage import layout, tables
from trueup.episodes.storage.committed import read_lines

_INDEX = "__index_level_0__"


def read(folder: Path) -> dict[int, str]:
    """Text by number, of either layout; nothing where there is no file."""
    if (folder / "meta/tasks.jsonl").is_file():
        lines = read_lines(folder / "meta/tasks.jsonl")
        return {int(line["task_index"]): str(line["task"]) for line in lines}
    path = folder / layout.TASKS
    if not path.is_file():
        return {}
    table = tables.read_rows(path)
    texts = [f.name for f in table.schema if not pa.types.is_integer(f.type)]
    if "task_index" not in table.column_names or not texts:
        raise tables.Damaged(path, "it needs a column 'task_index' and one of texts")
    numbers = table["task_index"].to_pylist()
    return dict(zip(numbers, table[texts[0]].to_pylist(), strict=True))


def write(folder: Path, texts: list[str]) -> None:
    """Write the file so that pandas, and LeRobot with it, finds the texts as its index."""
    table = pa.table(
        {
            "task_index": pa.array(range(len(texts)), pa.int64()),
            _INDEX: pa.array(texts, pa.large_string()),
        }
    ).replace_schema_metadata({"pandas": json.dumps(_PANDAS)})
    tables.write_groups(folder / layout.TASKS, [table])


def _described(name: str | None, field: str | None, kind: str, dtype: str) -> dict:
    text = {"encoding": "UTF-8"} if field is None else None
    return dict(name=name, field_name=field, pandas_type=kind, numpy_type=dtype, metadata=text)


_PANDAS = {
    "index_columns": [_INDEX],
    "column_indexes": [_described(None, None, "unicode", "object")],
    "columns": [
        _described("task_index", "task_index", "int64", "int64"),
        _described(None, _INDEX, "unicode", "object"),
    ],
    "attributes": {},
    "creator": {"library": "pyarrow", "version": pa.__version__},
    "pandas_version": "2.2.0",
}
