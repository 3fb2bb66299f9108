"""Adding episodes to a dataset, so that nothing that was finished is ever lost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from trueup.episodes.dataset import not_a_dataset
from trueup.episodes.episode import Episode
from trueup.episodes.storage import extras, footage, layout, merging, rows, stats, tables
from trueup.episodes.storage.committed import CommittedV3
from trueup.episodes.storage.extras import About
from trueup.episodes.storage.features import (
    TIME,
    Features,
    differences,
    features_in,
    features_of,
)
from trueup.episodes.storage.files import write_text
from trueup.episodes.storage.frames import Extra, Framed, framed
from trueup.episodes.storage.holdings import Holdings
from trueup.episodes.storage.info import Info
from trueup.episodes.storage.layout import Place
from trueup.episodes.storage.merging import Group
from trueup.episodes.storage.pictures import Film
from trueup.episodes.storage.repair import Lock, clean, lagging
from trueup.errors import TrueupError

_RATE_TOLERANCE = 0.01


class Writer:
    """Writes episodes into a folder as LeRobotDataset v3.0.

    An episode is in the dataset when `add` returns, and stays there whatever happens to this
    process. Its files come first, each whole; then its row in `meta/episodes`, which commits it;
    then totals and statistics. One that was not committed leaves nothing that a reader would find,
    and the next writer clears it away. From time to time small files are merged.

    Args:
        folder: Where; an existing dataset is added to, if the episodes fit it.
        robot_type: What LeRobot should call the robot, for a new dataset.
    """

    def __init__(self, folder: Path | str, *, robot_type: str | None = None) -> None:
        self.folder, self._robot_type = Path(folder), robot_type
        self._closed = False
        _check_folder(self.folder)
        self._lock = Lock(self.folder)
        try:
            self._begin()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Episodes in the dataset, with those that were there before."""
        return self._held.episodes

    def add(self, episode: Episode) -> int:
        """Store an episode; its number."""
        if self._closed:
            raise TrueupError(
                f"The writer of {self.folder} is closed.", fix="Open another one to add more."
            )
        if self._unclean:
            self._begin()
        wanted = features_of(episode)
        self._check(episode, wanted)
        laid = framed(episode)
        if self._held.info is None:
            self._held.found(wanted, episode.period_s)
        self._unclean = True
        try:
            self._store(episode, laid)
        except TrueupError as error:
            number = self._held.episodes
            raise TrueupError(
                f"Episode {number} was not stored: {error.what} The {number} before it are safe.",
                fix=error.fix,
            ) from error
        self._unclean = False
        self._merge()
        return self._held.episodes - 1

    def compact(self) -> None:
        """Merge everything into as few files as LeRobot's size limits allow."""
        self._merge(all_of_them=True)

    def close(self) -> None:
        """Merge the last small files, and let the next writer in. Twice does no harm."""
        if not self._closed:
            self._closed = True
            try:
                self._merge(closing=True)
            finally:
                self._lock.release()

    def _begin(self) -> None:
        """Take up what is there, after putting it in order."""
        self._unclean = False
        self._groups: list[Group] = []
        self._held = Holdings(self.folder, self._robot_type)
        info = Info.read(self.folder)
        if not (self.folder / layout.MARK).is_file():
            mark = {"format": "trueup/episodes", "version": 1}
            write_text(self.folder / layout.MARK, json.dumps(mark, indent=1) + "\n")
        if info is not None:
            self._take_up(info)

    def _take_up(self, info: Info) -> None:
        committed = CommittedV3(self.folder, info)
        keys = [camera.key for camera in features_in(info.features).cameras]
        clean(self.folder, committed, keys)
        self._held.take_up(info, committed, keys)
        self._groups = merging.groups(self.folder, committed, keys)
        if len(committed) and lagging(info, committed):
            self._held.total(info.features)

    def _check(self, episode: Episode, wanted: Features) -> None:
        if self._held.info is None:
            return
        found = differences(self._held.features, wanted)
        rate = 1.0 / episode.period_s
        if abs(rate / self._held.info.fps - 1) > _RATE_TOLERANCE:
            found.append(f"it runs at {rate:g} Hz, the dataset at {self._held.info.fps:g} Hz")
        if found:
            raise TrueupError(
                f"The episode does not fit the dataset {self.folder}: {'; '.join(found)}.",
                fix="Write it to a dataset of its own, or convert it first.",
            )

    def _store(self, episode: Episode, laid: Framed) -> None:
        assert self._held.info is not None
        place, index = Place.of(self._held.next), self._held.episodes
        self._held.name_tasks([episode.task])
        columns, kept = self._columns(episode, laid)
        table = pa.table({key: tables.listed(values) for key, values in columns.items()})
        about = extras.to_table(index, About.of(episode), kept)
        with ThreadPoolExecutor(2 + len(episode.videos)) as pool:  # each waits for the disk
            parts = ((layout.DATA, table), (layout.EXTRAS, about))
            written = [
                pool.submit(tables.write_groups, place.within(self.folder, kind), [part])
                for kind, part in parts
            ]
            films = self._film(pool, episode, laid, place)
            found = stats.of_columns(columns)
            for one in written:
                one.result()  # what went wrong there goes wrong here
        found |= {key: values for key, (_, values) in films.items()}
        spans = {key: (0.0, len(laid) / self._held.info.fps) for key in films}
        row = rows.Row(
            index=index,
            begin=self._held.frames,
            length=len(laid),
            task=episode.task,
            place=place,
            spans=spans,
            stats=found,
        ).table()
        self._held.commit(place, row, len(laid), found)
        keys = list(films)
        self._groups.append(merging.group_at(self.folder, place, keys, 1))
        self._held.total(self._described({key: film for key, (film, _) in films.items()}))

    def _columns(self, episode: Episode, laid: Framed) -> tuple[dict[str, np.ndarray], list[Extra]]:
        """The frames under LeRobot's keys, and what must be kept beside them."""
        assert self._held.info is not None
        declared, kept = self._held.info.features, list(laid.extras)
        columns: dict[str, np.ndarray] = {}
        for signal in self._held.features.signals:
            values = laid.columns[signal.name]
            columns[signal.key] = values.astype(signal.dtype)
            beside = any(e.name == signal.name and e.values is not None for e in kept)
            if not beside and not np.array_equal(columns[signal.key], values, equal_nan=True):
                exact = episode.signals[signal.name]
                kept = [e for e in kept if e.name != signal.name]
                kept.append(Extra(name=signal.name, time_s=exact.time_s, values=exact.values))
        if TIME in declared:
            columns[TIME] = laid.time_s[:, None]
        else:
            kept.append(Extra(name=TIME, time_s=laid.time_s))
        columns |= self._held.numbered(np.array([len(laid)]), [episode.task])
        return {key: columns[key] for key in declared if key in columns}, kept

    def _film(
        self, pool: ThreadPoolExecutor, episode: Episode, laid: Framed, place: Place
    ) -> dict[str, tuple[Film, dict[str, np.ndarray]]]:
        """Write the videos, all cameras at once; what each file is, and its statistics."""
        assert self._held.info is not None
        films = {
            camera.key: pool.submit(
                footage.store,
                place.within(self.folder, layout.video_kind(camera.key)),
                episode.videos[camera.name],
                laid.pictures[camera.name],
                len(laid),
                self._held.info.fps,
            )
            for camera in self._held.features.cameras
        }
        return {key: film.result() for key, film in films.items()}

    def _described(self, films: dict[str, Film]) -> dict:
        assert self._held.info is not None
        features = dict(self._held.info.features)
        for key, film in films.items():
            if not features[key].get("info"):
                features[key] = {**features[key], "info": film.described()}
        return features

    def _merge(self, **when: bool) -> None:
        """Merge the last files where that is due; the episodes are safe whether it works or not."""
        count = merging.due(self._groups, **when)
        if self._unclean or not count or self._held.info is None:
            return
        keys = [camera.key for camera in self._held.features.cameras]
        try:
            merged = merging.merge(self.folder, self._groups[-count:], keys, self._held.info.fps)
        except (TrueupError, OSError):
            self._unclean = True
            return
        if merged is not None:
            self._groups[-count:] = [merged]
            self._held.next = merged.place.number + 1


def _check_folder(folder: Path) -> None:
    if folder.is_file():
        raise TrueupError(f"{folder} is a file, but a dataset is a folder.", fix="Choose another.")
    info = Info.read(folder)
    if info is not None and info.kind != "v3":
        raise TrueupError(
            f"{folder} is a dataset of LeRobot's {info.version}, which is only read.",
            fix=f"Convert it first: trueup episodes convert {folder} --out NEW.",
        )
    if info is None and not (folder / layout.MARK).is_file() and folder.is_dir():
        strange = [p.name for p in folder.iterdir() if p.name != "meta"]
        strange += [p.name for p in (folder / "meta").glob("[!.]*")]
        if strange:
            raise not_a_dataset(folder)
