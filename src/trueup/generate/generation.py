"""Generating: attempts in physics until enough have succeeded, stored as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueup.episodes import Episode, Outcome
from trueup.episodes.consent.register import PARTICIPANT
from trueup.errors import TrueupError
from trueup.evaluate import wilson
from trueup.generate.attempts import Draw
from trueup.generate.ledger import Ledger
from trueup.generate.order import Order
from trueup.generate.shelf import Shelf
from trueup.generate.stage import Attempt, Stage
from trueup.generate.wording import chosen, texts
from trueup.streams import Streams

_SLOTS = 256
_FEW = 32  # slots for few episodes: the last ones run alone, and idle worlds cost time too
_STORED = 256  # episodes in a commit
_HOPELESS, _TRIED = 0.02, 256  # less than this share of so many attempts: it leads nowhere
_WORDS = 0x776F7264  # salt of the wording


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What came of it.

    Attributes:
        folder: The dataset.
        episodes: How many it holds.
        attempts: How many were tried for them.
        failures: Why the rest failed, counted; most first.
        before: Episodes that an earlier run had stored.
        ended: `done`, or `interrupted`.
    """

    folder: Path
    episodes: int
    attempts: int
    failures: Mapping[str, int] = field(default_factory=dict)
    before: int = 0
    ended: str = "done"

    @property
    def share(self) -> float:
        """The share of attempts that were kept; NaN without attempts."""
        return self.episodes / self.attempts if self.attempts else float("nan")

    def interval(self) -> tuple[float, float]:
        """Where the true share lies, with 95 % confidence, after Wilson."""
        return wilson(self.episodes, self.attempts)


def generate(
    order: Order,
    folder: Path | str,
    *,
    slots: int = _SLOTS,
    threads: int = 0,
    on_progress: Callable[[int], None] = lambda episodes: None,
) -> Generated:
    """Fill a dataset with demonstrations that succeeded in physics.

    An attempt counts only once all before it are over, so that episode i is the same however many
    run side by side, and a run that was stopped goes on where it was, whatever stopped it. Ctrl-C
    stores what is done and returns.

    Args:
        order: What is wanted.
        folder: The dataset; one that was begun with the same order is gone on with.
        slots: Worlds that are stepped together, at most; memory grows with it, results do not
            depend on it.
        threads: CPU threads; 0 takes all.
        on_progress: Called with the number of episodes just stored.
    """
    folder = Path(folder)
    with Shelf(folder, robot_type=order.world.name.partition("/")[0]) as shelf:
        ledger = Ledger(folder, order.asked(), len(shelf))
        before, work = len(shelf), _Work(order, shelf, ledger, on_progress)
        ended = "done"
        if before < order.episodes:
            ended = work.run(slots, threads)
    failures = dict(ledger.failures.most_common())
    return Generated(
        folder=folder,
        episodes=ledger.episodes,
        attempts=ledger.attempts,
        failures=failures,
        before=before,
        ended=ended,
    )


class _Work:
    """A generation while it runs."""

    def __init__(
        self, order: Order, shelf: Shelf, ledger: Ledger, tell: Callable[[int], None]
    ) -> None:
        self._order, self._shelf, self._ledger, self._tell = order, shelf, ledger, tell
        self._sayings = order.wording or texts(order.world)
        self._ended: dict[int, Attempt] = {}  # out of order yet
        self._kept: list[Attempt] = []
        self._failures: Counter[str] = Counter()
        self._following = ledger.attempts

    def run(self, slots: int, threads: int) -> str:
        order = self._order
        stage = Stage(
            order.world,
            Draw(order.space, order.seed),
            order.cast,
            slots=max(1, min(slots, self._needed(0), max(_FEW, self._needed(0) // 4))),
            privileged=order.privileged,
            threads=threads,
        )
        try:
            for found in stage.run(self._ledger.attempts, self._needed):
                if self._take(found):
                    break
        except KeyboardInterrupt:
            self._store(len(self._kept))
            return "interrupted"
        return "done"

    def _needed(self, busy: int) -> int:
        """How many more attempts it may take, with a few to spare, beside those under way."""
        waiting = sum(attempt.kept for attempt in self._ended.values())
        wanted = self._order.episodes - len(self._shelf) - len(self._kept) - waiting
        return max(0, int(np.ceil(1.05 * wanted)) + 1 - busy) if wanted > 0 else 0

    def _take(self, found: list[Attempt]) -> bool:
        """Put attempts that ended into order, and store what is due; whether that was all."""
        self._ended.update({attempt.number: attempt for attempt in found})
        while self._following in self._ended:
            attempt = self._ended.pop(self._following)
            self._following += 1
            if not attempt.kept:
                self._failures[attempt.verdict.why] += 1
            else:
                self._kept.append(attempt)
            enough = len(self._shelf) + len(self._kept) >= self._order.episodes
            if enough or len(self._kept) == _STORED:
                self._store(len(self._kept))
            if enough:
                return True
        self._check_hope()
        return False

    def _store(self, kept: int) -> None:
        """Commit what came to its end, in order."""
        self._ledger.announce(kept, self._following, self._failures)
        self._shelf.add(list(self._episodes()))
        self._tell(kept)
        self._kept, self._failures = [], Counter()

    def _episodes(self) -> Iterator[Episode]:
        seeds = [attempt.seed for attempt in self._kept]
        luck = Streams(seeds, salt=_WORDS).uniform(1)[:, 0]
        sayings = chosen(self._sayings, luck)
        for attempt, task in zip(self._kept, sayings, strict=True):
            yield _episode(self._order, attempt, task)

    def _check_hope(self) -> None:
        tried = self._following
        kept = len(self._shelf) + len(self._kept)
        if tried >= _TRIED and kept < _HOPELESS * tried:
            failures = self._ledger.failures + self._failures
            why, times = failures.most_common(1)[0]
            self._store(len(self._kept))
            raise TrueupError(
                f"Only {kept} of {tried} attempts worked; {times} times {why}.",
                fix="Give other sources, or a space that is easier: --select, --nominal.",
            )


def _episode(order: Order, attempt: Attempt, task: str) -> Episode:
    taped = attempt.taped
    assert taped is not None
    origin: dict[str, Any] = {
        "robot": order.world.name.partition("/")[0],
        "kind": "generated",
        "real": False,
        "label": "simulated",
        "world": order.world.name,
        "source": attempt.told["source"],
        "generation_seed": order.seed,
        "attempt": attempt.number,
        "seed": attempt.seed,
        "point": dict(attempt.point),
    }
    if taped.wrong:
        origin["mistake_frames"] = list(taped.wrong)
    said = (PARTICIPANT, "recovery")
    return Episode(
        signals=taped.signals,
        period_s=order.world.control_period_s,
        task=task,
        outcome=Outcome.SUCCESS,
        labels={name: attempt.told[name] for name in said if name in attempt.told},
        origin=origin,
    )
