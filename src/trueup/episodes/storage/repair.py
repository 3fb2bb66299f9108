"""Putting a dataset in order after its writer was stopped, before the next one adds to it."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from trueup.episodes.storage import layout, stats, tables
from trueup.episodes.storage.committed import CommittedV3
from trueup.episodes.storage.files import remove
from trueup.episodes.storage.info import Info
from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.merging import LAST
from trueup.episodes.storage.stats import Stats
from trueup.errors import TrueupError


class Lock:
    """One writer at a time. The system lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise TrueupError(
                f"Another process is writing to {folder}.",
                fix="Wait until it is done, or write to another folder.",
            ) from None

    def release(self) -> None:
        """Let the next writer in."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def unreferenced(folder: Path, rows: CommittedV3, keys: list[str]) -> list[Path]:
    """Files behind the last committed ones of their kind: an unfinished episode's, or merged."""
    n = len(rows)
    none = Place(-1, 0)
    last = rows.place(n - 1) if n else none
    bounds = {layout.DATA: last, layout.EXTRAS: last}
    bounds[layout.ROWS] = rows.rows_place(n - 1) if n else none
    for key in keys:
        bounds[layout.video_kind(key)] = rows.video_place(n - 1, key) if n else none
    return [
        place.within(folder, kind)
        for kind, bound in bounds.items()
        for place in layout.places(folder, kind)
        if place > bound
    ]


def clean(folder: Path, rows: CommittedV3, keys: list[str]) -> None:
    """Remove what an unfinished writer left, and frames that are there twice."""
    remove([*layout.leftovers(folder), *unreferenced(folder, rows, keys)])
    chunks, files = rows.of("data/chunk_index"), rows.of("data/file_index")
    frames: Counter[Place] = Counter()
    for i in range(len(rows) - 1, -1, -1):
        place = rows.place(i)
        if place not in frames and len(frames) == LAST:
            break
        frames[place] += int(rows.length[i])
    for place, expected in frames.items():
        if tables.row_count(place.within(folder, layout.DATA)) > expected:
            here = rows.index[(chunks == place.chunk) & (files == place.file)]
            for kind in (layout.DATA, layout.EXTRAS):
                _trim(place.within(folder, kind), here)


def summed_stats(folder: Path, rows: CommittedV3) -> Stats:
    """Statistics of all committed episodes; only those that the file lacks are added."""
    try:
        known = stats.read(folder) or {}
    except TrueupError:  # damaged; the rows know
        known = {}
    ends = np.concatenate([[0], np.cumsum(rows.length)])
    counted = int(known["frame_index"]["count"][0]) if "frame_index" in known else 0
    done = int(np.searchsorted(ends, counted))
    if done == len(ends) or ends[done] != counted:
        known, done = {}, 0
    return stats.together([known, *(rows.stats(i) for i in range(done, len(rows)))])


def lagging(info: Info, rows: CommittedV3) -> bool:
    """Whether the totals in `meta/info.json` are behind what was committed."""
    return (info.total_episodes, info.total_frames) != (len(rows), int(rows.length.sum()))


def _trim(path: Path, episodes: np.ndarray) -> None:
    """Keep these episodes of a file only, each in a row group of its own."""
    if not path.is_file():
        return
    table = tables.read_rows(path)
    numbers = table["episode_index"].to_numpy()
    tables.write_groups(path, (table.filter(pa.array(numbers == i)) for i in episodes))
