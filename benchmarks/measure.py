"""What a benchmark hands back, and how two sides take turns."""

from __future__ import annotations

import operator
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much work to spend.

    Attributes:
        worlds: Copies of the world in a batch.
        quick: A tenth of the time, for a look; its numbers are not for the docs.
        tasks: Worlds of the row training.
        seeds: Seeds of the rows training (0 1 2 by default) and curriculum (0 by default); numbers
            of robots in rows that draw many of them (all by default).
        threads: CPU threads in rows that go on where they were; 0 takes all. Results do not depend
            on it, so that several processes can share one of these rows by their seeds.
        steps: Control steps that each training of those two rows learns from, at most.
        world: Where the row diagnose-recorded hides its robots; each world wants a folder --out of
            its own.
        kinds: Of robots in that row: names of gaps, the word two, or names of effects outside the
            space; all by default.
        policy: Who plays in the rows evaluate-10k and predict-success, and whose success is
            diagnosed: a policy's folder, or the word script; for other rows, one that they train.
        controls: Train the controls of the row loop, too, where they are not yet: they take about
            as long as the loop itself.
        out: Where trainings and numbers are kept; what is done there is not done again.
    """

    worlds: int = 1024
    quick: bool = False
    tasks: tuple[str, ...] = ("so101/reach", "so101/push", "so101/lift", "so101/place")
    seeds: tuple[int, ...] = ()
    threads: int = 0
    steps: float | None = None
    world: str = "so101/lift"
    kinds: tuple[str, ...] = ()
    policy: str = "script"
    controls: bool = True
    out: Path = Path("out/benchmarks")

    def robots(self, many: int, few: int) -> list[int]:
        """Numbers of robots to draw: those that were asked for, all, or a few for a look."""
        return list(self.seeds) or list(range(few if self.quick else many))

    def turns(self, full: int) -> int:
        """How many turns each side gets."""
        return max(3, full // 5) if self.quick else full


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a value should be, e.g. at least 0.85."""

    side: Literal["≥", "≤", "<", ">"]
    value: float

    def met(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return _SIDES[self.side](value, self.value)


_SIDES = {"≥": operator.ge, "≤": operator.le, "<": operator.lt, ">": operator.gt}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One line of the table.

    Attributes:
        what: The quantity, in words.
        value: The median; None where nothing was measured.
        unit: Behind the number.
        spread: The middle 80 % of what the median was taken of.
        target: What it should be, where that was decided.
        note: What else to know, in a few words; the reason where nothing was measured.
        details: Numbers for the JSON only.
    """

    what: str
    value: float | None
    unit: str = ""
    spread: tuple[float, float] | None = None
    target: Target | None = None
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, what: str, samples: ArrayLike, **rest: Any) -> Measure:
        """The median of some samples and their middle 80 %."""
        samples = np.asarray(samples, float)
        low, middle, high = np.quantile(samples, (0.1, 0.5, 0.9))
        details = {"samples": len(samples), **rest.pop("details", {})}
        return cls(
            what=what,
            value=float(middle),
            spread=(float(low), float(high)),
            details=details,
            **rest,
        )

    @property
    def verdict(self) -> str:
        """Whether the target is met, in a word."""
        if self.value is None:
            return "not measured"
        if self.target is None:
            return "stated"
        return "met" if self.target.met(self.value) else "missed"

    @property
    def cells(self) -> tuple[str, ...]:
        """The line, cell by cell."""
        spread = "" if self.spread is None else "{} – {}".format(*map(_short, self.spread))
        target = "" if self.target is None else f"{self.target.side} {_short(self.target.value)}"
        value = "" if self.value is None else f"{_short(self.value)} {self.unit}".strip()
        return (self.what, value, spread, target, self.verdict, self.note)


class Turns:
    """Seconds that several sides took, turn by turn: on the clock, and of the processor."""

    def __init__(self) -> None:
        self._turns: dict[str, list[np.ndarray]] = defaultdict(list)
        self._running: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(2))

    @contextmanager
    def of(self, side: str) -> Iterator[None]:
        """Count what happens inside towards this side's turn."""
        start = _clocks()
        yield
        self._running[side] += _clocks() - start

    def end(self) -> None:
        """The turn is over for every side."""
        for side, seconds in self._running.items():
            self._turns[side].append(seconds)
        self._running.clear()

    def seconds(self, side: str) -> np.ndarray:
        """(turns,)"""
        return np.array(self._turns[side])[:, 0]

    def cpu_seconds(self, side: str) -> np.ndarray:
        """(turns,) of all threads together: steadier on a busy machine, blind to waiting."""
        return np.array(self._turns[side])[:, 1]

    def cores(self, side: str) -> float:
        """How many cores this side really got: fewer than it has threads where others are busy."""
        return float(self.cpu_seconds(side).sum() / self.seconds(side).sum())

    def ratio(self, above: str, below: str) -> np.ndarray:
        """(turns,) how much longer one side took than the other."""
        return self.seconds(above) / self.seconds(below)


def table(measures: Sequence[Measure]) -> str:
    """The measures as a Markdown table."""
    head = ("what", "measured", "middle 80 %", "target", "verdict", "note")
    return table_of(head, [m.cells for m in measures])


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Any cells as a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def _short(value: float) -> str:
    """Three figures, and all figures before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
