"""A dataset on disk, read episode by episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa

from trueup.episodes.episode import Channel, Episode, Video
from trueup.episodes.storage import extras, layout, tables, tasks
from trueup.episodes.storage.committed import Committed, CommittedV3, committed
from trueup.episodes.storage.extras import About
from trueup.episodes.storage.features import TIME, Camera, Features, Signal, features_in
from trueup.episodes.storage.frames import Extra, channel
from trueup.episodes.storage.info import Info
from trueup.episodes.storage.tables import Missing, Tables
from trueup.errors import TrueupError


class UnknownEpisode(TrueupError, IndexError):
    """An episode number that the dataset does not have."""

    def __init__(self, folder: Path, i: int, n: int) -> None:
        has = f"it has episodes 0 to {n - 1}" if n else "it has none yet"
        super().__init__(f"{folder} has no episode {i}: {has}.", fix="Choose one of those.")


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A dataset in a few numbers, from what was committed.

    Attributes:
        version: Of LeRobot's format.
        episodes: How many.
        frames: In all of them.
        fps: Frames a second, as meant.
        features: Signals and cameras.
        tasks: Their texts, in order.
        robot_type: Where it is said.
        ours: Whether true clocks, outcomes, labels and origins are stored with it.
    """

    version: str
    episodes: int
    frames: int
    fps: float
    features: Features
    tasks: tuple[str, ...]
    robot_type: str | None
    ours: bool


class Dataset:
    """Episodes of a folder: LeRobotDataset v3.0, ours or LeRobot's own, or v2.x.

    Only numbers about each episode are held in memory. What an unfinished writer left behind is
    passed over; the totals in `meta/info.json`, which may lag behind, are not asked.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._tables = Tables()
        self._load()

    @classmethod
    def open(cls, folder: Path | str) -> Dataset:
        """The dataset in a folder."""
        return cls(folder)

    def __len__(self) -> int:
        return 0 if self._committed is None else len(self._committed)

    def __iter__(self) -> Iterator[Episode]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Episode:
        try:
            return self._episode(self._number(i))
        except Missing:  # a writer may have merged files since we looked
            self._load()
            return self._episode(self._number(i))

    @property
    def info(self) -> Summary:
        """What is in it."""
        if self._info is None or self._committed is None:
            return Summary(
                version="v3.0",
                episodes=0,
                frames=0,
                fps=0.0,
                features=Features(signals=()),
                tasks=(),
                robot_type=None,
                ours=True,
            )
        return Summary(
            version=self._info.version,
            episodes=len(self),
            frames=int(self._committed.length.sum()),
            fps=self._info.fps,
            features=self._features,
            tasks=tuple(self._tasks[number] for number in sorted(self._tasks)),
            robot_type=self._info.robot_type,
            ours=self._ours,
        )

    def about(self, i: int) -> About:
        """Outcome, labels, origin and period of an episode, without its signals."""
        number = self._number(i)
        return extras.from_table(self._extra_rows(number))[0]

    def abouts(self) -> Iterator[About]:
        """Of every episode in order what `about` says, read file by file."""
        rows = self._committed
        if rows is None or not (self._ours and isinstance(rows, CommittedV3)):
            yield from (About() for _ in range(len(self)))
            return
        found: tuple[layout.Place | None, dict[int, About]] = (None, {})
        for i in range(len(rows)):
            if rows.place(i) != found[0]:
                found = (rows.place(i), self._abouts_at(rows.place(i)))
            yield found[1].get(int(rows.index[i]), About())

    def _abouts_at(self, place: layout.Place) -> dict[int, About]:
        path = place.within(self.folder, layout.EXTRAS)
        if not path.is_file():
            return {}
        table = tables.read_rows(path, ["episode_index", "about"]).drop_null()
        texts = zip(table["episode_index"].to_pylist(), table["about"].to_pylist(), strict=True)
        return {index: About.read(text) for index, text in texts}

    def task(self, i: int) -> str:
        """What was to be done in an episode, in words."""
        return "; ".join(self._rows.tasks(self._number(i)))

    def frames(self, i: int) -> pa.Table:
        """LeRobot's table of an episode, row by row as it is stored."""
        number = self._number(i)
        return self._tables.episode(self._rows.data(number), int(self._rows.index[number]))

    @property
    def _rows(self) -> Committed:
        if self._committed is None:
            raise UnknownEpisode(self.folder, 0, 0)
        return self._committed

    def _load(self) -> None:
        self._info = Info.read(self.folder)
        self._ours = (self.folder / layout.MARK).is_file()
        self._committed: Committed | None = None
        if self._info is None:
            if not self._ours:
                raise not_a_dataset(self.folder)
            return
        self._features = features_in(self._info.features)
        self._tasks = tasks.read(self.folder)
        self._committed = committed(self.folder, self._info)

    def _number(self, i: int) -> int:
        n = len(self)
        if not -n <= i < n:
            raise UnknownEpisode(self.folder, i, n)
        return int(i) % n

    def _episode(self, i: int) -> Episode:
        assert self._info is not None
        table = self.frames(i)
        where = f"Episode {i} in {self._rows.data(i)}"
        if len(table) != self._rows.length[i]:
            raise TrueupError(
                f"{where} has {len(table)} frames, but its row in meta/episodes says "
                f"{self._rows.length[i]}.",
                fix="`trueup episodes validate` lists everything that is wrong with a dataset.",
            )
        about, kept = extras.from_table(self._extra_rows(i))
        clock = self._clock(table, kept, where)
        return Episode(
            signals={
                s.name: _channel(s, table, clock, kept.get(s.name), where)
                for s in self._features.signals
            },
            period_s=about.period_s or 1.0 / self._info.fps,
            task=self.task(i),
            outcome=about.outcome,
            labels=about.labels,
            origin=about.origin,
            videos={
                camera.name: self._video(i, camera, table, clock, kept.get(f"@{camera.name}"))
                for camera in self._features.cameras
            },
        )

    def _clock(self, table: pa.Table, kept: Mapping[str, Extra], where: str) -> np.ndarray:
        """(n,) when the frames were: truly where that is known, else as meant."""
        if TIME in kept:
            return kept[TIME].time_s
        assert self._info is not None
        name = TIME if TIME in self._info.features else "timestamp"
        return tables.column(table, name, 1, where=where)[:, 0].astype(float)

    def _extra_rows(self, i: int) -> pa.Table:
        if not (self._ours and isinstance(self._committed, CommittedV3)):
            return extras.SCHEMA.empty_table()
        path = self._committed.place(i).within(self.folder, layout.EXTRAS)
        if not path.is_file() and self._committed.data(i).is_file():
            return extras.SCHEMA.empty_table()  # written by LeRobot, before we added to it
        return self._tables.episode(path, int(self._committed.index[i]))

    def _video(
        self, i: int, camera: Camera, table: pa.Table, clock: np.ndarray, extra: Extra | None
    ) -> Video:
        assert self._info is not None
        if camera.embedded:
            return Video(time_s=clock, frames=_embedded(table, camera))
        path, begin = self._rows.video(i, camera.key)
        places = None if extra is None or extra.values is None else extra.values[:, 0].astype(int)
        return Video(
            time_s=clock if extra is None else extra.time_s,
            path=path,
            begin_s=begin,
            rate_hz=self._info.fps,
            places=places,
            size=(camera.height, camera.width),
        )


def not_a_dataset(folder: Path) -> TrueupError:
    """The sentence for a folder that holds something else, or nothing."""
    if not folder.exists():
        return TrueupError(f"There is no dataset at {folder}.", fix="Check the path.")
    return TrueupError(
        f"{folder} is not a dataset: it has no {layout.INFO}.",
        fix="Give the folder that holds data/, meta/ and perhaps videos/.",
    )


def _channel(
    signal: Signal, table: pa.Table, clock: np.ndarray, extra: Extra | None, where: str
) -> Channel:
    column = tables.column(table, signal.key, signal.size, where=where)
    values, time_s = channel(column, clock, extra)
    try:
        return Channel(values=values, time_s=time_s, unit=signal.unit, names=signal.names)
    except TrueupError as error:
        raise TrueupError(
            f"{where}, signal {signal.name!r}: {error.what}", fix=error.fix
        ) from error


def _embedded(table: pa.Table, camera: Camera) -> np.ndarray:
    """Pictures that lie in the table itself, as PNG."""
    from PIL import Image

    pictures = [Image.open(BytesIO(cell["bytes"])) for cell in table[camera.key].to_pylist()]
    return np.stack([np.asarray(picture.convert("RGB")) for picture in pictures])
