"""Which effects a robot has: those that predict recordings better that the fit has not seen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueup.effects.latency import ActionDelay
from trueup.episodes import Episode
from trueup.identify.beginning import best_start
from trueup.identify.cutting import after, liveliest, shortened
from trueup.identify.fitting import fitted, gone_on
from trueup.identify.problem import Problem
from trueup.identify.suspects import AROUND, INSIDE, Suspect, Suspicion
from trueup.space import Point, Space
from trueup.worlds import World

BASE = (
    "actuation/*/kp",
    "actuation/*/damping",
    "actuation/*/frictionloss",
    "actuation/*/armature",
    "actuation/*/zero_offset",
    ActionDelay.delay,
)
WORTH = 0.02
"""Of what is left: a suspect that explains less is not tried."""
_TRIES = 4
_LEAST_GAIN = 0.02  # of the error on unseen recordings
_LONGEST_S = 25.0  # of each recording, on the way
_JUDGED_S = 60.0
_REST_S, _LEAST_REST_S = 25.0, 5.0  # of recordings that are fitted, beyond what a trial sees
_TOUCHED = 0.01  # of its error: a recording that changes by less has nothing to say
_ROUGH_S = 8.0  # of each, to choose where to begin
_STEPS = 3
_ASKED = ((AROUND, 25.0), (INSIDE, 12.0))  # which effects, and seconds of each recording for it

Told = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An effect that was tried.

    Attributes:
        suspect: What, and what it promised.
        gain: By what share of its size the error fell on unseen recordings that it reaches.
        spread: Standard error of that, over recordings.
        taken: Whether it is in the fit.
    """

    suspect: Suspect
    gain: float
    spread: float
    taken: bool

    def __str__(self) -> str:
        verdict = "taken" if self.taken else "left out"
        return (
            f"{self.suspect.what}: {verdict}; the error on what no trial had seen "
            f"{'fell' if self.gain > 0 else 'rose'} by {100 * abs(self.gain):.1f} "
            f"± {100 * self.spread:.1f} %."
        )

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {**vars(self), "suspect": self.suspect.to_json()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Choice:
        """What `to_json` described."""
        return Choice(**{**data, "suspect": Suspect.from_json(data["suspect"])})


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The parameters a fit should have, and where it stands.

    Attributes:
        space: What is free.
        u: (d,) the best point so far.
        choices: What was tried, in order.
        errors: (E,) what is left of each recording that judges; empty where nothing was tried.
    """

    space: Space
    u: np.ndarray
    choices: tuple[Choice, ...]
    errors: np.ndarray = field(default_factory=lambda: np.zeros(0))


class Chooser:
    """Greedy: fit, ask what is missing, add what promises most, keep it if unseen data agree.

    Args:
        world: Where the episodes are replayed.
        episodes: To fit.
        judges: To judge.
        options: Of `Problem`.
        tell: Told in a line how it stands.
    """

    def __init__(
        self,
        world: World,
        episodes: Sequence[Episode],
        judges: Sequence[Episode],
        *,
        options: dict[str, Any],
        tell: Told,
    ) -> None:
        self.world, self.tell = world, tell
        self.options = {"coupled": False, **options}
        self.episodes = list(episodes)
        self.judges = [shortened(e, _JUDGED_S) for e in judges]

    def chosen(self, base: Space, start: Point | None = None) -> Chosen:
        """Begin with some parameters, and add what the data ask for.

        Args:
            base: The parameters, with what is believed of them.
            start: Where a fit of them has ended; they are fitted first where there is none.
        """
        u = self._fitted(base) if start is None else base.encode(base.points(start))[0]
        alone = now = Chosen(space=base, u=u, choices=())
        # friction that is fitted to a push is wrong: first what is in the arm's way
        for gaps, longest_s in _ASKED:
            self.tell(f"asking what is missing: {', '.join(gaps)}")
            promising = self._suspects(now, gaps, longest_s)[:_TRIES]
            now = self._on_trial(now, longest_s) if promising else now
            for suspect in promising:
                now = self._tried(now, suspect, longest_s)
        if not any(choice.taken for choice in now.choices):
            return replace(alone, choices=now.choices)
        self.tell("all together")
        best = gone_on(self._problem(now.space), now.u, self.tell, most=2 * _STEPS)
        return replace(now, u=best.u)

    # --------------------------------------------------------------------------------------------

    def _fitted(self, base: Space) -> np.ndarray:
        self.tell(f"{len(base)} parameters that every arm has")
        rough = self._problem(base, _ROUGH_S)
        return fitted(self._problem(base), self.tell, rough=rough).u

    def _problem(self, space: Space, longest_s: float = _LONGEST_S) -> Problem:
        episodes = [liveliest(episode, longest_s) for episode in self.episodes]
        return Problem(self.world, episodes, space, **self.options)

    def _suspects(self, now: Chosen, gaps: Sequence[str], longest_s: float) -> list[Suspect]:
        """Effects of some gaps that are worth a try."""
        asked = Suspicion(
            self.world, self.episodes, now.space, now.u, longest_s=longest_s, **self.options
        )
        return [suspect for suspect in asked.suspects(gaps=gaps) if suspect.gain > WORTH]

    def _on_trial(self, now: Chosen, longest_s: float) -> Chosen:
        """What stands, fitted to as little as an effect is tried with: they are judged alike."""
        self.tell("what stands, on trial")
        u = self._trial(now.space, now.u, longest_s)
        return replace(now, u=u, errors=self._errors(now.space, u, longest_s))

    def _tried(self, now: Chosen, suspect: Suspect, longest_s: float) -> Chosen:
        self.tell(f"trying: {suspect}")
        space, start = _with(self.world, now, suspect)
        u = self._trial(space, start, longest_s, added=suspect.parameters)
        errors = self._errors(space, u, longest_s)
        gain, spread = _gain(now.errors, errors)
        taken = gain > max(_LEAST_GAIN, spread)
        choice = Choice(suspect=suspect, gain=gain, spread=spread, taken=taken)
        self.tell(str(choice))
        if not taken:
            return replace(now, choices=(*now.choices, choice))
        return Chosen(space=space, u=u, choices=(*now.choices, choice), errors=errors)

    def _trial(
        self, space: Space, start: np.ndarray, longest_s: float, added: Collection[str] = ()
    ) -> np.ndarray:
        """Some steps from a start (d,), by the beginnings of the recordings alone."""
        parts = [shortened(episode, longest_s) for episode in self.episodes]
        problem = Problem(self.world, parts, space, **self.options)
        if any(name.startswith("actuation/") for name in added):
            start = best_start(problem, start, added)
        return gone_on(problem, start, self.tell, most=_STEPS).u

    def _errors(self, space: Space, u: np.ndarray, longest_s: float) -> np.ndarray:
        """(E,) root mean square of all columns of each judge.

        Those are the recordings that were kept out, and of the others what comes after their
        beginnings, which a trial has not seen either: few recordings hold every kind of motion.
        """
        rest = [
            after(episode, longest_s, longest_s + _REST_S)
            for episode in self.episodes
            if episode.duration_s > longest_s + _LEAST_REST_S
        ]
        problem = Problem(self.world, [*self.judges, *rest], space, **self.options)
        found = problem.residual(u[None])
        power = found.values[0] ** 2
        return np.array(
            [np.sqrt(power[found.episode == e].mean()) for e in np.unique(found.episode)]
        )


def _gain(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """By what share errors (E,) fell, and the standard error of that.

    A table is touched in few recordings: those that an effect does not reach have no say.
    """
    gains = 1.0 - after / before
    reached = gains[np.abs(gains) > _TOUCHED]
    if not len(reached):
        return 0.0, 0.0
    scatter = reached.std(ddof=1) if len(reached) > 1 else abs(reached[0]) / 2
    return float(reached.mean()), float(scatter / np.sqrt(len(reached)))


def _with(world: World, now: Chosen, suspect: Suspect) -> tuple[Space, np.ndarray]:
    """The space with a suspect's parameters, and where to begin."""
    values = dict(now.space.decode(now.u[None])[0])
    start = dict(suspect.start)
    own_delays = [n for n in suspect.parameters if n.startswith("latency/") and n.count("/") == 2]
    if own_delays and ActionDelay.delay in values:
        # a delay of each joint's own says all that a shared one does
        shared = values.pop(ActionDelay.delay)
        start = {name: min(shared + 1e-3, world.catalogue[name].high) for name in own_delays}
    known = [p for p in now.space if p.name in values]
    added = [world.catalogue[n] for n in dict.fromkeys(suspect.parameters) if n not in values]
    space = Space((*known, *added))
    point = Point({**space.nominal(), **values, **start})
    return space, space.encode(space.points(point))[0]
