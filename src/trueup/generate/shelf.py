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
from trueup.episodes.storage import extras, layout, rows, stats, tables, tasks
from trueup.episodes.storage.committed import CommittedV3
from trueup.episodes.storage.extras import About
from trueup.episodes.storage.features import TIME, Features, differences, features_in, features_of
from trueup.episodes.storage.files import sync
from trueup.episodes.storage.info import Info, new_info
from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.repair import Lock, summed_stats
from trueup.episodes.writer import nominal_fps
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
        return self._episodes

    def close(self) -> None:
        """Let the next writer in."""
        self._lock.release()

    def add(self, episodes: Sequence[Episode]) -> None:
        """Store a batch: all of it is in the dataset when this returns, or nothing of it."""
        if not episodes:
            return
        self._check(episodes)
        place = Place.of(self._next)
        self._name_tasks([episode.task for episode in episodes])
        lengths = np.array([_length(episode) for episode in episodes])
        columns = self._columns(episodes, lengths)
        self._write(place, layout.DATA, _parts(_table(columns), lengths))
        about = [
            extras.to_table(self._episodes + i, About.of(e), []) for i, e in enumerate(episodes)
        ]
        self._write(place, layout.EXTRAS, _parts(pa.concat_tables(about), np.ones_like(lengths)))
        found = counted(columns, lengths)
        table = self._rows(episodes, lengths, place, found)
        self._schema = self._schema or table.schema
        self._write(place, layout.ROWS, [rows.fitted(table, self._schema)])  # now it counts
        sync(place.within(self.folder, layout.ROWS).parent)
        self._episodes += len(episodes)
        self._frames += int(lengths.sum())
        self._next += 1
        self._total(spread(found, lengths))

    def _take_up(self) -> None:
        self._episodes = self._frames = self._next = 0
        self._stats: stats.Stats = {}
        self._tasks: dict[str, int] = {}
        self._schema: pa.Schema | None = None
        self._info = Info.read(self.folder)
        if self._info is None:
            return
        committed = CommittedV3(self.folder, self._info)
        if not len(committed):
            self._info = None
            return
        self._features = features_in(self._info.features)
        self._episodes, self._frames = len(committed), int(committed.length.sum())
        self._tasks = {text: number for number, text in sorted(tasks.read(self.folder).items())}
        self._stats = summed_stats(self.folder, committed)
        self._next = layout.next_number(self.folder, [])
        self._schema = tables.schema_of(committed.rows_place(0).within(self.folder, layout.ROWS))

    def _check(self, episodes: Sequence[Episode]) -> None:
        wanted = features_of(episodes[0])
        if self._info is None:
            self._found(episodes[0], wanted)
        found = differences(self._features, wanted)
        if found or wanted.cameras:
            raise TrueupError(
                f"The episodes do not fit the dataset {self.folder}: "
                f"{'; '.join(found) or 'they have pictures'}.",
                fix="Write them to a folder of their own.",
            )

    def _found(self, episode: Episode, wanted: Features) -> None:
        self._features = wanted
        self._info = new_info(
            wanted.declared({}), fps=nominal_fps(episode.period_s), robot_type=self._robot_type
        )
        self._info.write(self.folder)

    def _name_tasks(self, texts: list[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._tasks]
        if new:
            self._tasks |= {text: len(self._tasks) + i for i, text in enumerate(new)}
            tasks.write(self.folder, list(self._tasks))

    def _columns(self, episodes: Sequence[Episode], lengths: np.ndarray) -> dict[str, np.ndarray]:
        """The frames of all of them, one after the other, under LeRobot's keys."""
        assert self._info is not None
        columns = {
            signal.key: np.concatenate([e.signals[signal.name].values for e in episodes]).astype(
                signal.dtype
            )
            for signal in self._features.signals
        }
        frame = np.concatenate([np.arange(k) for k in lengths])
        clocks = [next(iter(e.signals.values())).time_s for e in episodes]
        numbers = self._episodes + np.arange(len(episodes))
        task = np.array([self._tasks[e.task] for e in episodes])
        columns |= {
            TIME: np.concatenate(clocks)[:, None],
            "timestamp": (frame / self._info.fps).astype(np.float32)[:, None],
            "frame_index": frame[:, None],
            "episode_index": np.repeat(numbers, lengths)[:, None],
            "index": (self._frames + np.arange(len(frame)))[:, None],
            "task_index": np.repeat(task, lengths)[:, None],
        }
        return {key: columns[key] for key in self._info.features if key in columns}

    def _rows(
        self,
        episodes: Sequence[Episode],
        lengths: np.ndarray,
        place: Place,
        found: stats.Stats,
    ) -> pa.Table:
        """Rows of `meta/episodes`; `found` holds (n, size) of each statistic."""
        n, ends = len(lengths), self._frames + np.cumsum(lengths)
        columns: dict[str, pa.Array] = {
            "episode_index": pa.array(self._episodes + np.arange(n)),
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

    def _total(self, found: stats.Stats) -> None:
        """Write statistics and totals; a reader of ours does not need them, LeRobot does."""
        assert self._info is not None
        self._stats = stats.together([self._stats, found])
        stats.write(self.folder, self._stats)
        self._info = new_info(
            self._info.features,
            fps=self._info.fps,
            robot_type=self._robot_type,
            episodes=self._episodes,
            frames=self._frames,
            tasks=len(self._tasks),
            before=self._info,
        )
        self._info.write(self.folder)


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
