"""Which file of a dataset holds what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

INFO = "meta/info.json"
STATS = "meta/stats.json"
TASKS = "meta/tasks.parquet"
MARK = "meta/trueup.json"

DATA = "data"
ROWS = "meta/episodes"
EXTRAS = "trueup"
VIDEOS = "videos"

FILES_PER_CHUNK = 1000
DATA_LIMIT_MB, VIDEO_LIMIT_MB = 100, 200

DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


@dataclass(frozen=True, order=True)
class Place:
    """Chunk and file number. Files of all kinds that belong together share one."""

    chunk: int
    file: int

    @classmethod
    def of(cls, number: int) -> Place:
        """The place of the file that comes after `number` others."""
        return cls(*divmod(number, FILES_PER_CHUNK))

    @property
    def number(self) -> int:
        """How many files may come before it."""
        return self.chunk * FILES_PER_CHUNK + self.file

    def within(self, folder: Path, kind: str) -> Path:
        """Its file of one kind: DATA, ROWS, EXTRAS, or VIDEOS/KEY."""
        suffix = "mp4" if kind.startswith(f"{VIDEOS}/") else "parquet"
        return folder / kind / f"chunk-{self.chunk:03d}" / f"file-{self.file:03d}.{suffix}"


def video_kind(key: str) -> str:
    """The kind of one camera's files."""
    return f"{VIDEOS}/{key}"


def places(folder: Path, kind: str) -> list[Place]:
    """Every file of one kind that is there, in order."""
    suffix = "mp4" if kind.startswith(f"{VIDEOS}/") else "parquet"
    found = (folder / kind).glob(f"chunk-*/file-*.{suffix}")
    return sorted(place for path in found if (place := _place(path)) is not None)


def next_number(folder: Path, keys: Iterable[str]) -> int:
    """The first number that no file of any kind has, nor any after it."""
    kinds = (DATA, ROWS, EXTRAS, *map(video_kind, keys))
    taken = [place.number for kind in kinds for place in places(folder, kind)]
    return max(taken, default=-1) + 1


def _place(path: Path) -> Place | None:
    chunk, file = path.parent.name.removeprefix("chunk-"), path.stem.removeprefix("file-")
    return Place(int(chunk), int(file)) if chunk.isdecimal() and file.isdecimal() else None


def leftovers(folder: Path) -> list[Path]:
    """Files that a writer had begun and not finished when it was stopped."""
    kinds = [DATA, ROWS, EXTRAS, *(video_kind(p.name) for p in (folder / VIDEOS).glob("*"))]
    chunks = [chunk for kind in kinds for chunk in (folder / kind).glob("chunk-*")]
    return sorted(p for place in (folder / "meta", *chunks) for p in place.glob(".*.partial"))
