"""Who judges a policy while it is trained: looks at it, remembers the best, and confirms it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trueup.policies import Policy
from trueup.space import Space
from trueup.train.look import Success, success_of
from trueup.train.settings import Settings
from trueup.worlds import World


class Judge:
    """Looks at networks as they would be stored, and keeps the best.

    Attributes:
        looked: Success at the last look; none before the first.
        best: The best network so far, with its success.

    Args:
        world: Where.
        space: What differs there.
        settings: How many episodes, and which targets.
        policy: From a network to a policy.
        threads: CPU threads; 0 takes all.
    """

    def __init__(
        self,
        world: World,
        space: Space,
        settings: Settings,
        policy: Callable[[bytes], Policy],
        *,
        threads: int,
    ) -> None:
        self._world, self._space, self._settings = world, space, settings
        self._policy, self._threads = policy, threads
        self.looked: Success | None = None
        self.best: tuple[float, bytes] | None = None
        self._best_now = False

    def look(self, stored: bytes, update: int) -> Success:
        """Measure a network, and remember it if it is the best.

        One that has not learned for its least steps gives way to any later one.
        """
        s = self._settings
        looked = self._success(stored, self._space, s.check_episodes, update, 0)
        self._best_now = self.best is None or looked.share >= self.best[0]
        if self._best_now:
            early = update * s.update < s.least
            self.best = (0.0 if early else looked.share, stored)
        self.looked = looked
        return looked

    def confirm(self, stored: bytes, update: int, *, whole: bool) -> dict[str, Success]:
        """Measure the best network again on fresh episodes: a look alone picks lucky ones.

        From then on it counts for what was found here. Unless the `whole` answer is wanted, what
        cannot reach its target any more is not played to the end.
        """
        s = self._settings
        n, least = s.confirm_episodes, None if whole else s.target_nominal
        found = {"randomized": self._success(stored, self._space, n, update, 2)}
        self.best = (found["randomized"].share, stored)
        if whole or found["randomized"].interval[0] >= s.target:
            found["nominal"] = self._success(stored, Space(()), n, update, 1, least=least)
        return {name: found[name] for name in ("nominal", "randomized") if name in found}

    def reached(self, found: dict[str, Success]) -> bool:
        """Whether both targets are reached for sure: by the lower ends of the intervals."""
        s = self._settings
        wanted = {"nominal": s.target_nominal, "randomized": s.target}
        return all(
            name in found and found[name].interval[0] >= target for name, target in wanted.items()
        )

    @property
    def promising(self) -> bool:
        """Whether the last look was the best one and is worth the time of confirming it."""
        good = self.looked is not None and self.looked.share >= self._settings.target
        return good and self._best_now

    def _success(
        self,
        stored: bytes,
        space: Space,
        n: int,
        update: int,
        stream: int,
        *,
        least: float | None = None,
    ) -> Success:
        seed = [self._settings.seed, update, stream]
        policy = self._policy(stored)
        return success_of(policy, self._world, space, n, seed, threads=self._threads, least=least)

    def state(self) -> dict[str, Any]:
        """What it remembers, as JSON can hold it."""
        return {
            "looked": None if self.looked is None else [self.looked.good, self.looked.n],
            "best": None if self.best is None else [self.best[0], self.best[1].hex()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken."""
        if state["looked"]:
            self.looked = Success(good=state["looked"][0], n=state["looked"][1])
        if state["best"]:
            self.best = (state["best"][0], bytes.fromhex(state["best"][1]))
