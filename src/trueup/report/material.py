"""What a report tells of: things that other rooms have stored, and a few that were only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trueup.diagnose import GapReport, Rate
from trueup.episodes import Dataset
from trueup.errors import TrueupError
from trueup.evaluate import Comparison
from trueup.identify import Estimate, Finding
from trueup.plan import Protocol
from trueup.plan.protocol import sha256_of
from trueup.replay import Panel
from trueup.report.blocks import Film


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A policy whose trials were counted and not diagnosed.

    Attributes:
        simulated: Success at the nominal point of its simulator.
        measured: Success on the robot.
    """

    simulated: Rate
    measured: Rate

    @property
    def loss(self) -> float:
        """Points of success that went missing on the way to the robot."""
        return 100.0 * (self.simulated.share - self.measured.share)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What was taken of the robot, apart from trials.

    Attributes:
        episodes: How many recordings.
        seconds: How long they are together.
        motions: How many of each motion, where they say which.
    """

    episodes: int
    seconds: float
    motions: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(dataset: Dataset) -> Recorded:
        """What a dataset holds, without reading its signals."""
        info = dataset.info
        names = [about.labels["motion"] for about in dataset.abouts() if "motion" in about.labels]
        return Recorded(
            episodes=info.episodes,
            seconds=info.frames / info.fps if info.fps else 0.0,
            motions=dict(Counter(names)),
        )

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"episodes": self.episodes, "seconds": self.seconds, "motions": dict(self.motions)}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Points of success between two policies that were tried from the same starts, with 95 %."""

    points: float
    low: float
    high: float

    @staticmethod
    def of(comparison: Comparison) -> Difference:
        """The first minus the second."""
        low, high = comparison.interval()
        return Difference(points=100 * comparison.difference, low=100 * low, high=100 * high)


@dataclass(frozen=True, kw_only=True)
class Control:
    """What else one could have done with the same effort.

    Attributes:
        name: Such as `nominal`, `uniform` or `mean`.
        what: What it is, in words.
        rate: Its success on the robot.
        steps: Steps of training, where they were counted.
        behind: How far it stays behind what the report is about; none where that was not tested.
    """

    name: str
    what: str
    rate: Rate
    steps: int | None = None
    behind: Difference | None = None


@dataclass(frozen=True, kw_only=True)
class Material:
    """Everything a report can tell of; what is absent is said to be absent.

    Attributes:
        title: The report's heading; made from the world's name by default.
        before: What was lost, and to what, by the best evidence there is.
        look: The same by trials alone, before anything was recorded.
        after: The new policy: diagnosed again, or only counted.
        recorded: What was taken of the robot.
        estimates: What recordings and probes say.
        identified: What came of identifying, in words, with what was left aside.
        overlays: Simulated over measured in one recording: panels before and after.
        failures: Failure analysis of the first trials; by default what `before` has.
        failures_after: The same of the last trials.
        films: Robot and simulator side by side.
        unfilmed: Why there are no films.
        latency: The latency budget of the first trials.
        protocol: What was, or is, to be done.
        controls: What else could have been done.
        steps: Steps of training that went into the new policy.
        stopped: Why no more is done, as a sentence.
        provenance: Seeds, versions and hashes; `commands` are lines to type.
    """

    before: GapReport
    title: str = ""
    look: GapReport | None = None
    after: GapReport | Tried | None = None
    recorded: Recorded | None = None
    estimates: tuple[Estimate, ...] = ()
    identified: str = ""
    overlays: tuple[Sequence[Panel], Sequence[Panel]] | None = None
    failures: Mapping[str, Any] | None = None
    failures_after: Mapping[str, Any] | None = None
    films: tuple[Film, ...] = ()
    unfilmed: str = ""
    latency: Mapping[str, Any] | None = None
    protocol: Protocol | None = None
    controls: tuple[Control, ...] = ()
    steps: int | None = None
    stopped: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, tried in (("before", self.before), ("after", self.after)):
            if tried is not None and not (tried.simulated.trials and tried.measured.trials):
                raise TrueupError(
                    f"What is told as `{name}` rests on no trials, so there is nothing to compare.",
                    fix="Run trials first: `trueup deploy`.",
                )
        for name, other in (("look", self.look), ("after", self.after), ("plan", self.protocol)):
            if other is None or isinstance(other, Tried):
                continue
            if (other.world, other.real) != (self.before.world, self.before.real):
                raise TrueupError(
                    f"What is told as `{name}` is of {_of(other)}, and the gap report is of "
                    f"{_of(self.before)}: they do not belong together.",
                    fix="Report each by itself.",
                )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One for each parameter; where several estimates tell of it, the last one counts."""
        return tuple({f.name: f for e in self.estimates for f in e.findings}.values())

    @property
    def planned_before(self) -> bool:
        """Whether the plan was made from the first look, before recordings were heard."""
        if self.protocol is None or self.look is None:
            return False
        of_look = self.protocol.report_sha256 == sha256_of(self.look.to_json())
        return of_look and set(self.look.evidence) < set(self.before.evidence)

    @property
    def robot(self) -> str:
        """What to call the robot."""
        return "the robot" if self.before.real else "the rehearsal robot"


def _of(told: GapReport | Protocol) -> str:
    return f"{told.world} on a {'real' if told.real else 'rehearsal'} robot"
