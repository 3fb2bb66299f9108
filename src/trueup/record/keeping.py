"""Episodes that could not be written where they should go: kept elsewhere, never dropped."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trueup.episodes import Episode, Writer
from trueup.errors import TrueupError

_MEMORY = Path("/dev/shm")  # a full disk leaves this


class NotWritten(TrueupError):
    """Episodes that did not reach their dataset.

    Attributes:
        episodes: The episodes.
        folder: Where they were written instead; none where that failed too.
    """

    def __init__(
        self, episodes: Sequence[Episode], folder: Path | None, reason: str, fix: str
    ) -> None:
        self.episodes, self.folder = tuple(episodes), folder
        count = f"{len(episodes)} episodes" if len(episodes) > 1 else "An episode"
        super().__init__(
            f"{count} could not be written: {reason.rstrip('.')}."
            + (
                f" {'They are' if len(episodes) > 1 else 'It is'} kept in {folder}."
                if folder
                else ""
            ),
            fix=fix or "Make room, then record the rest.",
        )


def kept(episodes: Sequence[Episode], error: TrueupError | OSError) -> NotWritten:
    """Write episodes to the first other place that takes them, and say so."""
    reason = error.what if isinstance(error, TrueupError) else str(error.strerror or error)
    fix = error.fix if isinstance(error, TrueupError) else ""
    places = (Path(tempfile.gettempdir()), Path.home(), Path.cwd(), _MEMORY)
    for place in dict.fromkeys(places):
        folder = _written(episodes, place)
        if folder is not None:
            return NotWritten(episodes, folder, reason, fix)
    return NotWritten(episodes, None, reason, fix)


def _written(episodes: Sequence[Episode], place: Path) -> Path | None:
    """A new dataset of episodes in some place; none where it does not take them."""
    try:
        new = Path(tempfile.mkdtemp(prefix="trueup-record-", dir=place))
    except OSError:
        return None
    try:
        with Writer(new / "dataset") as writer:
            for episode in episodes:
                writer.add(episode)
    except (TrueupError, OSError):
        shutil.rmtree(new, ignore_errors=True)
        return None
    return new / "dataset"
