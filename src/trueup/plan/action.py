"""What can be done about a gap, as data: one file of actions for each gap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import resources
from typing import Any

from trueup.diagnose import UNEXPLAINED
from trueup.errors import UnknownName
from trueup.plan.covering import Row, covering_array
from trueup.space import Gap

GAPS = (*(str(gap) for gap in Gap), UNEXPLAINED)


class Kind(StrEnum):
    """What sort of doing an action is."""

    TRAIN = "train"
    """Nothing to record: what is known already is not yet in the policy."""
    MOTIONS = "motions"
    PROBES = "probes"
    RESIDUAL = "residual"
    DEMONSTRATIONS = "demonstrations"
    MEASURE = "measure"
    CALIBRATE = "calibrate"
    PEOPLE = "people"


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something to do about a gap.

    Attributes:
        name: One word for it.
        kind: What sort of doing.
        title: One line for it.
        then: How much of each parameter's doubt is left afterwards, by pattern; the first that
            matches counts. Stated, not measured; `left` in a later gap report tells the truth.
        motions: What `trueup record` is to play.
        repeats: How often.
        designed: Whether motions chosen for an estimate (`record --design`) may take their place.
        demonstrations: How many, over all conditions.
        demonstrations_each: How many in each condition.
        factors: What to vary: levels by name. Conditions are a covering array of them.
        hand_minutes: Work by hand, without the robot.
        steps: What people do, in order.
        enter: How the result is taken in.
    """

    name: str
    kind: Kind
    title: str
    then: Mapping[str, float]
    motions: tuple[str, ...] = ()
    repeats: int = 1
    designed: bool = False
    demonstrations: int = 0
    demonstrations_each: int = 0
    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hand_minutes: float = 0.0
    steps: tuple[str, ...] = ()
    enter: str = ""

    @property
    def with_people(self) -> bool:
        """Whether it needs participants, and so their consent."""
        return self.kind is Kind.PEOPLE

    @cached_property
    def conditions(self) -> tuple[Row, ...]:
        """What to vary together, every pair of levels at least once."""
        return covering_array(self.factors) if self.factors else ()

    def demonstrations_in(self, conditions: int) -> int:
        """How many demonstrations in all."""
        return self.demonstrations + self.demonstrations_each * conditions

    def left(self, name: str, now: float) -> float:
        """How much doubt about a parameter is left afterwards; never more than now.

        A name such as `contact/?` stands for a whole gap: then the least that is promised counts.
        """
        if name.endswith("/?"):
            told = [left for p, left in self.then.items() if fnmatchcase(name, _gap(p))]
            return min(now, max(told, default=1.0))
        found = next((left for p, left in self.then.items() if fnmatchcase(name, p)), 1.0)
        return min(now, found)


@dataclass(frozen=True, kw_only=True)
class Template:
    """What is known about closing one gap.

    Attributes:
        gap: Which, or `unexplained`.
        why: What the gap is, as the end of a sentence.
        recovers: Of the points that a gap costs, which share comes back when all of it is known
            and trained for; a 90 % interval, stated and not measured.
        matters: How much a parameter usually matters beside the others of its gap, by pattern; 1
            where none matches. Judgement, until evidence weighs them.
        actions: What can be done.
    """

    gap: str
    why: str
    recovers: tuple[float, float]
    matters: Mapping[str, float]
    actions: tuple[Action, ...]

    def weight(self, name: str) -> float:
        """How much a parameter usually matters."""
        return next((w for p, w in self.matters.items() if fnmatchcase(name, p)), 1.0)


@cache
def template(gap: str) -> Template:
    """The template of a gap."""
    if gap not in GAPS:
        raise UnknownName("gap", gap, GAPS)
    file = resources.files("trueup.plan") / "templates" / f"{gap}.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    return Template(
        gap=data["gap"],
        why=data["why"],
        recovers=tuple(data["recovers"]),
        matters=data["matters"],
        actions=tuple(_action(row) for row in data["actions"]),
    )


@cache
def actions() -> Mapping[str, Action]:
    """Every action of every template, by its name."""
    return {action.name: action for gap in GAPS for action in template(gap).actions}


def _gap(pattern: str) -> str:
    """A pattern for all that is in the gap of another pattern."""
    return f"{pattern.split('/')[0]}/*" if "/" in pattern else pattern


def _action(row: Mapping[str, Any]) -> Action:
    changed: dict[str, Any] = {"kind": Kind(row["kind"])}
    changed |= {key: tuple(row[key]) for key in ("motions", "steps") if key in row}
    factors = {name: tuple(levels) for name, levels in row.get("factors", {}).items()}
    return Action(**{**row, **changed, "factors": factors})
