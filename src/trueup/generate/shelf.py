"""Storing many episodes at a time: one commit for hundreds, where a recorder makes one for each.

The layout is that of `trueup.episodes`. Files take their names in the same order, so that whatever
happens to this process, a reader finds a batch whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from trueup.episodes import Episode, Writer
from trueup.episodes.storage import extras, layout, rows, stats, tables
from trueup.episodes.storage.committed import CommittedV3
from trueup.episodes.storage.extras import About
from trueup.episodes.storage.features import TIME, differences, features_of
from trueup.episodes.storage.holdings import Holdings
from trueup.episodes.storage.info import Info
from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.repair import Lock
from trueup.errors import TrueupError
from trueup.generate.counting import counted, spread

_TOGETHER = 16  # episodes in a row group: few enough to read one quickly, many enough to pack well


class Shelf:
    """Writes batches of episodes that have numbers only, all signals of each on one clock.

    Args:
        folder: Where; an existing dataset is added to, if the episodes fit it.
        robot_type: What LeRobot should call the robot, for a new dataset.
    """

    def __init__(self, folder: Path | str, *, robot_type: str | None = None) -> None:
        self.folder, self._robot_type = Path(folder), robot_type
        Writer(self.folder, robot_type=robot_type).close()  # puts in order what an older one left
        self._lock = Lock(self.folder)
        try:
            self._take_up()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._held.episodes

    def close(self) -> None:
        """Let the next writer in."""
        self._lock.release()

    def add(self, episodes: Sequence[Episode]) -> None:
        """Store a batch: all of it is in the dataset when this returns, or nothing of it."""
        if not episodes:
            return
        self._check(episodes)
        place = Place.of(self._held.next)
        self._held.name_tasks([episode.task for episode in episodes])
        lengths = np.array([_length(episode) for episode in episodes])
        columns = self._columns(episodes, lengths)
        self._write(place, layout.DATA, _parts(_table(columns), lengths))
        about = [
            extras.to_table(self._held.episodes + i, About.of(e), [])
            for i, e in enumerate(episodes)
        ]
        self._write(place, layout.EXTRAS, _parts(pa.concat_tables(about), np.ones_like(lengths)))
        found = counted(columns, lengths)
        table = self._rows(episodes, lengths, place, found)
        self._held.commit(place, table, int(lengths.sum()), spread(found, lengths))
        assert self._held.info is not None
        self._held.total(self._held.info.features)

    def _take_up(self) -> None:
        self._held = Holdings(self.folder, self._robot_type)
        info = Info.read(self.folder)
        if info is not None:
            self._held.take_up(info, CommittedV3(self.folder, info), [])

    def _check(self, episodes: Sequence[Episode]) -> None:
        wanted = features_of(episodes[0])
        if self._held.info is None:
            self._held.found(wanted, episodes[0].period_s)
        found = differences(self._held.features, wanted)
        if found or wanted.cameras:
            raise TrueupError(
                f"The episodes do not fit the dataset {self.folder}: "
                f"{'; '.join(found) or 'they have pictures'}.",
                fix="Write them to a folder of their own.",
            )

    def _columns(self, episodes: Sequence[Episode], lengths: np.ndarray) -> dict[str, np.ndarray]:
        """The frames of all of them, one after the other, under LeRobot's keys."""
        assert self._held.info is not None
        columns = {
            signal.key: np.concatenate([e.signals[signal.name].values for e in episodes]).astype(
                signal.dtype
            )
            for signal in self._held.features.signals
        }
        clocks = [next(iter(e.signals.values())).time_s for e in episodes]
        columns[TIME] = np.concatenate(clocks)[:, None]
        columns |= self._held.numbered(lengths, [episode.task for episode in episodes])
        return {key: columns[key] for key in self._held.info.features if key in columns}

    def _rows(
        self,
        episodes: Sequence[Episode],
        lengths: np.ndarray,
        place: Place,
        found: stats.Stats,
    ) -> pa.Table:
        """Rows of `meta/episodes`; `found` holds (n, size) of each statistic."""
        n, ends = len(lengths), self._held.frames + np.cumsum(lengths)
        columns: dict[str, pa.Array] = {
            "episode_index": pa.array(self._held.episodes + np.arange(n)),
            "tasks": pa.array([[episode.task] for episode in episodes]),
            "length": pa.array(lengths),
            **_everywhere(rows.at("data", place), n),
            "dataset_from_index": pa.array(ends - lengths),
            "dataset_to_index": pa.array(ends),
        }
        for key, values in found.items():
            columns |= {f"stats/{key}/{name}": _lists(v) for name, v in values.items()}
        return pa.table({**columns, **_everywhere(rows.at("meta/episodes", place), n)})

    def _write(self, place: Place, kind: str, groups: Sequence[pa.Table]) -> None:
        tables.write_groups(place.within(self.folder, kind), groups)


def _length(episode: Episode) -> int:
    clocks = [channel.time_s for channel in episode.signals.values()]
    if episode.videos or not all(np.array_equal(clocks[0], clock) for clock in clocks[1:]):
        raise TrueupError(
            "An episode with pictures, or with signals on clocks of their own, cannot be stored "
            "in a batch.",
            fix="Store it with trueup.episodes.Writer.",
        )
    return len(clocks[0])


def _table(columns: dict[str, np.ndarray]) -> pa.Table:
    return pa.table({key: tables.listed(values) for key, values in columns.items()})


def _parts(table: pa.Table, lengths: np.ndarray) -> list[pa.Table]:
    """The table in row groups of a few episodes each."""
    ends = np.cumsum(lengths)
    bounds = [0, *ends[_TOGETHER - 1 : -1 : _TOGETHER].tolist(), int(ends[-1])]
    return [table.slice(a, b - a) for a, b in pairwise(bounds)]


def _everywhere(cells: dict[str, int], n: int) -> dict[str, pa.Array]:
    return {name: pa.array(np.full(n, value)) for name, value in cells.items()}


def _lists(values: np.ndarray) -> pa.Array:
    """A column whose cells are lists, from (n, size)."""
    flat = values.astype(np.int64 if values.dtype.kind in "iu" else np.float64).reshape(-1)
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))
