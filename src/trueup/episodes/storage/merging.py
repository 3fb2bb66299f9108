"""Many small files into few large ones, without a moment in which a reader would be misled.

Only the last files of a dataset are ever merged, and in this order. First the first file of each
kind is replaced by one that also holds what the others hold. Then the rows that say where to look
are replaced, in one move. Then the others go. A reader that comes in between finds some frames a
second time, behind all others, where nothing refers to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trueup.episodes.storage import layout, pictures, rows, tables
from trueup.episodes.storage.committed import CommittedV3
from trueup.episodes.storage.files import remove
from trueup.episodes.storage.layout import Place

_SMALL = 4 << 20  # bytes; less than this is merged into whatever stands before it
_MANY = 32  # files that may wait while a writer is open
LAST = 256  # more files than ever wait: those before are full


@dataclass(frozen=True, kw_only=True)
class Group:
    """Files of all kinds that share a place, and the episodes in them.

    Attributes:
        place: Chunk and file number.
        episodes: How many.
        data_bytes: Size of the frames.
        video_bytes: Size of the largest video.
    """

    place: Place
    episodes: int
    data_bytes: int
    video_bytes: int

    @property
    def size(self) -> int:
        """What it costs to rewrite it."""
        return self.data_bytes + self.video_bytes


def group_at(folder: Path, place: Place, keys: Sequence[str], episodes: int) -> Group:
    """The group at a place, weighed."""
    videos = [place.within(folder, layout.video_kind(key)).stat().st_size for key in keys]
    return Group(
        place=place,
        episodes=episodes,
        data_bytes=place.within(folder, layout.DATA).stat().st_size,
        video_bytes=max(videos, default=0),
    )


def groups(folder: Path, committed: CommittedV3, keys: Sequence[str]) -> list[Group]:
    """The last files that are ours to merge: those whose kinds all share a place."""
    found: dict[Place, int] = {}
    for i in range(len(committed) - 1, -1, -1):
        place = committed.place(i)
        if place not in found:
            kinds = {committed.rows_place(i), *(committed.video_place(i, key) for key in keys)}
            ours = kinds == {place} and place.within(folder, layout.EXTRAS).is_file()
            if not ours or len(found) == LAST:
                break
        found[place] = found.get(place, 0) + 1
    return [group_at(folder, place, keys, count) for place, count in reversed(found.items())]


def due(groups: Sequence[Group], *, closing: bool = False, all_of_them: bool = False) -> int:
    """How many of the last groups should become one now; 0 where none should.

    A group is rewritten only together with about as much that is new, so that an episode is
    rewritten a number of times that grows with the logarithm of the dataset, not with its size.
    """
    data = video = run = 0
    for group in reversed(groups):
        data, video = data + group.data_bytes, video + group.video_bytes
        before = data + video - group.size
        full = data > layout.DATA_LIMIT_MB << 20 or video > layout.VIDEO_LIMIT_MB << 20
        heavy = run > 0 and group.size > max(before, _SMALL) and not all_of_them
        if full or heavy:
            break
        run += 1
    return run if run >= (2 if closing or all_of_them else _MANY) else 0


def merge(folder: Path, groups: Sequence[Group], keys: Sequence[str], fps: float) -> Group | None:
    """Make one group of several that follow each other; none where their videos do not join."""
    places = [group.place for group in groups]
    if not _joinable(folder, places, keys):
        return None
    first = places[0]
    for kind in (layout.DATA, layout.EXTRAS):
        files = [place.within(folder, kind) for place in places]
        tables.write_groups(files[0], _row_groups(files))
    begins = {}
    for key in keys:
        videos = [place.within(folder, layout.video_kind(key)) for place in places]
        begins[key] = pictures.join(videos[0], videos, fps)
    files = [place.within(folder, layout.ROWS) for place in places]
    parts = [tables.read_rows(file) for file in files]
    lengths = [len(part) for part in parts]
    shifts = {key: np.repeat(begin, lengths) for key, begin in begins.items()}
    together = rows.moved(pa.concat_tables(parts), first, shifts)
    tables.write_groups(files[0], [together])
    kinds = (layout.DATA, layout.ROWS, layout.EXTRAS, *map(layout.video_kind, keys))
    remove([place.within(folder, kind) for place in reversed(places[1:]) for kind in kinds])
    return group_at(folder, first, keys, sum(group.episodes for group in groups))


def _joinable(folder: Path, places: Sequence[Place], keys: Sequence[str]) -> bool:
    for key in keys:
        films = [pictures.film(p.within(folder, layout.video_kind(key))) for p in places]
        if not all(films[0].joins(film) for film in films[1:]):
            return False
    return True


def _row_groups(files: Sequence[Path]) -> Iterator[pa.Table]:
    for path in files:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number, use_threads=False)
