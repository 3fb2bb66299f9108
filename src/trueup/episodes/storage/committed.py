"""Which episodes a dataset has: the rows that were committed, and where each one's files are."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from trueup.episodes.storage import layout, tables
from trueup.episodes.storage.info import Info
from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.stats import Stats
from trueup.errors import TrueupError

_NUMBERS = (
    "episode_index",
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
)
_TASKS = "tasks"
_KEPT = 1024  # files whose tasks are held in memory
_VIDEO_NUMBERS = ("chunk_index", "file_index", "from_timestamp", "to_timestamp")


class Committed(ABC):
    """The episodes of a dataset, in order.

    Attributes:
        length: (n,) frames of each.
        index: (n,) LeRobot's number of each, by which files refer to it.
    """

    length: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.length)

    @abstractmethod
    def data(self, i: int) -> Path:
        """The file with its frames."""

    @abstractmethod
    def video(self, i: int, key: str) -> tuple[Path, float]:
        """The file of one camera, and where in it the episode begins, in s."""

    @abstractmethod
    def row(self, i: int) -> Mapping[str, Any]:
        """All that is stored about it."""

    @abstractmethod
    def tasks(self, i: int) -> list[str]:
        """What was to be done in it, in words."""

    def stats(self, i: int) -> Stats:
        """Its statistics, where they are stored."""
        found: Stats = {}
        for name, value in self.row(i).items():
            if name.startswith("stats/") and value is not None:
                key, _, stat = name.removeprefix("stats/").rpartition("/")
                found.setdefault(key, {})[stat] = np.array(value)
        return found


class CommittedV3(Committed):
    """Rows of `meta/episodes`, the numbers in memory and the rest where it is.

    Where a row is there twice, because a writer was stopped while it merged files, the first holds.
    """

    def __init__(self, folder: Path, info: Info) -> None:
        self._folder, self._info = folder, info
        self._keys = [k for k, f in info.features.items() if f["dtype"] == "video"]
        self.files = layout.places(folder, layout.ROWS)
        self._read: tuple[int, pa.Table] | None = None
        self._tasks: OrderedDict[int, pa.ChunkedArray | None] = OrderedDict()
        columns = [*_NUMBERS, *(f"videos/{k}/{n}" for k in self._keys for n in _VIDEO_NUMBERS)]
        parts = [self._numbers(file, columns) for file in self.files]
        stacked = {name: _stacked([part[name] for part in parts]) for name in columns}
        lengths = [len(part["length"]) for part in parts]
        _, kept = np.unique(stacked["episode_index"], return_index=True)
        self._file = np.repeat(np.arange(len(parts)), lengths)[kept]
        self._row = np.concatenate([np.zeros(0, int), *map(np.arange, lengths)])[kept]
        self._columns = {
            name: values[kept].astype(float if name.endswith("_timestamp") else np.int64)
            for name, values in stacked.items()
        }
        self.index = self.of("episode_index")
        self.length = self.of("length")

    def of(self, name: str) -> np.ndarray:
        """(n,) one of the stored whole numbers."""
        return self._columns[name]

    def place(self, i: int) -> Place:
        """Where its frames are."""
        return Place(int(self.of("data/chunk_index")[i]), int(self.of("data/file_index")[i]))

    def video_place(self, i: int, key: str) -> Place:
        """Where its pictures are."""
        chunk, file = (self.of(f"videos/{key}/{n}")[i] for n in ("chunk_index", "file_index"))
        return Place(int(chunk), int(file))

    def rows_place(self, i: int) -> Place:
        """Where its row is."""
        return self.files[self._file[i]]

    def span(self, i: int, key: str) -> tuple[float, float]:
        """Where its pictures begin and end in their file, in s."""
        columns = (self._columns[f"videos/{key}/{name}"] for name in _VIDEO_NUMBERS[2:])
        begin, end = (float(column[i]) for column in columns)
        return begin, end

    def data(self, i: int) -> Path:
        place, path = self.place(i), self._info.stored.get("data_path") or layout.DATA_PATH
        return self._folder / path.format(chunk_index=place.chunk, file_index=place.file)

    def video(self, i: int, key: str) -> tuple[Path, float]:
        place = self.video_place(i, key)
        path = self._info.stored.get("video_path") or layout.VIDEO_PATH
        name = path.format(video_key=key, chunk_index=place.chunk, file_index=place.file)
        return self._folder / name, self.span(i, key)[0]

    def row(self, i: int) -> Mapping[str, Any]:
        file = int(self._file[i])
        if self._read is None or self._read[0] != file:
            self._read = (
                file,
                tables.read_rows(self.files[file].within(self._folder, layout.ROWS)),
            )
        return self._read[1].slice(int(self._row[i]), 1).to_pylist()[0]

    def tasks(self, i: int) -> list[str]:
        file = int(self._file[i])
        if (
            file not in self._tasks
        ):  # that column alone: rows are wide, and most of it is statistics
            path = self.files[file].within(self._folder, layout.ROWS)
            table = tables.read_rows(path, [_TASKS])
            self._tasks[file] = table[_TASKS] if _TASKS in table.column_names else None
            while len(self._tasks) > _KEPT:
                self._tasks.popitem(last=False)
        texts = self._tasks[file]
        return [] if texts is None else texts[int(self._row[i])].as_py() or []

    def _numbers(self, file: Place, columns: list[str]) -> dict[str, np.ndarray]:
        path = file.within(self._folder, layout.ROWS)
        table = tables.read_rows(path, columns)
        missing = [name for name in columns if name not in table.column_names]
        if missing:
            raise TrueupError(
                f"{path} has no column {missing[0]!r}, without which its episodes are not found.",
                fix="Take the file again from where the dataset was made.",
            )
        for name in columns:
            if table[name].null_count:
                raise TrueupError(
                    f"{path} has empty cells in its column {name!r}.",
                    fix="Take the file again from where the dataset was made.",
                )
        return {name: table[name].to_numpy() for name in columns}


class CommittedV2(Committed):
    """Lines of `meta/episodes.jsonl`; each episode has files of its own."""

    def __init__(self, folder: Path, info: Info) -> None:
        self._folder, self._info = folder, info
        self._lines = sorted(
            read_lines(folder / "meta/episodes.jsonl"), key=lambda line: line["episode_index"]
        )
        self.index = np.array([line["episode_index"] for line in self._lines], np.int64)
        self.length = np.array([line["length"] for line in self._lines], np.int64)

    def data(self, i: int) -> Path:
        return self._folder / self._info.stored["data_path"].format(**self._words(i))

    def video(self, i: int, key: str) -> tuple[Path, float]:
        name = self._info.stored["video_path"].format(video_key=key, **self._words(i))
        return self._folder / name, 0.0

    def row(self, i: int) -> Mapping[str, Any]:
        return self._lines[i]

    def tasks(self, i: int) -> list[str]:
        return self._lines[i].get(_TASKS) or []

    def _words(self, i: int) -> dict[str, int]:
        index = int(self.index[i])
        chunk = index // int(self._info.stored.get("chunks_size", layout.FILES_PER_CHUNK))
        return {"episode_index": index, "episode_chunk": chunk}


def committed(folder: Path, info: Info) -> Committed:
    """The episodes of a dataset of either layout."""
    return CommittedV3(folder, info) if info.kind == "v3" else CommittedV2(folder, info)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """A file with one JSON object on each line."""
    if not path.is_file():
        raise tables.Missing(path)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise tables.Damaged(path, f"line {number} is not JSON ({error})") from error
    return found


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *parts]) if parts else np.zeros(0)
