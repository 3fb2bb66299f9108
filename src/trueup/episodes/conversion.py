"""A dataset as another: LeRobot's v2.1 as v3.0, other units, many small files as few."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trueup.episodes.dataset import Dataset, Summary
from trueup.episodes.episode import Episode
from trueup.episodes.packing import packed
from trueup.episodes.units import SO101, JointUnits, Span, converted
from trueup.episodes.writer import Writer
from trueup.errors import TrueupError
from trueup.files import whole_folder


def convert(
    source: Path | str,
    out: Path | str,
    *,
    units: JointUnits | None = None,
    read_as: JointUnits | None = None,
    spans: Mapping[str, Span] = SO101,
    environment: Sequence[str] = (),
    episodes: Sequence[int] | None = None,
    on_progress: Callable[[int], None] = lambda episodes: None,
) -> Summary:
    """Write a dataset anew, whole or not at all; what is in it.

    Pictures are taken over as they are encoded wherever that is possible.

    Args:
        source: A dataset that `Dataset` reads.
        out: A folder that does not exist yet.
        units: Of commands and joint positions; none leaves them as they are.
        read_as: The units of a source that does not state them.
        spans: The calibrated range of each joint, where units are converted.
        environment: Signals to join into one, LeRobot's `observation.environment_state`.
        episodes: Numbers of those to take, in order; all by default.
        on_progress: Called with 1 after each episode.
    """
    dataset, out = Dataset.open(source), Path(out)
    check_new(out)
    with (
        whole_folder(out) as partial,
        Writer(partial, robot_type=dataset.info.robot_type) as writer,
    ):
        for i in range(len(dataset)) if episodes is None else episodes:
            writer.add(_episode(dataset, i, units, read_as, spans, environment))
            on_progress(1)
        writer.compact()
    return Dataset.open(out).info


def check_new(out: Path) -> None:
    """Refuse to write over something."""
    if out.exists() and (out.is_file() or any(out.iterdir())):
        raise TrueupError(
            f"{out} is there already, and nothing is written over.", fix="Choose another folder."
        )


def _episode(
    dataset: Dataset,
    i: int,
    units: JointUnits | None,
    read_as: JointUnits | None,
    spans: Mapping[str, Span],
    environment: Sequence[str],
) -> Episode:
    episode = dataset[i]
    try:
        if environment:
            episode = packed(episode, environment)
        if units is None and read_as is None:
            return episode
        return converted(episode, units or JointUnits.RAD, read_as=read_as, spans=spans)
    except TrueupError as error:
        raise TrueupError(
            f"Episode {i} of {dataset.folder}: {error.what}", fix=error.fix
        ) from error
