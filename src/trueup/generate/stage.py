"""Attempts in physics: many at once, each to its own end, the next one in its place at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from trueup.generate.attempts import Attempts, Draw
from trueup.generate.drivers import Driver
from trueup.generate.motion.performer import LONGER
from trueup.generate.tape import Tape, Taped
from trueup.generate.verdict import Verdict, Watch
from trueup.simulate import CpuWorlds
from trueup.space import Point, Points
from trueup.worlds import Compiled, World

_REFILL = 8  # one part in so many must be free before new attempts begin, as a reset costs time
_IDLE_S = 1.0  # a plan that is over for this long without success has failed


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One that came to its end.

    Attributes:
        number: Its own.
        seed: Of its episode.
        point: The world it was made in.
        verdict: How it ended, in words where it failed.
        told: Source and recovery, in words.
        taped: What was recorded; none where it failed.
    """

    number: int
    seed: int
    point: Point
    verdict: Verdict
    told: dict[str, str]
    taped: Taped | None

    @property
    def kept(self) -> bool:
        """Whether it succeeded."""
        return self.taped is not None


class Stage:
    """Performs attempts, as many side by side as there are slots.

    What becomes of an attempt depends on its number alone, not on the slot or on what runs beside
    it.

    Args:
        world: The world.
        draw: Where attempts come from.
        cast: Makes the driver for a batch.
        slots: Worlds that are stepped together, which bounds memory.
        privileged: Record also what only the simulator knows.
        threads: CPU threads; 0 takes all.
    """

    def __init__(
        self,
        world: World,
        draw: Draw,
        cast: Callable[[CpuWorlds], Driver],
        *,
        slots: int,
        privileged: bool = False,
        threads: int = 0,
    ) -> None:
        self._draw = draw
        self._worlds = CpuWorlds(Compiled(world, draw.space), slots, threads=threads)
        self._driver = cast(self._worlds)
        self._longest = int(np.ceil(LONGER * world.steps))
        self._steps = world.steps
        self._idle = round(_IDLE_S / world.control_period_s)
        self._tape = Tape(world, slots, self._longest, privileged=privileged)
        self._watch = Watch(self._worlds)
        self._number = np.full(slots, -1)
        self._age, self._still = np.zeros(slots, int), np.zeros(slots, int)
        self._last = np.zeros((slots, world.model.nu))

    @property
    def busy(self) -> int:
        """How many attempts are under way."""
        return int((self._number >= 0).sum())

    def run(self, first: int, more: Callable[[int], int]) -> Iterator[list[Attempt]]:
        """Perform attempts from number `first` on; those that ended, step by step.

        Args:
            first: Number of the first attempt.
            more: Called with the attempts under way; how many more may begin.
        """
        self._fill_all(first)
        following = first + len(self._number)
        while True:
            free = np.flatnonzero(self._number < 0)
            if len(free) * _REFILL >= len(self._number):
                rows = free[: max(0, more(self.busy))]
                if len(rows):
                    self._begin(rows, self._draw.numbered(following + np.arange(len(rows))))
                    following += len(rows)
            if not self.busy:
                return
            yield self._step()

    def _fill_all(self, first: int) -> None:
        rows = np.arange(len(self._number))
        self._begin(rows, self._draw.numbered(first + rows))

    def _begin(self, rows: np.ndarray, attempts: Attempts) -> None:
        self._worlds.reset(attempts.points, attempts.seeds, rows)
        self._number[rows] = attempts.numbers
        self._age[rows] = self._still[rows] = 0
        self._last[rows] = self._worlds.hold[rows]
        self._driver.begin(rows, attempts)
        self._watch.begin(rows)

    def _step(self) -> list[Attempt]:
        worlds, active = self._worlds, self._number >= 0
        rows = np.flatnonzero(active)
        observation = {**worlds.observation, **self._tape.privileged(worlds)}
        time_s = worlds.time_s.copy()
        command = np.where(active[:, None], self._driver.commands(self._age), self._last)
        self._last = command
        step = worlds.step(command)
        standing = self._driver.standing
        self._tape.add(rows, self._age[rows], observation, command, time_s, standing.wrong)
        self._age[rows] += 1
        self._watch.see(step)
        self._still = np.where(standing.over, self._still + 1, 0)
        limit = np.where(standing.back, self._longest, self._steps)
        late = (self._age >= limit) | (self._still > self._idle)
        ended = active & (step.success | step.failure | step.diverged | late)
        found = [self._ended(int(row), step.success) for row in np.flatnonzero(ended)]
        self._number[ended] = -1
        return found

    def _ended(self, row: int, success: np.ndarray) -> Attempt:
        verdict = self._watch.verdict(row, far=float(self._driver.standing.far[row]))
        return Attempt(
            number=int(self._number[row]),
            seed=int(self._worlds.seeds[row]),
            point=Points(self._worlds.space.names, self._worlds.points[row : row + 1].copy())[0],
            verdict=verdict,
            told=self._driver.told(row),
            taped=self._tape.taken(row, int(self._age[row])) if success[row] else None,
        )
