"""What a dataset holds so far: what everyone who adds to it must know and keep up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from trueup.episodes.storage import layout, rows, stats, tables, tasks
from trueup.episodes.storage.committed import CommittedV3
from trueup.episodes.storage.features import Features, features_in
from trueup.episodes.storage.files import sync
from trueup.episodes.storage.info import Info, new_info
from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.repair import summed_stats


@dataclass
class Holdings:
    """The state of a dataset between two commits.

    Attributes:
        folder: Where it is.
        robot_type: What LeRobot should call the robot, for a new dataset.
        info: Its description; none before its first episode.
        features: Its signals and cameras; they count once there is a description.
        episodes: How many are committed.
        frames: Of all of them.
        tasks: Their texts, and the number of each.
        stats: Of all frames together.
        schema: Of the rows in `meta/episodes`, once there is one.
        next: The number of the next file.
    """

    folder: Path
    robot_type: str | None
    info: Info | None = None
    features: Features = field(default_factory=lambda: Features(signals=()))
    episodes: int = 0
    frames: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    stats: stats.Stats = field(default_factory=dict)
    schema: pa.Schema | None = None
    next: int = 0

    def take_up(self, info: Info, committed: CommittedV3, keys: Sequence[str]) -> None:
        """Take over what was committed; one that has no episodes yet may become anything."""
        self.info = info if len(committed) else None
        self.features = features_in(info.features)
        self.episodes, self.frames = len(committed), int(committed.length.sum())
        self.tasks = {text: number for number, text in sorted(tasks.read(self.folder).items())}
        self.stats = summed_stats(self.folder, committed)
        self.next = layout.next_number(self.folder, list(keys))
        if len(committed):
            path = committed.rows_place(0).within(self.folder, layout.ROWS)
            self.schema = tables.schema_of(path)

    def found(self, wanted: Features, period_s: float) -> None:
        """Describe a new dataset, before anything is in it."""
        self.features = wanted
        fps = nominal_fps(period_s)
        self.info = new_info(wanted.declared({}), fps=fps, robot_type=self.robot_type)
        self.info.write(self.folder)

    def name_tasks(self, texts: Sequence[str]) -> None:
        """Number texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.tasks]
        if new:
            self.tasks |= {text: len(self.tasks) + i for i, text in enumerate(new)}
            tasks.write(self.folder, list(self.tasks))

    def numbered(self, lengths: np.ndarray, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """LeRobot's own columns of the frames of episodes (n,) that are about to be added."""
        assert self.info is not None
        frame = np.concatenate([np.arange(k) for k in lengths])
        episodes = self.episodes + np.arange(len(lengths))
        task = np.array([self.tasks[text] for text in texts])
        return {
            "timestamp": (frame / self.info.fps).astype(np.float32)[:, None],
            "frame_index": frame[:, None],
            "episode_index": np.repeat(episodes, lengths)[:, None],
            "index": (self.frames + np.arange(len(frame)))[:, None],
            "task_index": np.repeat(task, lengths)[:, None],
        }

    def commit(self, place: Place, table: pa.Table, frames: int, found: stats.Stats) -> None:
        """Write the rows of episodes whose other files are there: from here on they count."""
        self.schema = self.schema or table.schema
        path = place.within(self.folder, layout.ROWS)
        tables.write_groups(path, [rows.fitted(table, self.schema)])
        sync(path.parent)
        self.episodes, self.frames = self.episodes + len(table), self.frames + frames
        self.next += 1
        self.stats = stats.together([self.stats, found])

    def total(self, declared: dict) -> None:
        """Write statistics and totals; a reader of ours does not need them, LeRobot does."""
        stats.write(self.folder, self.stats)
        self.info = new_info(
            declared,
            fps=self.info.fps if self.info else 1.0,
            robot_type=self.robot_type,
            episodes=self.episodes,
            frames=self.frames,
            tasks=len(self.tasks),
            before=self.info,
        )
        self.info.write(self.folder)


def nominal_fps(period_s: float) -> float:
    """Frames a second: a whole number where the period is within half a percent of one."""
    fps = 1.0 / period_s
    whole = round(fps)
    return float(whole) if whole and abs(fps / whole - 1) < 0.005 else round(fps, 6)
