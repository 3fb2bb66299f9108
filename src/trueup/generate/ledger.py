"""The account of a generation: what was asked, what was tried, and what came of it.

It lies in the dataset. Each line stands for a stretch of attempts, and is written before their
episodes are committed; a line whose episodes are not there is struck out when work goes on.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError
from trueup.files import whole

_ASKED, _LINES = "meta/generation.json", "meta/generation.jsonl"


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Attempts that follow each other, all of which came to their end.

    Attributes:
        first: Number of the first.
        after: Number of the first that is not among them.
        kept: How many were stored.
        episodes: How many the dataset has with them.
        failures: Why the rest failed, counted.
    """

    first: int
    after: int
    kept: int
    episodes: int
    failures: dict[str, int] = field(default_factory=dict)


class Ledger:
    """What was done so far.

    Args:
        folder: The dataset.
        asked: Everything that decides what episode i is; a folder that was begun otherwise is
            refused.
        stored: Episodes that the dataset holds.
    """

    def __init__(self, folder: Path, asked: dict[str, Any], stored: int) -> None:
        self._folder = folder
        self._check(asked, stored)
        lines = self._read()
        self.stretches = [line for line in lines if line.episodes <= stored]
        if self.episodes != stored:
            raise TrueupError(
                f"{folder} holds {stored} episodes, but {self.episodes} were generated into it.",
                fix="Generate into a folder of its own.",
            )
        if len(self.stretches) < len(lines):
            self._rewrite()
        with whole(folder / _ASKED) as partial:
            partial.write_text(json.dumps(asked, indent=1, ensure_ascii=False) + "\n", "utf-8")

    @property
    def episodes(self) -> int:
        """How many are stored."""
        return self.stretches[-1].episodes if self.stretches else 0

    @property
    def attempts(self) -> int:
        """How many came to their end; also the number of the next one."""
        return self.stretches[-1].after if self.stretches else 0

    @property
    def failures(self) -> Counter[str]:
        """Why attempts failed, counted."""
        total: Counter[str] = Counter()
        for stretch in self.stretches:
            total.update(stretch.failures)
        return total

    def announce(self, kept: int, after: int, failures: Counter[str]) -> None:
        """Write down a stretch whose episodes are about to be committed."""
        stretch = Stretch(
            first=self.attempts,
            after=after,
            kept=kept,
            episodes=self.episodes + kept,
            failures=dict(failures),
        )
        with (self._folder / _LINES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(stretch), ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.stretches.append(stretch)

    def _check(self, asked: dict[str, Any], stored: int) -> None:
        path = self._folder / _ASKED
        if not path.is_file():
            if stored:
                raise TrueupError(
                    f"{self._folder} holds {stored} episodes that were not generated.",
                    fix="Generate into a folder of its own.",
                )
            return
        before = json.loads(path.read_text(encoding="utf-8"))
        for word in (w for w in {**before, **asked} if w != "versions"):
            now = json.loads(json.dumps(asked.get(word)))
            if before.get(word) != now:
                raise TrueupError(
                    f"{self._folder} was begun otherwise: its {word} was "
                    f"{_short(before.get(word))}, here it is {_short(now)}.",
                    fix="Choose another --out, or give the options it was begun with to go on.",
                )

    def _read(self) -> list[Stretch]:
        path = self._folder / _LINES
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        found = []
        for line in lines:
            try:
                found.append(Stretch(**json.loads(line)))
            except (ValueError, TypeError):
                break  # cut short by what stopped the process; nothing after it is trusted
        return found

    def _rewrite(self) -> None:
        with whole(self._folder / _LINES) as partial:
            lines = [json.dumps(vars(s), ensure_ascii=False) + "\n" for s in self.stretches]
            partial.write_text("".join(lines), "utf-8")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
