"""A policy in the worlds that the robot may be, from fresh starts and from those of its trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.diagnose.prediction.outcomes import Outcomes
from trueup.diagnose.prediction.trials import Trials
from trueup.evaluate import Begin, evaluate
from trueup.space import Points, Space
from trueup.streams import seeds_from
from trueup.worlds import World

_ROBOTS, _STARTS = range(2)  # streams of one seed


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A policy whose success is to be predicted, or whose trials help to predict that of others.

    Attributes:
        name: For people.
        begin: How it takes the controls.
        mark: SHA-256 of its network, by which its trials are known; empty where it has none.
        asked: Whether its success is wanted; if not, it only calibrates.
    """

    name: str
    begin: Begin
    mark: str = ""
    asked: bool = True


@dataclass(frozen=True, kw_only=True)
class Robots:
    """Possible robots, the same for every policy.

    Attributes:
        points: One for each.
        starts: (draws, starts) seeds of episodes; no two alike.
    """

    points: Points
    starts: np.ndarray

    @classmethod
    def drawn(cls, space: Space, draws: int, starts: int, seed: int) -> Robots:
        """`draws` robots from a space; where it leaves nothing open, one with all the starts."""
        if not space.free:
            draws, starts = 1, draws * starts
        robots, episodes = (np.random.default_rng([seed, part]) for part in (_ROBOTS, _STARTS))
        seeds = seeds_from(episodes, draws * starts).reshape(draws, starts)
        return cls(points=space.sample(robots, draws), starts=seeds)


def outcomes(
    world: World,
    candidate: Candidate,
    robots: Robots,
    trials: Sequence[Trials] = (),
    *,
    threads: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> Outcomes:
    """Play a policy in every possible robot, from fresh starts and as its trials began."""
    known = [t for t in trials if t.repeatable]
    other = [t for t in trials if not t.repeatable]
    begun = np.concatenate([t.seeds for t in known]) if known else np.zeros(0, np.uint64)
    draws, fresh = robots.starts.shape
    seeds = np.concatenate([robots.starts, np.tile(begun, (draws, 1))], axis=1)
    played = evaluate(
        world,
        candidate.begin,
        robots.points[np.repeat(np.arange(draws), seeds.shape[1])],
        seeds.ravel(),
        threads=threads,
        on_progress=on_progress,
    )
    success = played.success.reshape(seeds.shape)
    return Outcomes(
        policy=candidate.name,
        fresh=success[:, :fresh],
        paired=success[:, fresh:],
        starts=begun,
        beside=np.concatenate([t.success for t in known]) if known else np.zeros(0, bool),
        alone=np.concatenate([t.success for t in other]) if other else np.zeros(0, bool),
    )
