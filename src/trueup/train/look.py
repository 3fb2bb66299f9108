"""A look at a policy without its exploration, on fresh episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueup.evaluate import Begin, evaluate, piloted, trials, wilson
from trueup.policies import Policy
from trueup.space import Space
from trueup.worlds import World

_PART = 256  # episodes between two questions whether the rest is still worth playing
_SALT = 7919  # keeps these episodes apart from every other use of the training's seed


@dataclass(frozen=True, kw_only=True)
class Success:
    """A counted share of successes.

    Attributes:
        good: How many episodes succeeded.
        n: Of how many.
    """

    good: int
    n: int

    @property
    def share(self) -> float:
        """The share itself."""
        return self.good / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval."""
        return wilson(self.good, self.n)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.share:.1%} ({low:.1%} – {high:.1%})"

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return {"good": self.good, "n": self.n, "share": self.share, "interval_95": self.interval}


def success_of(
    policy: Policy,
    world: World,
    space: Space,
    n: int,
    seed: list[int],
    *,
    threads: int = 0,
    least: float | None = None,
    begin: Begin | None = None,
) -> Success:
    """How often a policy succeeds at fresh points of a space.

    Args:
        policy: Exactly as it is stored.
        world: Where.
        space: What differs; an empty one is the nominal world.
        n: How many episodes.
        seed: Which episodes; never the ones it learned from.
        threads: CPU threads; 0 takes all.
        least: Stop once the lower end of the interval could not reach this any more, whatever the
            episodes left would give.
        begin: How it takes the controls; by what the world observes, unless told otherwise.
    """
    points, seeds = trials(space, n, _mixed(seed))
    part, plays = n if least is None else _PART, begin or piloted(policy)
    good = played = 0
    for first in range(0, n, part):
        rows = slice(first, first + part)
        found = evaluate(world, plays, points[rows], seeds[rows], batch=256, threads=threads)
        good, played = good + int(found.success.sum()), played + len(found.success)
        if least is not None and wilson(good + n - played, n)[0] < least:
            break
    return Success(good=good, n=played)


def _mixed(seed: list[int]) -> int:
    """One number from several, the same everywhere."""
    mixed = _SALT
    for part in seed:
        mixed = (mixed * 1_000_003 + part) % (2**61 - 1)
    return mixed
