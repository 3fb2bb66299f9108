"""The pictures of one episode on their way into a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from trueup.episodes.episode import Video
from trueup.episodes.storage import pictures, stats
from trueup.episodes.storage.pictures import Film


def store(
    path: Path, video: Video, places: np.ndarray, frames: int, fps: float
) -> tuple[Film, dict[str, np.ndarray]]:
    """Write a camera's file; what it is, and statistics of its pictures.

    Args:
        path: The file.
        video: The pictures.
        places: Which picture each place of the file shows; the first `frames` are the frames'.
        frames: How many frames the episode has.
        fps: Places a second.
    """
    if not _copied(path, video, places, fps):
        pictures.encode(path, _in_order(video, places, frames), places, fps)
    return pictures.film(path), _stats(video)


def _copied(path: Path, video: Video, places: np.ndarray, fps: float) -> bool:
    """Take pictures over as they are encoded, where they stand in a file as they shall here."""
    if video.path is None or video.rate_hz != fps:
        return False
    _, wanted = np.unique(places, return_index=True)
    there = np.arange(len(video)) if video.places is None else video.places
    return np.array_equal(there, wanted) and pictures.copy(
        video.path, video.begin_s, len(places), path
    )


def _in_order(video: Video, places: np.ndarray, frames: int) -> Iterator[np.ndarray]:
    """Pictures as the encoder asks for them: the frames', then those that no frame shows."""
    return chain(
        video.pictures(np.unique(places[:frames])), video.pictures(np.unique(places[frames:]))
    )


def _stats(video: Video) -> dict[str, np.ndarray]:
    chosen = stats.sampled(len(video))
    thin = [pictures.thinned(picture) for picture in video.pictures(chosen)]
    return stats.of_pictures(np.stack(thin))
