"""From episodes to an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from trueup.episodes import Episode
from trueup.episodes.episode import JOINTS
from trueup.errors import TrueupError
from trueup.identify.check import Check, checked, checked_inside
from trueup.identify.choose import Choice, Chooser, Chosen
from trueup.identify.cutting import liveliest, settled
from trueup.identify.estimate import Estimate, Misfit, belief_of, findings_of
from trueup.identify.fitting import Told, fitted
from trueup.identify.posterior import Posterior, approximated, believed, prior_spread
from trueup.identify.problem import Problem
from trueup.identify.scales import sentences, unloaded, widened
from trueup.identify.suspects import Suspicion
from trueup.identify.usable import Split, usable
from trueup.identify.wandering import SETTLED_S, wander_rate, wanders
from trueup.space import Point, Space
from trueup.versions import versions
from trueup.worlds import World

_LONG_S = 120.0  # of recordings: beyond that the first part of each has to do
_LONGEST_S = 25.0


def identify(
    world: World,
    episodes: Sequence[Episode],
    space: Space,
    *,
    signals: Sequence[str] = ("joint_position",),
    window_s: float | None = None,
    choose: bool = False,
    chosen: Chosen | None = None,
    wander: float | None = None,
    sure: bool = True,
    check: bool = True,
    threads: int = 0,
    on_progress: Told | None = None,
) -> Estimate:
    """Fit the free parameters of a space to episodes, and say how sure.

    Some of the recordings are kept out of the fit and only judge it.

    Args:
        world: Where the episodes are replayed.
        episodes: What was recorded.
        space: The parameters to fit, with what is believed of them.
        signals: What to compare.
        window_s: Begin anew at the measured state after each so many seconds.
        choose: Add effects of the catalogue that predict unseen recordings better.
        chosen: What was chosen before, by `chosen_from`: it is not fitted again.
        wander: How fast encoders wander, rad/√s; by default as fast as these episodes show.
        sure: Put how sure it is to the test by sampling. A fit that is only compared with another
            needs none, and takes half as long.
        check: Ask whether reality lies inside what the fitted space can produce, and which effects
            outside it would explain the rest.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    free = space.select(*(name for name in space.names if not space[name].fixed))
    if not len(free):
        raise TrueupError(
            "Every parameter of this space is fixed.", fix="Select some that may differ."
        )
    options = {"signals": signals, "window_s": window_s, "threads": threads}
    job = _job(world, episodes, options, wander, on_progress)
    if choose and chosen is None:
        chosen = job.chosen(free)
    return job.estimate(free, chosen, sure=sure, check=check)


def chosen_from(
    world: World,
    episodes: Sequence[Episode],
    space: Space,
    start: Point,
    *,
    wander: float | None = None,
    threads: int = 0,
    on_progress: Told | None = None,
) -> Chosen:
    """Effects of the catalogue to add to a fit that has ended, if they predict unseen motion.

    Args:
        world: Where the episodes are replayed.
        episodes: What was recorded.
        space: The parameters that were fitted.
        start: Where that ended.
        wander: How fast encoders wander, as `identify` takes it.
        threads: CPU threads; 0 takes all.
        on_progress: Told in a line how it stands.
    """
    options = {"signals": (JOINTS,), "window_s": None, "threads": threads}
    return _job(world, episodes, options, wander, on_progress).chosen(space, start)


def _job(
    world: World,
    episodes: Sequence[Episode],
    options: dict[str, Any],
    wander: float | None,
    tell: Told | None,
) -> _Job:
    """An identification of these episodes, in which encoders that wander mislead nobody."""
    wander = wander_rate(episodes) if wander is None else wander
    if wander:
        episodes = [settled(episode, SETTLED_S) for episode in episodes]
    split = usable(episodes)
    if wander:
        split = replace(split, notes=(*split.notes, wanders(wander)))
    return _Job(
        world=world,
        split=split,
        options={**options, "wander": wander},
        tell=tell or (lambda _: None),
        began=perf_counter(),
    )


@dataclass(frozen=True, kw_only=True)
class _Job:
    """One identification.

    Attributes:
        world: Where.
        split: What is fitted and what judges.
        options: Of `Problem`.
        tell: Told how it stands.
        began: When, by the clock of `perf_counter`.
    """

    world: World
    split: Split
    options: dict[str, Any]
    tell: Told
    began: float

    def estimate(self, free: Space, chosen: Chosen | None, *, sure: bool, check: bool) -> Estimate:
        free = free if chosen is None else chosen.space
        choices = () if chosen is None else chosen.choices
        before = free.encode(free.nominal())[0]
        long = sum(episode.duration_s for episode in self.split.fitted) > _LONG_S
        episodes = [liveliest(e, _LONGEST_S) if long else e for e in self.split.fitted]
        problem = Problem(self.world, episodes, free, coupled=not long, **self.options)
        start = fitted(problem, self.tell).u if chosen is None else chosen.u
        self.tell("how sure")
        posterior = self._sure(problem, start, checked=sure and not long)
        judge = Problem(self.world, self.split.held, free, **self.options)
        u = posterior.mean
        loose = unloaded(self.world, self.split.fitted, free)
        spread = prior_spread(free)
        covariance = widened(posterior.covariance, list(loose.values()), spread)
        left = np.sqrt(np.diag(covariance)) / spread
        return Estimate(
            world=self.world.name,
            belief=belief_of(free, u, covariance),
            findings=findings_of(free, u, covariance, left),
            unseen=(*sentences(list(loose)), *map(str, posterior.unseen)),
            fitted=_misfit(problem, before, u, len(self.split.fitted)),
            held=_misfit(judge, before, u, len(self.split.held)),
            noise=dict(zip(problem.columns, posterior.noise.tolist(), strict=True)),
            check=self._checked(problem, posterior, choices) if check else None,
            choices=choices,
            notes=self.split.notes,
            made={
                "seconds": round(perf_counter() - self.began, 2),
                "posterior": posterior.sentence,
                "window_s": self.options["window_s"],
                "signals": list(self.options["signals"]),
                "versions": versions("mujoco", "numpy", "scipy"),
            },
        )

    def _sure(self, problem: Problem, u: np.ndarray, *, checked: bool) -> Posterior:
        """The posterior; put to the test by sampling where the recordings are short enough."""
        if checked:
            return believed(problem, u, on_progress=self.tell)
        return approximated(problem, u)

    def chosen(self, free: Space, start: Point | None = None) -> Chosen:
        chooser = Chooser(
            self.world,
            self.split.fitted,
            self.split.held,
            options=self.options,
            tell=self.tell,
        )
        return chooser.chosen(free, start)

    def _checked(
        self, problem: Problem, posterior: Posterior, choices: tuple[Choice, ...]
    ) -> Check | None:
        if "joint_position" not in self.options["signals"]:
            return None
        self.tell("is anything missing?")
        free, u = problem.space, posterior.mean
        point = free.decode(u[None])[0]
        where = {key: self.options[key] for key in ("window_s", "threads")}
        first = checked(self.world, self.split.held, point, covariance=posterior.narrow, **where)
        first = first.joined(checked_inside(problem, u))
        if first.inside:
            return first
        if choices:  # they have been asked
            suspects = [choice.suspect for choice in choices if not choice.taken]
        else:
            asked = Suspicion(self.world, self.split.fitted, free, u, **self.options)
            suspects = asked.suspects()
        return replace(first, suspects=tuple(suspects))


def _misfit(problem: Problem, before: np.ndarray, after: np.ndarray, episodes: int) -> Misfit:
    found = problem.residual(np.stack([before, after]))
    raw = found.values * problem.scale[found.column]
    sizes = [
        np.sqrt((raw[:, found.column == c] ** 2).mean(axis=1)) for c in range(len(problem.columns))
    ]
    first, last = (
        {name: float(size[k]) for name, size in zip(problem.columns, sizes, strict=True)}
        for k in (0, 1)
    )
    return Misfit(episodes=episodes, before=first, after=last)
