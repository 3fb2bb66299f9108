"""Every number that a run may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from trueup import train
from trueup.diagnose import Size
from trueup.errors import TrueupError

WORLD, REALITY = "so101/lift", "monday-arm"
_BARE = {"so101": "so101/arm"}  # the robot alone, by the first word of its worlds
FITTED = (
    "actuation/*/kp",
    "actuation/*/damping",
    "actuation/*/frictionloss",
    "actuation/*/armature",
    "sensing/*/bias",
    "latency/action_delay",
)
"""What is identified of an arm, as patterns."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run does. Same settings, same result.

    Attributes:
        world: What the policy is to do.
        robot: Its address.
        seed: Of everything that is drawn.
        trials: Attempts on the robot, before and after.
        target: Share of success on the robot at which there is nothing left to do.
        policy: A policy of one's own to begin with; otherwise one is trained in the nominal world.
        episodes: Recordings of one's own; otherwise the robot is recorded.
        start: How the starting policy is trained: not only until it succeeds, for such a policy is
            brittle, and a little more training would pass for a cure.
        tune: How a policy for the trued-up world is trained. All steps are used, so that controls,
            which take as many, are the same for every robot.
        simulated: Episodes that a policy is judged by in simulation.
        bank: How much is simulated to read the trials against.
        motions: What is recorded, beside what the plan asks for.
        seconds: Of recordings, at most.
        fitted: Which parameters are identified, as patterns.
        check: Whether to ask what the identified simulator still misses.
        controls: Whether to train the three controls, too.
        films: Trials that the report shows as films, at most.
        insist: Go on where the run would stop by itself.
    """

    world: str = WORLD
    robot: str = f"rehearsal:{REALITY}@{WORLD}"
    seed: int = 0
    trials: int = 20
    target: float = 0.9
    policy: str = ""
    episodes: str = ""
    start: train.Settings = field(
        default_factory=lambda: train.Settings(
            steps=4_000_000, least=600_000, target=0.95, target_nominal=0.95
        )
    )
    tune: train.Settings = field(
        default_factory=lambda: train.Settings(steps=800_000, target=1.0, target_nominal=1.0)
    )
    simulated: int = 400
    bank: Size = field(default_factory=lambda: Size(screened=40, kept=24, pairs=150, triples=20))
    motions: tuple[str, ...] = ("standard", "stops", "carry")
    seconds: float = 120.0
    fitted: tuple[str, ...] = FITTED
    check: bool = True
    controls: bool = False
    films: int = 2
    insist: bool = False

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("seed", 0), ("films", 0), ("simulated", 1)):
            if getattr(self, name) < least:
                raise TrueupError(
                    f"The setting {name} is {getattr(self, name)}.", fix=f"Give {least} or more."
                )
        if not 0.0 < self.target <= 1.0:
            raise TrueupError(f"The target is {self.target}.", fix="Give a share such as 0.9.")
        if not self.seconds > 0:
            raise TrueupError(
                "A recording of no length tells nothing.", fix="Give seconds above 0."
            )

    @property
    def bare(self) -> str:
        """The world that recorded motions are replayed in: the robot without its task."""
        return bare_of(self.world)

    @property
    def rehearsal(self) -> bool:
        """Whether the robot is started here, and hides its truth from us."""
        return self.robot.startswith("rehearsal:")

    def small(self) -> Settings:
        """The same loop with so little of everything that it only shows how it goes."""
        little = {"worlds": 32, "check_episodes": 32, "confirm_episodes": 64}
        return replace(
            self,
            trials=min(self.trials, 8),
            start=replace(self.start, **little, steps=40_000),
            tune=replace(self.tune, **little, steps=20_000),
            simulated=60,
            bank=Size(screened=4, kept=2, pairs=4, triples=0, trials=5, nominal=40),
            motions=("triangle", "prbs"),
            seconds=30.0,
            fitted=("latency/action_delay",),
            check=False,
            films=0,
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into equal settings."""
        return asdict(self)

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` described."""
        known = {f.name for f in fields(Settings)}
        given: dict[str, Any] = {name: value for name, value in stored.items() if name in known}
        for name in ("start", "tune"):
            given[name] = train.Settings.from_json(given[name])
        given["bank"] = Size(**given["bank"])
        for name in ("motions", "fitted"):
            given[name] = tuple(given[name])
        return Settings(**given)


def bare_of(world: str) -> str:
    """The world of the same robot without its task."""
    return _BARE.get(world.partition("/")[0], world)
