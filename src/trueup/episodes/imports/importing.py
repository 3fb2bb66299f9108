"""From files to episodes, as a mapping says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from trueup.episodes.conversion import check_new
from trueup.episodes.dataset import Dataset, Summary
from trueup.episodes.episode import Channel, Episode
from trueup.episodes.imports.columns import Columns, read_columns
from trueup.episodes.imports.mapping import (
    SECONDS,
    Mapping,
    Names,
    Numbers,
    SignalColumns,
    SourceFile,
)
from trueup.episodes.writer import Writer
from trueup.errors import TrueupError
from trueup.files import whole_folder


def import_recordings(
    source: Path | str,
    mapping: Mapping,
    out: Path | str,
    *,
    append: bool = False,
    on_progress: Callable[[int], None] = lambda episodes: None,
) -> Summary:
    """Write every recording of a source into a dataset; what is in it then.

    Args:
        source: A folder of recordings, or one recording.
        mapping: What is what.
        out: A new folder, written whole or not at all; with `append`, a dataset to add to.
        append: Add to a dataset that is there. What was added before a fault stays in it.
        on_progress: Called with 1 after each recording.
    """
    found, out = recordings(source, mapping), Path(out)
    if append:
        _write(found, mapping, out, on_progress)
    else:
        check_new(out)
        with whole_folder(out) as partial:
            _write(found, mapping, partial, on_progress)
    return Dataset.open(out).info


def recordings(source: Path | str, mapping: Mapping) -> list[Path]:
    """The folders or files of a source that are one episode each, by name."""
    source = Path(source)
    if not source.exists():
        raise TrueupError(f"There is nothing at {source}.", fix="Check the path.")
    if mapping.each == "source":
        return [source]
    first = mapping.files[0].path
    if mapping.each == "file":
        found = [source] if source.is_file() else sorted(source.glob(first))
    elif (source / first).is_file():
        found = [source]
    else:
        found = sorted(path for path in source.glob("*") if (path / first).is_file())
    if not found:
        kind = "file" if mapping.each == "file" else "folder with a file"
        raise TrueupError(
            f"{source} has no {kind} {first!r}, which is what the mapping looks for.",
            fix="Give the folder that the recordings are in, or another mapping.",
        )
    return found


def imported(recording: Path, mapping: Mapping) -> Episode:
    """One recording as an episode, every signal on the clock of its file."""
    signals: dict[str, Channel] = {}
    for file in mapping.files:
        folder = recording.parent if recording.is_file() else recording
        path = recording if recording.is_file() else folder / file.path
        signals |= dict(_channels(path, folder, file, mapping.names))
    name = recording.name.removesuffix(".gz").removesuffix(".csv").removesuffix(".npz")
    return Episode(
        signals=signals,
        period_s=mapping.period_s,
        task=mapping.task.replace("{name}", name),
        labels={key: text.replace("{name}", name) for key, text in mapping.labels.items()},
        origin={**mapping.origin, "recording": name},
    )


def _write(
    found: list[Path], mapping: Mapping, folder: Path, on_progress: Callable[[int], None]
) -> None:
    with Writer(folder, robot_type=mapping.robot_type) as writer:
        for recording in found:
            writer.add(imported(recording, mapping))
            on_progress(1)
        writer.compact()


def _channels(
    path: Path, folder: Path, file: SourceFile, shared: dict[str, Names]
) -> Iterator[tuple[str, Channel]]:
    names = [file.time.column]
    for signal in file.signals:
        names += [signal.column] if signal.column is not None else signal.columns or []
    columns = read_columns(
        path,
        list(dict.fromkeys(names)),
        where=file.where,
        delimiter=file.delimiter,
        keep_missing=file.missing == "keep",
    )
    time_s = _times(columns, file)
    for signal in file.signals:
        named = shared[signal.names] if isinstance(signal.names, str) else None
        yield signal.name, _channel(signal, columns, time_s, named, folder)


def _times(columns: Columns, file: SourceFile) -> np.ndarray:
    ticks = columns.values[file.time.column]
    if not len(ticks):
        raise TrueupError(
            f"{columns.path} has no rows that the mapping asks for.", fix="Check its `where`."
        )
    if ticks.shape[1] != 1:
        raise TrueupError(
            f"{columns.path}: the column {file.time.column!r} holds lists, not times.",
            fix="Name the column of times in the mapping.",
        )
    back = np.flatnonzero(np.diff(ticks[:, 0]) < 0)
    if len(back) or not np.isfinite(ticks).all():
        row = back[0] + 1 if len(back) else int(np.flatnonzero(~np.isfinite(ticks[:, 0]))[0])
        raise TrueupError(
            f"{columns.path} line {columns.lines[row]}, column {file.time.column!r}: time does not "
            f"rise there ({ticks[row, 0]:g} after {ticks[max(row - 1, 0), 0]:g}).",
            fix="Cut the file into recordings, or mend its clock.",
        )
    return ticks[:, 0] * SECONDS[file.time.unit]


def _channel(
    signal: SignalColumns,
    columns: Columns,
    time_s: np.ndarray,
    shared: Names | None,
    folder: Path,
) -> Channel:
    parts = [signal.column] if signal.column is not None else signal.columns or []
    values = np.concatenate([columns.values[name] for name in parts], axis=1)
    names = _names(signal, parts, values.shape[1], shared, folder)
    if len(names) != values.shape[1]:
        raise TrueupError(
            f"{columns.path} has {values.shape[1]} numbers for {signal.name!r}, but {len(names)} "
            f"names are given: {', '.join(names)}.",
            fix="Give one name for each number.",
        )
    if shared is not None and shared.order is not None:
        values = values[:, _order(names, shared.order, columns.path)]
        names = shared.order
    values = values * _each(signal, "scale", names, 1.0) + _each(signal, "offset", names, 0.0)
    return Channel(
        values=values.astype(np.float32) if signal.float32 else values,
        time_s=time_s,
        unit=signal.unit,
        names=tuple(names),
    )


def _names(
    signal: SignalColumns, parts: list[str], size: int, shared: Names | None, folder: Path
) -> list[str]:
    if shared is not None:
        names = _listed(folder / shared.file) if shared.file is not None else shared.names or []
        return [shared.rename.get(name, name) for name in names]
    if isinstance(signal.names, list):
        return signal.names
    return parts if len(parts) == size else [f"{signal.name}_{i}" for i in range(size)]


def _listed(path: Path) -> list[str]:
    if not path.is_file():
        raise TrueupError(f"{path} is missing.", fix="The mapping names it: check both.")
    return path.read_text(encoding="utf-8").split()


def _order(names: list[str], wanted: list[str], path: Path) -> list[int]:
    if sorted(wanted) != sorted(names):
        raise TrueupError(
            f"The mapping wants {', '.join(wanted)}, but {path} has {', '.join(names)}.",
            fix="Correct names, rename or order in the mapping.",
        )
    return [names.index(name) for name in wanted]


def _each(signal: SignalColumns, field: str, names: list[str], default: float) -> np.ndarray:
    """(size,) a scale or an offset for each column, in the order wanted."""
    given: Numbers = getattr(signal, field)
    if isinstance(given, dict):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise TrueupError(
                f"The {field} of {signal.name!r} names {unknown[0]!r}, which is none of its "
                f"columns: {', '.join(names)}.",
                fix="Correct the mapping.",
            )
        return np.array([given.get(name, default) for name in names])
    if isinstance(given, list) and len(given) != len(names):
        raise TrueupError(
            f"The {field} of {signal.name!r} has {len(given)} numbers for {len(names)} columns.",
            fix="Give one number, or one for each column.",
        )
    return np.broadcast_to(np.asarray(given, float), len(names))
