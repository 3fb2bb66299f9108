"""Withdrawal: a person's episodes leave their datasets, and files are read again to prove it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from trueup.episodes.consent.covered import people_in
from trueup.episodes.consent.reading import checks, fingerprint, places, unnamed
from trueup.episodes.consent.receipt import Check, Gone, Receipt, Removal
from trueup.episodes.consent.register import RECEIPTS, Register
from trueup.episodes.dataset import Dataset
from trueup.episodes.episode import Episode
from trueup.episodes.storage import layout
from trueup.episodes.storage.repair import Lock
from trueup.episodes.writer import Writer
from trueup.errors import TrueupError
from trueup.files import whole_folder

_OURS = {"meta", layout.DATA, layout.EXTRAS, layout.VIDEOS}


def withdrawn(
    register: Register,
    pseudonym: str,
    datasets: Sequence[Path | str],
    *,
    on: date | None = None,
    on_progress: Callable[[int], None] = lambda episodes: None,
) -> tuple[Receipt, Path]:
    """Withdraw a participant: no more recordings, and episodes deleted from datasets.

    The register comes first, so that nothing new begins. Each dataset is written anew beside the
    old one, read again, and only then takes its place: at any moment it is whole, with the person
    or without. What was interrupted is finished by calling this again.

    Args:
        register: Where the person is known.
        pseudonym: Who withdraws.
        datasets: Where to look. Copies elsewhere are named in the receipt, and not touched.
        on: The day.
        on_progress: Called with 1 after each episode.

    Returns:
        The receipt, and where it was written.
    """
    day = on or date.today()
    folders = [_restored(Path(folder).resolve()) for folder in datasets]
    for folder in folders:
        Dataset.open(folder)  # refuse a wrong path before anything is changed
    register = register.without(pseudonym, day)
    register.save()
    removals = tuple(removed(folder, pseudonym, on_progress=on_progress) for folder in folders)
    looked_at = {str(folder) for folder in folders}
    receipt = Receipt(
        participant=pseudonym,
        on=day,
        removals=removals,
        copies=tuple(c for c in register.copies_of(pseudonym) if c not in looked_at),
    )
    path = register.folder / RECEIPTS / f"{pseudonym}-{day}-{receipt.sha256[:8]}.json"
    receipt.save(path)
    return receipt, path


def removed(
    folder: Path, pseudonym: str, *, on_progress: Callable[[int], None] = lambda episodes: None
) -> Removal:
    """A dataset without a person's episodes, and what was read again to prove it."""
    lock = Lock(folder)  # what a recorder added in the meantime would be lost
    try:
        dataset = Dataset.open(folder)
        leaving = [pseudonym in people_in(about.labels) for about in dataset.abouts()]
        gone, kept = _divided(dataset, leaving)
        found = [unnamed(folder, pseudonym)]
        if gone:
            _write_anew(folder, dataset, leaving, kept, pseudonym, on_progress)
            found = checks(folder, kept.hashes, kept.frames, kept.shown, pseudonym)
    finally:
        lock.release()
    return Removal(
        dataset=str(folder),
        before=len(leaving),
        gone=gone,
        kept_sha256=kept.sha256,
        checks=_held(folder, pseudonym, [*found, _beside(folder)]),
    )


def verified(receipt: Receipt) -> tuple[str, ...]:
    """What is no longer as a receipt says; nothing where the person is still gone everywhere.

    A dataset may have grown since, or be gone altogether.
    """
    found = []
    for removal in receipt.removals:
        folder = Path(removal.dataset)
        if not folder.exists():
            continue
        hashes = {one.sha256 for one in removal.gone}
        for i, episode in enumerate(Dataset.open(folder)):
            if receipt.participant in people_in(episode.labels) or fingerprint(episode) in hashes:
                found.append(f"Episode {i} of {folder} is of {receipt.participant} again.")
    return tuple(found)


class _Kept:
    """What must still be there afterwards."""

    def __init__(self) -> None:
        self.hashes: list[str] = []
        self.frames = self.shown = 0

    def take(self, episode: Episode, frames: int) -> None:
        self.hashes.append(fingerprint(episode))
        self.frames += frames
        self.shown += sum(places(video, frames) for video in episode.videos.values())

    @property
    def sha256(self) -> str:
        return hashlib.sha256("".join(self.hashes).encode()).hexdigest()


def _write_anew(
    folder: Path,
    dataset: Dataset,
    leaving: Sequence[bool],
    kept: _Kept,
    pseudonym: str,
    on_progress: Callable[[int], None],
) -> None:
    with whole_folder(folder) as partial:
        with Writer(partial, robot_type=dataset.info.robot_type) as writer:
            for i, leaves in enumerate(leaving):
                if not leaves:
                    writer.add(dataset[i])
                on_progress(1)
            writer.compact()
        _take_over_others(folder, partial)
        found = checks(partial, kept.hashes, kept.frames, kept.shown, pseudonym)
        _held(folder, pseudonym, found)  # before it takes the old one's place


def _divided(dataset: Dataset, leaving: Sequence[bool]) -> tuple[tuple[Gone, ...], _Kept]:
    """What leaves, and what must stay."""
    gone, kept = [], _Kept()
    for i, leaves in enumerate(leaving):
        episode, frames = dataset[i], dataset.frames(i).num_rows
        if leaves:
            gone.append(_gone(i, episode, frames))
        else:
            kept.take(episode, frames)
    return tuple(gone), kept


def _held(folder: Path, pseudonym: str, found: Sequence[Check]) -> tuple[Check, ...]:
    """The checks, or a sentence about the first that does not hold."""
    for check in found:
        if not check.holds:
            raise TrueupError(
                f"{pseudonym} could not be removed from {folder}: {check.what} should be "
                f"{check.expected}, and are {check.found}.",
                fix="`trueup episodes validate` says what is wrong with a dataset; words in files "
                "of your own are yours to take out. Then withdraw again.",
            )
    return tuple(found)


def _take_over_others(folder: Path, partial: Path) -> None:
    """Files that somebody put beside the dataset's own are not ours to lose."""
    for path in folder.iterdir():
        if path.name in _OURS:
            continue
        if path.is_dir():
            shutil.copytree(path, partial / path.name)
        else:
            shutil.copy2(path, partial / path.name)


def _beside(folder: Path) -> Check:
    """Older copies that an interrupted withdrawal left are removed, and counted."""
    for path in _siblings(folder):
        shutil.rmtree(path, ignore_errors=True)
    left = sum(path.exists() for path in _siblings(folder))
    return Check(what="older copies beside it", expected=0, found=left)


def _restored(folder: Path) -> Path:
    """A dataset whose swap was cut off between two renames stands under its old name."""
    _, old = _siblings(folder)
    if not folder.exists() and old.exists():
        old.rename(folder)
    return folder


def _siblings(folder: Path) -> tuple[Path, Path]:
    partial, old = (folder.with_name(f".{folder.name}.{word}") for word in ("partial", "old"))
    return partial, old


def _gone(i: int, episode: Episode, frames: int) -> Gone:
    return Gone(
        episode=i,
        frames=frames,
        pictures=sum(places(video, frames) for video in episode.videos.values()),
        sha256=fingerprint(episode),
    )
