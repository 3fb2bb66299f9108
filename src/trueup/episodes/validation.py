"""Everything that is wrong with a dataset, a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from trueup.episodes.dataset import Dataset
from trueup.episodes.episode import COMMAND, JOINTS
from trueup.episodes.storage import layout, pictures, repair, stats, tables
from trueup.episodes.storage.committed import Committed, CommittedV3, committed
from trueup.episodes.storage.features import Features, Signal, features_in
from trueup.episodes.storage.info import Info
from trueup.errors import TrueupError


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        what: The sentence.
        episode: Which one it is about; none where it is about all.
        harmless: Whether everything still reads true: leftovers, and totals that lag behind.
    """

    what: str
    episode: int | None = None
    harmless: bool = False


def problems(
    folder: Path | str, *, on_progress: Callable[[int], None] = lambda episodes: None
) -> Iterator[Problem]:
    """Read a dataset from end to end and say what is wrong, as it is found.

    Args:
        folder: The dataset.
        on_progress: Called with 1 after each episode.
    """
    folder = Path(folder)
    dataset = Dataset.open(folder)
    info = Info.read(folder)
    if info is None:
        return
    rows, features = committed(folder, info), features_in(info.features)
    seen = _Seen()
    yield from _declared(features)
    for i in range(len(rows)):
        for sentence in _episode(dataset, i, info, features, rows, seen):
            yield Problem(what=f"Episode {i}: {sentence}", episode=i)
        seen.frames += int(rows.length[i])
        on_progress(1)
    yield from _videos(info, rows, features)
    yield from _totals(folder, info, rows, seen)


class _Seen:
    """What the frames of all episodes had, to compare with what is said about them."""

    def __init__(self) -> None:
        self.low: dict[str, np.ndarray] = {}
        self.high: dict[str, np.ndarray] = {}
        self.frames = 0
        self.broken = False

    def take(self, key: str, values: np.ndarray) -> None:
        """Widen what is known of a column; columns without any finite number say nothing."""
        numbers = values.astype(float)
        finite = np.isfinite(numbers)
        if len(numbers) and finite.any(axis=0).all():
            low = np.where(finite, numbers, np.inf).min(axis=0)
            high = np.where(finite, numbers, -np.inf).max(axis=0)
            known = key in self.low
            self.low[key] = np.minimum(self.low[key], low) if known else low
            self.high[key] = np.maximum(self.high[key], high) if known else high


def _declared(features: Features) -> Iterator[Problem]:
    by_name = {signal.name: signal.names for signal in features.signals}
    told, read = by_name.get(COMMAND, ()), by_name.get(JOINTS, ())
    if told != read and sorted(told) == sorted(read):
        yield Problem(
            what=f"meta/info.json: action has the columns {', '.join(told)}, but "
            f"observation.state has them as {', '.join(read)}."
        )


def _episode(
    dataset: Dataset, i: int, info: Info, features: Features, rows: Committed, seen: _Seen
) -> Iterator[str]:
    """What is wrong with one episode, but for its pictures."""
    file = str(rows.data(i).relative_to(dataset.folder))
    try:
        table = dataset.frames(i)
    except TrueupError as error:
        seen.broken = True
        yield error.what
        return
    sound = True
    for check in (
        partial(_counting, i=i, info=info, rows=rows, before=seen.frames, file=file),
        *(partial(_column, signal=signal, file=file, seen=seen) for signal in features.signals),
    ):
        try:
            for sentence in check(table):
                sound = False
                yield sentence
        except TrueupError as error:
            sound, seen.broken = False, True
            yield error.what
    if sound:  # what is left to go wrong is beside the frames: clocks, outcome, labels
        try:
            dataset[i]
        except TrueupError as error:
            yield error.what


def _counting(
    table: pa.Table, *, i: int, info: Info, rows: Committed, before: int, file: str
) -> Iterator[str]:
    """Whether its frames are all there, in order and at the dataset's rate."""
    n = len(table)
    if n != rows.length[i]:
        yield f"{file} has {n} frames of it, but its row says {rows.length[i]}."
    frame = tables.column(table, "frame_index", 1, where=file)[:, 0]
    if not np.array_equal(frame, np.arange(n)):
        yield f"{file}: its frames are not numbered 0 to {n - 1} in order."
    index = tables.column(table, "index", 1, where=file)[:, 0]
    if isinstance(rows, CommittedV3):
        begin = int(rows.of("dataset_from_index")[i])
        if begin != before:
            yield f"its row says that {begin} frames come before it, but there are {before}."
        if n and not np.array_equal(index, begin + np.arange(n)):
            yield f"{file}: its column 'index' does not count on from {begin}."
    steps = np.diff(tables.column(table, "timestamp", 1, where=file)[:, 0].astype(float))
    if n > 1 and np.abs(steps - 1 / info.fps).max() > 0.1 / info.fps:
        rate = 1 / max(float(np.median(steps)), 1e-9)
        yield (
            f"its frames follow each other at {rate:.4g} Hz, or unevenly; the dataset is one of "
            f"{info.fps:g} Hz."
        )


def _column(table: pa.Table, *, signal: Signal, file: str, seen: _Seen) -> Iterator[str]:
    """Whether one signal is as declared, and numbers throughout."""
    values = tables.column(table, signal.key, signal.size, where=file)
    seen.take(signal.key, values)
    if str(values.dtype) != signal.dtype:
        yield f"{file} holds {values.dtype} in {signal.key!r}; {signal.dtype} is declared."
    bad = np.argwhere(~np.isfinite(values.astype(float)))
    if len(bad):
        row, column = bad[0]
        yield (
            f"{signal.key} has {len(bad)} numbers that are not finite, the first in frame {row}, "
            f"column {signal.names[column]!r}."
        )


def _videos(info: Info, rows: Committed, features: Features) -> Iterator[Problem]:
    """Each file is looked at once, whatever number of episodes it holds."""
    for camera in (camera for camera in features.cameras if not camera.embedded):
        known: dict[Path, int] = {}
        for i in range(len(rows)):
            path, begin = rows.video(i, camera.key)
            if path not in known:
                known[path], wrong = _film(path, camera.height, camera.width, info.fps)
                if wrong:
                    yield Problem(what=f"Episode {i}: {wrong}", episode=i)
            needed = round(begin * info.fps) + int(rows.length[i])
            if 0 <= known[path] < needed:
                yield Problem(
                    what=f"Episode {i}: {path} ends after {known[path]} pictures, but its "
                    f"{rows.length[i]} frames need {needed}.",
                    episode=i,
                )


def _film(path: Path, height: int, width: int, fps: float) -> tuple[int, str]:
    """How many pictures a file has, and what is wrong with it; -1 where it cannot be said."""
    try:
        film, count = pictures.film(path), pictures.count(path)
    except TrueupError as error:
        return -1, error.what
    if (film.height, film.width) != (height, width):
        shown, said = f"{film.height} × {film.width}", f"{height} × {width}"
        return count, f"{path} shows {shown} pixels; {said} is declared."
    if count > 1 and abs(film.fps / fps - 1) > 0.01:
        return count, f"{path} runs at {film.fps:.4g} Hz; the dataset is one of {fps:g} Hz."
    return count, ""


def _totals(folder: Path, info: Info, rows: Committed, seen: _Seen) -> Iterator[Problem]:
    there = (len(rows), int(rows.length.sum()))
    if (info.total_episodes, info.total_frames) != there:
        yield Problem(
            what=f"meta/info.json counts {info.total_episodes} episodes and {info.total_frames} "
            f"frames; {there[0]} and {there[1]} were committed. The next writer puts it right.",
            harmless=True,
        )
    if isinstance(rows, CommittedV3):
        keys = [k for k, f in info.features.items() if f["dtype"] == "video"]
        for path in (*layout.leftovers(folder), *repair.unreferenced(folder, rows, keys)):
            yield Problem(
                what=f"{path} is left from an episode that was not finished, or from a merge. The "
                "next writer removes it.",
                harmless=True,
            )
        if len(rows):
            yield from _stats(folder, seen)


def _stats(folder: Path, seen: _Seen) -> Iterator[Problem]:
    """Whether a policy would be trained with the right normalizer."""
    try:
        known = stats.read(folder)
    except TrueupError as error:
        yield Problem(what=error.what)
        return
    if known is None:
        yield Problem(what="meta/stats.json is missing: LeRobot cannot normalize without it.")
        return
    for key, low in seen.low.items():
        if key not in known:
            yield Problem(what=f"meta/stats.json has nothing about {key}.")
            continue
        said = [np.ravel(known[key][end]) for end in ("min", "max")]
        found = [low, seen.high[key]]
        if not seen.broken and not np.allclose(said, found, rtol=1e-4, atol=1e-6):
            yield Problem(
                what=f"meta/stats.json says that {key} goes from {_row(said[0])} to "
                f"{_row(said[1])}; in the frames it goes from {_row(found[0])} to {_row(found[1])}."
            )


def _row(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values) + ")"
