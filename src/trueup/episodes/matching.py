"""Whether episodes are of one's own robot, and in its units: asked wherever they are reused."""

from __future__ import annotations

from collections.abc import Sequence

from trueup.episodes.dataset import Dataset
from trueup.episodes.episode import COMMAND, JOINTS, Episode
from trueup.episodes.storage.features import UNSTATED
from trueup.episodes.units import JointUnits, converted
from trueup.errors import TrueupError


def check_robot(
    dataset: Dataset, commands: Sequence[str], needed: Sequence[str], *, of: str
) -> None:
    """Refuse a dataset that is empty, lacks a signal, or is of a robot with other joints.

    Args:
        dataset: What is to be reused.
        commands: One's own joints, in order.
        needed: Signals that must be there; those of joints are compared.
        of: Whose joints they are, e.g. "the world 'so101/lift'".
    """
    if not len(dataset):
        raise TrueupError(
            f"{dataset.folder} has no episodes.", fix="Record some, or give another dataset."
        )
    signals = {signal.name: signal for signal in dataset.info.features.signals}
    for name in needed:
        if name not in signals:
            raise TrueupError(
                f"{dataset.folder} has no signal {name!r}, which every demonstration needs; it has "
                f"{', '.join(signals) or 'none'}.",
                fix="Give a dataset in which commands and joint positions were recorded.",
            )
        joints = tuple(column.removesuffix(".pos") for column in signals[name].names)
        if name in (COMMAND, JOINTS) and joints != tuple(commands):
            raise TrueupError(
                f"{dataset.folder} is of another robot: its {name} has {', '.join(joints)}, "
                f"{of} has {', '.join(commands)}.",
                fix="Give demonstrations of the same robot, with its joints in the same order.",
            )


def in_radians(episode: Episode, name: str, read_as: JointUnits | None) -> Episode:
    """An episode with commands and joints in radians.

    Args:
        episode: As it was read. A body with other names for its joints has one unit, and keeps it.
        name: What to call it in messages.
        read_as: The unit, where the episode does not say.
    """
    if JOINTS not in episode.signals:
        return episode
    told, read = episode[COMMAND].unit, episode[JOINTS].unit
    if told != read:
        raise TrueupError(
            f"{name} mixes units: its commands are in {told}, its joints in {read}.",
            fix="Write both in one unit: `trueup episodes convert --units rad`.",
        )
    if read == UNSTATED and read_as is None:
        raise TrueupError(
            f"{name} does not say in which unit its joints are.",
            fix="Say it: --read-as degrees, normalized or rad.",
        )
    try:
        return converted(episode, JointUnits.RAD, read_as=read_as)
    except TrueupError as error:
        raise TrueupError(f"{name}: {error.what}", fix=error.fix) from error
