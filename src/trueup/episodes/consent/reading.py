"""A dataset read again from its files, whatever its own tables say is in them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from trueup.episodes.consent.receipt import Check
from trueup.episodes.dataset import Dataset
from trueup.episodes.episode import Episode, Video
from trueup.episodes.storage import layout, pictures, stats, tables
from trueup.episodes.validation import problems

_TEXT = {".json", ".jsonl", ".txt", ".md", ".csv", ".toml", ".yaml", ".yml", ".html"}


def fingerprint(episode: Episode) -> str:
    """The hash of an episode: every reading with its time, and every word about it.

    Pixels are not in it: cutting a video may encode pictures anew. They are counted instead.
    """
    found = hashlib.sha256()
    words = [episode.task, episode.outcome, episode.period_s, dict(episode.labels)]
    found.update(json.dumps([*words, dict(episode.origin)], sort_keys=True).encode())
    for name, channel in sorted(episode.signals.items()):
        head = [name, channel.unit, channel.names, str(channel.values.dtype), channel.values.shape]
        found.update(json.dumps(head).encode())
        found.update(channel.values.tobytes())
        found.update(channel.time_s.tobytes())
    for name, video in sorted(episode.videos.items()):
        found.update(name.encode() + video.time_s.tobytes())
    return found.hexdigest()


def places(video: Video, frames: int) -> int:
    """How many pictures of a file belong to an episode: one a frame, and those that none shows."""
    if video.path is None:
        return 0  # they lie in the table of frames itself
    return frames if video.places is None else max(frames, int(video.places.max(initial=-1)) + 1)


def checks(folder: Path, kept: list[str], frames: int, shown: int, pseudonym: str) -> list[Check]:
    """Read everything again and compare it with what must be left.

    Args:
        folder: The dataset.
        kept: Fingerprints of the episodes that must be there, in order.
        frames: Rows that they have.
        shown: Pictures that they have in video files.
        pseudonym: Whom no word may name any more.
    """
    dataset = Dataset.open(folder)
    same = sum(a == b for a, b in zip(map(fingerprint, dataset), kept, strict=False))
    wrong = sum(not problem.harmless for problem in problems(folder))
    known = stats.read(folder) or {}
    counted = int(known["frame_index"]["count"][0]) if "frame_index" in known else 0
    return [
        Check(what="episodes", expected=len(kept), found=len(dataset)),
        Check(what="episodes that are the same to the last bit", expected=len(kept), found=same),
        Check(what="rows in data/", expected=frames, found=_rows(folder / layout.DATA)),
        Check(what="rows in meta/episodes/", expected=len(kept), found=_rows(folder / layout.ROWS)),
        Check(what="episodes in trueup/", expected=len(kept), found=_described(folder)),
        Check(what="pictures in videos/", expected=shown, found=_pictures(folder)),
        Check(what="rows in meta/stats.json", expected=frames, found=counted),
        Check(what="problems that validation finds", expected=0, found=wrong),
        unnamed(folder, pseudonym),
    ]


def unnamed(folder: Path, pseudonym: str) -> Check:
    """That no text of any file of a dataset names somebody."""
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(pseudonym)}(?![A-Za-z0-9])")
    found = sum(len(word.findall(text)) for text in _texts(folder))
    return Check(what="words that name the person", expected=0, found=found)


def _rows(folder: Path) -> int:
    return sum(tables.row_count(path) for path in folder.rglob("*.parquet"))


def _described(folder: Path) -> int:
    """Episodes of which anything is kept beside the frames."""
    found: set[int] = set()
    for path in (folder / layout.EXTRAS).rglob("*.parquet"):
        found |= set(tables.read_rows(path, ["episode_index"])["episode_index"].to_pylist())
    return len(found)


def _pictures(folder: Path) -> int:
    return sum(pictures.count(path) for path in (folder / layout.VIDEOS).rglob("*.mp4"))


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.suffix.lower() in _TEXT:
            yield path.read_text(encoding="utf-8", errors="replace")
        elif path.suffix == ".parquet":
            table = tables.read_rows(path)
            for name in table.column_names:
                if _is_text(table[name].type):
                    yield json.dumps(table[name].to_pylist(), ensure_ascii=False)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
