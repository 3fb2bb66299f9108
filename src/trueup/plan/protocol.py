"""The protocol: what to do next, how much of it, what it should give, and when to stop."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trueup.artefacts import Artefact
from trueup.errors import TrueupError
from trueup.files import whole
from trueup.plan.action import Kind

_KIND = Artefact(
    format="trueup/protocol",
    version=1,
    called="a protocol",
    written="`trueup plan GAPS --out protocol.json` writes one.",
    again="Plan again",
)
_RECORDED = (Kind.MOTIONS, Kind.PROBES, Kind.RESIDUAL)


def in_points(value: float) -> str:
    """So many points of success, as people say it."""
    return f"{round(value)} {'point' if round(value) == 1 else 'points'}"


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """Success that is expected to come back.

    Attributes:
        points: Of a hundred, if this is done and all else stays as it is.
        low: Lower end of the 90 % interval.
        high: Upper end.
        in_order: The same where everything above it in the list was done before.
    """

    points: float
    low: float
    high: float
    in_order: float

    def __str__(self) -> str:
        return f"{in_points(self.points)} (90 %: {round(self.low)} to {round(self.high)})"


@dataclass(frozen=True, kw_only=True)
class Work:
    """What exactly to do, for programs.

    Attributes:
        motions: What `trueup record` plays, in order.
        repeats: How often in each condition.
        conditions: What to set up: a level for each factor; one recording, person or share of the
            demonstrations for each row.
        demonstrations: How many in all.
        steps: What people do, in order.
        design: An estimate that `trueup record --design` narrows, instead of the motions.
        enter: The command that takes the result in.
        parameters: What is to be learned.
    """

    motions: tuple[str, ...] = ()
    repeats: int = 1
    conditions: tuple[Mapping[str, str], ...] = ()
    demonstrations: int = 0
    steps: tuple[str, ...] = ()
    design: str = ""
    enter: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to do.

    Attributes:
        number: Its place in the list, from 1.
        gap: What it is against.
        name: The action's name in the gap's template.
        kind: What sort of doing.
        title: One line for it.
        why: Why it stands here, in words.
        work: What exactly to do.
        recovery: What it should give.
        robot_minutes: How long the robot is taken up.
        hand_minutes: Work by hand without it.
        per_minute: Points for each minute of both; none where it takes none.
        trials: Trials afterwards that show such a recovery with 80 % power; none where that would
            take too many.
    """

    number: int
    gap: str
    name: str
    kind: Kind
    title: str
    why: str
    work: Work
    recovery: Recovery
    robot_minutes: float
    hand_minutes: float
    per_minute: float | None
    trials: int | None

    @property
    def minutes(self) -> float:
        """Of the robot and by hand."""
        return self.robot_minutes + self.hand_minutes

    @property
    def recordable(self) -> bool:
        """Whether `trueup record --protocol` can carry it out with a robot."""
        return self.kind in _RECORDED

    @property
    def with_people(self) -> bool:
        """Whether it needs participants and their consent."""
        return self.kind is Kind.PEOPLE


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """When to stop.

    Attributes:
        what: Of what: `item`, `trials` or `plan`.
        threshold: The number that decides.
        words: The rule.
    """

    what: str
    threshold: float
    words: str


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A plan from one gap report.

    Attributes:
        world: The world's name.
        policy: Whose trials were diagnosed.
        real: Whether a real robot took part; if not, all of it is sim-to-sim.
        loss: Points of success that went missing.
        report_sha256: Of the gap report that it came from.
        items: What to do, most points a minute first.
        stop: When to stop.
        sentences: The plan in words; the first three are for tired people.
        notes: What could not be planned, and why.
        made: How it was made, as JSON.
    """

    world: str
    policy: str
    real: bool
    loss: float
    report_sha256: str
    items: tuple[Item, ...]
    stop: tuple[StopRule, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)

    def item(self, number: int) -> Item:
        """The item of a number, from 1."""
        if not 1 <= number <= len(self.items):
            has = f"it has items 1 to {len(self.items)}" if self.items else "it has none"
            raise TrueupError(f"The protocol has no item {number}: {has}.", fix="Choose one.")
        return self.items[number - 1]

    @property
    def first_recording(self) -> Item | None:
        """The best item that a robot can carry out; none where there is none."""
        return next((item for item in self.items if item.recordable), None)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal protocol."""
        return {**_KIND.mark, **asdict(self)}

    @staticmethod
    def from_json(data: Any, where: str = "the protocol") -> Protocol:
        """The protocol that `to_json` described."""
        return _KIND.read(data, where, _read)

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        with whole(path) as partial:
            text = json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
            partial.write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path | str) -> Protocol:
        """Read what `save` wrote."""
        return Protocol.from_json(_KIND.load(path), str(path))


def sha256_of(data: Any) -> str:
    """The hash of a JSON object, however its file is laid out."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(data: Mapping[str, Any]) -> Protocol:
    return Protocol(
        world=data["world"],
        policy=data["policy"],
        real=data["real"],
        loss=float(data["loss"]),
        report_sha256=data["report_sha256"],
        items=tuple(_item(row) for row in data["items"]),
        stop=tuple(StopRule(**row) for row in data["stop"]),
        sentences=tuple(data["sentences"]),
        notes=tuple(data["notes"]),
        made=data["made"],
    )


def _item(row: Mapping[str, Any]) -> Item:
    lists = ("motions", "conditions", "steps", "parameters")
    work = {**row["work"], **{name: tuple(row["work"][name]) for name in lists}}
    return Item(
        **{
            **row,
            "kind": Kind(row["kind"]),
            "work": Work(**work),
            "recovery": Recovery(**row["recovery"]),
        }
    )
