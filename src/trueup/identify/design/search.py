"""The search for the sequence of motions after which least is left to doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from trueup.identify.design.candidates import Candidate, lasting, varied
from trueup.identify.design.information import information, rehearsed
from trueup.identify.design.knowledge import Knowledge
from trueup.identify.design.safety import Safety
from trueup.worlds import World

_NOTHING = 1e-3  # nats: a motion that brings less is not worth a robot's time
_VARIANTS = 4
_STEPS = (0.5, 0.35, 0.25)  # how far numbers are changed, round by round


@dataclass(kw_only=True)
class Search:
    """Motions chosen so far, and what they tell.

    Attributes:
        world: Whose model describes the robot.
        known: What is known before.
        safety: What is allowed.
        seconds: For all motions and ways.
        generator: Of variations.
        threads: CPU threads.
        chosen: The motions, in order.
        told: (draws, d, d) of each.
    """

    world: World
    known: Knowledge
    safety: Safety
    seconds: float
    generator: np.random.Generator
    threads: int = 0
    chosen: list[Candidate] = field(default_factory=list)
    told: list[np.ndarray] = field(default_factory=list)
    _round: int = 0

    def gain(self, told: Sequence[np.ndarray]) -> float:
        """Expected fall of the logarithm of the posterior's volume, averaged over the draws."""
        after = self.known.precision + sum(told, np.zeros_like(self.known.precision))
        before = np.linalg.slogdet(self.known.precision)[1]
        return 0.5 * float(np.mean(np.linalg.slogdet(after)[1]) - before)

    def taken_s(self, chosen: Sequence[Candidate] | None = None) -> float:
        """Seconds of some motions and all ways: from the ready pose, between them, and back."""
        chosen = self.chosen if chosen is None else chosen
        stops = self._stops(chosen)
        ways = (self.safety.way_s(one, other) for one, other in pairwise(stops))
        return sum(candidate.seconds for candidate in chosen) + sum(ways)

    def choose(
        self, pool: Sequence[Candidate], others: Sequence[tuple[Candidate, np.ndarray]] = ()
    ) -> None:
        """Fill the time one by one, each time with what brings most per second.

        Args:
            pool: Motions in free air.
            others: Motions of which it is known already what they tell.
        """
        everything = [*zip(pool, self.tell(pool), strict=True), *others]
        best, most = ([], []), 0.0
        # a pose that is far away pays only in the long run: each is tried as the first
        for first in dict.fromkeys(tuple(candidate.centre) for candidate, _ in everything):
            self.chosen, self.told = [], []
            there = [one for one in everything if tuple(one[0].centre) == first]
            while (found := self._next(everything if self.chosen else there)) is not None:
                self.chosen.append(found[0])
                self.told.append(found[1])
            if (gain := self.gain(self.told)) > most:
                best, most = (self.chosen, self.told), gain
        self.chosen, self.told = best

    def improve(self) -> None:
        """Change the numbers of the chosen motions a little, and keep what is better."""
        size = _STEPS[min(self._round, len(_STEPS) - 1)]
        self._round += 1
        tried = [
            (i, other)
            for i, candidate in enumerate(self.chosen)
            for _ in range(_VARIANTS)
            if (other := varied(candidate, self.safety, self.generator, size)) is not None
        ]
        self._adopt(tried)

    def fill(self) -> None:
        """Let the motions last as long as there is time left."""
        sum_s = sum(candidate.seconds for candidate in self.chosen)
        spare = self.seconds - self.taken_s()
        tried = [
            (i, other)
            for i, candidate in enumerate(self.chosen)
            if (other := lasting(candidate, candidate.seconds * (1 + spare / sum_s), self.safety))
        ]
        self._adopt(tried)

    def tell(self, some: Sequence[Candidate]) -> list[np.ndarray]:
        """(draws, d, d) what each of some motions in free air tells."""
        if not some:
            return []
        signals = self.known.signals(without=self.safety.envelope.things)
        plans = [candidate.plan for candidate in some]
        episodes = rehearsed(self.world, plans, self.known, signals, self.threads)
        told = information(self.world, episodes, self.known, signals, threads=self.threads)
        return list(np.swapaxes(told, 0, 1))

    # --------------------------------------------------------------------------------------------

    def _next(
        self, everything: Sequence[tuple[Candidate, np.ndarray]]
    ) -> tuple[Candidate, np.ndarray] | None:
        """Which candidate brings most per second, if any fits and brings something."""
        now, best, most = self.gain(self.told), None, 0.0
        taken = self.taken_s()
        for candidate, told in everything:
            added = self.gain([*self.told, told]) - now
            takes = self.taken_s([*self.chosen, candidate]) - taken
            if added < _NOTHING or added / takes <= most:
                continue
            if not self._is_allowed([*self.chosen, candidate]):
                continue
            best, most = (candidate, told), added / takes
        return best

    def _stops(self, chosen: Sequence[Candidate]) -> list[np.ndarray]:
        """Where the arm rests on the way: ready, the centre of each motion, ready."""
        ready = np.array(self.safety.body.ready)
        return [ready, *(candidate.centre for candidate in chosen), ready]

    def _is_allowed(self, chosen: Sequence[Candidate]) -> bool:
        """Whether the time suffices and every way from one to the next is free."""
        ways = pairwise(self._stops(chosen))
        return self.taken_s(chosen) <= self.seconds + 1e-6 and all(
            self.safety.free(one, other) for one, other in ways
        )

    def _adopt(self, tried: Sequence[tuple[int, Candidate]]) -> None:
        """Put each changed motion in the place of the one it came from, where that is better."""
        told = self.tell([candidate for _, candidate in tried])
        for (i, candidate), matrices in zip(tried, told, strict=True):
            chosen = [*self.chosen[:i], candidate, *self.chosen[i + 1 :]]
            others = [*self.told[:i], matrices, *self.told[i + 1 :]]
            if self.gain(others) > self.gain(self.told) and self._is_allowed(chosen):
                self.chosen, self.told = chosen, others
