"""The gap report: what was lost between simulation and robot, and which gap cost how much of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trueup.artefacts import Artefact
from trueup.evaluate import wilson
from trueup.files import whole

FORMAT = "trueup/gap-report"
_KIND = Artefact(
    format=FORMAT,
    version=1,
    called="a gap report",
    written="`trueup diagnose` writes a gaps.json into its --out folder.",
    again="Diagnose again",
)
UNEXPLAINED = "unexplained"
"""What stands beside the eight gaps: the part of the loss that none of them accounts for."""

CONFIDENCE = 0.9


@dataclass(frozen=True, kw_only=True)
class Rate:
    """How often a policy succeeded.

    Attributes:
        successes: So many times.
        trials: Of so many.
    """

    successes: int
    trials: int

    @property
    def share(self) -> float:
        """Of the trials, from 0 to 1."""
        return self.successes / self.trials if self.trials else float("nan")

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Where the true share lies, after Wilson."""
        return wilson(self.successes, self.trials, confidence)

    def __str__(self) -> str:
        return f"{100 * self.share:.0f} % ({self.successes} of {self.trials})"


@dataclass(frozen=True, kw_only=True)
class Share:
    """One gap's part of the lost success.

    Attributes:
        gap: One of the eight, or `unexplained`.
        points: Success lost to it, in points of a hundred; negative where it helped.
        low: Lower end of the 90 % interval.
        high: Upper end.
    """

    gap: str
    points: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether it costs anything at all, as far as 90 % can tell."""
        return self.low > 0.0


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """Two gaps that hurt together more (or less) than one by one.

    Attributes:
        gaps: The two.
        points: Lost to both at once beyond what each loses alone.
        low: Lower end of the 90 % interval.
        high: Upper end.
    """

    gaps: tuple[str, str]
    points: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether it is told from none."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, kw_only=True)
class Departure:
    """One parameter that is believed to differ from the simulator.

    Attributes:
        name: Which.
        unit: Of the numbers.
        nominal: What the simulator has.
        value: What the evidence says.
        low: Lower end of its 90 % interval.
        high: Upper end.
        left: Its spread as a share of what was believed before: 1 is nothing learned.
    """

    name: str
    unit: str
    nominal: float
    value: float
    low: float
    high: float
    left: float


@dataclass(frozen=True, kw_only=True)
class GapReport:
    """What a diagnosis returns. Shares and the unexplained rest add up to the loss exactly.

    Attributes:
        world: The world's name.
        policy: Whose trials they were.
        real: Whether a real robot took part; if not, all of it is sim-to-sim.
        evidence: What it rests on, weakest first: `trials`, `recordings`, `probes`.
        simulated: Success at the nominal point.
        measured: Success on the robot.
        shares: Every gap, the most costly first.
        unexplained: What is left of the loss.
        interactions: Pairs that hurt together.
        departures: Parameters that differ, the surest first.
        sentences: The answer in words; the first three are for tired people.
        failures: Failure analysis as JSON, where the trials had signals or labels.
        notes: What could not be said, and why.
        made: How it was made, as JSON.
    """

    world: str
    policy: str
    real: bool
    evidence: tuple[str, ...]
    simulated: Rate
    measured: Rate
    shares: tuple[Share, ...]
    unexplained: Share
    interactions: tuple[Interaction, ...] = ()
    departures: tuple[Departure, ...] = ()
    sentences: tuple[str, ...] = ()
    failures: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """Points of success that went missing on the way to the robot."""
        return 100.0 * (self.simulated.share - self.measured.share)

    @property
    def ranked(self) -> tuple[Share, ...]:
        """Gaps and the unexplained rest, the most costly first."""
        return tuple(sorted((*self.shares, self.unexplained), key=lambda s: -s.points))

    @property
    def mostly(self) -> bool:
        """Whether what is ranked first costs more than all others together."""
        return self.ranked[0].points > 0.5 * self.loss

    def share(self, gap: str) -> Share:
        """The share of a gap, or of `unexplained`; nothing where it was not looked at."""
        for share in (*self.shares, self.unexplained):
            if share.gap == gap:
                return share
        return Share(gap=gap, points=0.0, low=0.0, high=0.0)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal report."""
        return {**_KIND.mark, **asdict(self), "loss": self.loss}

    @staticmethod
    def from_json(data: Any, where: str = "the gap report") -> GapReport:
        """The report that `to_json` described."""
        return _KIND.read(data, where, _read)

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            partial.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path | str) -> GapReport:
        """Read what `save` wrote."""
        return GapReport.from_json(_KIND.load(path), str(path))


def _read(data: Mapping[str, Any]) -> GapReport:
    pairs = [{**row, "gaps": tuple(row["gaps"])} for row in data["interactions"]]
    return GapReport(
        world=data["world"],
        policy=data["policy"],
        real=data["real"],
        evidence=tuple(data["evidence"]),
        simulated=Rate(**data["simulated"]),
        measured=Rate(**data["measured"]),
        shares=tuple(Share(**row) for row in data["shares"]),
        unexplained=Share(**data["unexplained"]),
        interactions=tuple(Interaction(**row) for row in pairs),
        departures=tuple(Departure(**row) for row in data["departures"]),
        sentences=tuple(data["sentences"]),
        failures=data["failures"],
        notes=tuple(data["notes"]),
        made=data["made"],
    )
