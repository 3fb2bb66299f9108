"""What is to be generated: everything that decides what episode i is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueup.errors import TrueupError
from trueup.generate.advised import Advised, Advisor
from trueup.generate.drivers import Driver, Expert, Piloted, check_world
from trueup.generate.motion.legs import Source
from trueup.generate.motion.senses import Knows
from trueup.policies import Policy
from trueup.simulate import CpuWorlds
from trueup.space import Space
from trueup.versions import versions
from trueup.worlds import World

_MISTAKES = 0.1  # share of attempts


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be generated.

    Attributes:
        world: Where.
        source: Demonstrations to carry elsewhere; or a policy that performs them itself; or an
            expert that is asked at every moment.
        space: What differs between the worlds of the demonstrations.
        episodes: How many to keep.
        seed: Same seed, same episodes; fewer of them are the first of more.
        mistakes: The share of attempts with a mistake and the way back from it. By default a tenth;
            of an expert that is asked at every moment all, for ways back are what it shows best.
        knows: What carried demonstrations go by: the robot's `sensors`, so that what is done
            follows from what is recorded, or the `truth`, with which more attempts succeed. An
            expert that is asked at every moment knows the truth always.
        privileged: Record also what only the simulator knows.
        wording: The task in words, in as many ways as wanted; the world's by default.
    """

    world: World
    source: Sequence[Source] | Policy | Advisor
    space: Space
    episodes: int
    seed: int = 0
    mistakes: float | None = None
    knows: Knows = "sensors"
    privileged: bool = False
    wording: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise TrueupError(
                f"{self.episodes} episodes cannot be generated.", fix="Ask for at least 1."
            )
        if not 0.0 <= self.erring <= 1.0:
            raise TrueupError(
                f"The share of attempts with a mistake is {self.mistakes}.",
                fix="Give a number from 0 to 1.",
            )
        if not all(text.strip() for text in self.wording):
            raise TrueupError(
                "One of the ways to say the task is empty.", fix="Say it in words, or leave it out."
            )
        if not isinstance(self.source, Policy | Advisor):
            check_world(self.world)

    @property
    def erring(self) -> float:
        """The share of attempts with a mistake."""
        if self.mistakes is not None:
            return self.mistakes
        return 1.0 if isinstance(self.source, Advisor) else _MISTAKES

    @property
    def works(self) -> dict[str, float | None]:
        """The sources by name, and how often each worked when it was tried."""
        if isinstance(self.source, Policy | Advisor):
            return {self.source.name: None}
        return {source.name: source.works for source in self.source}

    def cast(self, worlds: CpuWorlds) -> Driver:
        """Who performs."""
        if isinstance(self.source, Policy):
            return Piloted(worlds, self.source)
        if isinstance(self.source, Advisor):
            return Advised(worlds, self.source, mistakes=self.erring)
        return Expert(worlds, self.source, knows=self.knows, mistakes=self.erring)

    def asked(self) -> dict[str, Any]:
        """Everything that decides what episode i is, as JSON."""
        return {
            "world": self.world.name,
            "sources": self.works,
            "seed": self.seed,
            "mistakes": self.erring,
            "knows": "truth" if isinstance(self.source, Advisor) else self.knows,
            "privileged": self.privileged,
            "wording": list(self.wording),
            "space": self.space.to_json(),
            "versions": versions(),
        }
