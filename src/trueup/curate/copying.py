"""What was kept, as a dataset of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from trueup.curate.verdict import KeepList
from trueup.episodes import Dataset, Episode, Summary, Writer
from trueup.episodes.conversion import check_new
from trueup.errors import TrueupError
from trueup.files import whole_folder


def copy_kept(
    dataset: Dataset,
    keep: KeepList,
    out: Path | str,
    *,
    on_progress: Callable[[int], None] = lambda episodes: None,
) -> Summary:
    """Write the episodes that stay into a new dataset, whole or not at all; what is in it.

    Episode k there is `keep.kept[k]` here. A camera whose pictures are missing for any of them is
    left out.

    Args:
        dataset: The one that was judged.
        keep: The verdicts on it.
        out: A folder that does not exist yet.
        on_progress: Called with 1 after each episode.
    """
    out = Path(out)
    check_new(out)
    if len(dataset) != len(keep):
        raise TrueupError(
            f"The keep-list is about {len(keep)} episodes, and {dataset.folder} has "
            f"{len(dataset)}.",
            fix="Curate the dataset again.",
        )
    numbers = keep.kept.tolist()
    cameras = _whole_cameras(dataset, numbers)
    with (
        whole_folder(out) as partial,
        Writer(partial, robot_type=dataset.info.robot_type) as writer,
    ):
        for i in numbers:
            episode = dataset[i]
            videos = {name: v for name, v in episode.videos.items() if name in cameras}
            writer.add(replace(episode, videos=videos))
            on_progress(1)
        writer.compact()
    return Dataset.open(out).info


def _whole_cameras(dataset: Dataset, numbers: Sequence[int]) -> set[str]:
    """Cameras whose pictures are there for all these episodes."""
    cameras = {camera.name for camera in dataset.info.features.cameras}
    for i in numbers if cameras else ():
        cameras -= _missing(dataset[i])
    return cameras


def _missing(episode: Episode) -> set[str]:
    return {
        name
        for name, video in episode.videos.items()
        if video.path is not None and not video.path.is_file()
    }
