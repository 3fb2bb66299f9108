"""What to expect before any trial: which gaps, and how to split effort between sim and real."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

from trueup.diagnose import UNEXPLAINED, GapReport
from trueup.plan.action import template
from trueup.space import Gap
from trueup.worlds import World

EXPERIENCE = "field experience, not measured here"
MEASURED = "measured"
_MOST_REAL = 0.8
_SHOWN = 0.05
_IN_REAL = {"visual": 0.5, "environment": 0.5, "human": 1.0, UNEXPLAINED: 1.0}
"""Of the effort for a gap, the part that is data of the real place; else parameters and time."""
_RECORDING = 0.15


@dataclass(frozen=True, kw_only=True)
class Nature:
    """What kind of task it is.

    Attributes:
        contact_rich: Whether touch decides it: grasping, inserting, pushing.
        force_regulated: Whether a force is to be kept, and not only a place reached.
        seen: Whether the policy looks at pictures.
        tracked: Whether something tells it where the objects are.
        variable_objects: Whether objects differ from one time to the next.
        people: Whether people are nearby or take part.
        cluttered: Whether the place is not structured.
    """

    contact_rich: bool = False
    force_regulated: bool = False
    seen: bool = False
    tracked: bool = False
    variable_objects: bool = False
    people: bool = False
    cluttered: bool = False

    @staticmethod
    def of(world: World) -> Nature:
        """As much as a world says of itself: objects, what tracks them, what is not structured."""
        names = {p.name for p in world.space}
        objects = any(name.startswith("object/") for name in names)
        return Nature(
            contact_rich=objects or any(name.startswith("contact/fingertip") for name in names),
            tracked=any(name.startswith("visual/tracker/") for name in names),
            seen=any(_is_picture(signal.name) for signal in world.observations),
            people=any(name.startswith("human/") for name in names),
            cluttered=any(name.startswith("environment/clutter/") for name in names),
        )

    def with_(self, **told: bool | None) -> Nature:
        """The same, with what a person told; None leaves a trait as it is."""
        known = {name: value for name, value in told.items() if value is not None}
        return Nature(**{**asdict(self), **known})

    @property
    def traits(self) -> tuple[str, ...]:
        """The traits that hold."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name))


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What to expect.

    Attributes:
        source: `field experience, not measured here`, or `measured`.
        nature: The task.
        gaps: The part of the loss to expect of each gap, the largest first; they add up to 1.
        simulation: The part of the effort to spend in simulation.
        real: The part to spend on real data.
        sentences: The same in words.
        actions: What to begin with, by gap.
    """

    source: str
    nature: Nature
    gaps: Mapping[str, float]
    simulation: float
    real: float
    sentences: tuple[str, ...]
    actions: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def outlook(nature: Nature, report: GapReport | None = None) -> Outlook:
    """What to expect of a task; measurement takes the place of experience where there is any."""
    if report is not None and report.loss > 0:
        return _measured(nature, report)
    data = _data()
    weights, real = dict(data["base"]["weights"]), data["base"]["real"]
    said = []
    for trait in nature.traits:
        rule = data["traits"][trait]
        weights = {gap: w + rule["adds"].get(gap, 0.0) for gap, w in weights.items()}
        real += rule["real"]
        said.append(rule["says"])
    gaps = _shares(weights)
    real = min(real, _MOST_REAL)
    if not (nature.contact_rich or nature.people or nature.cluttered):
        said.insert(0, data["transfers_well"])
    split = (
        f"Begin with {100 * (1 - real):.0f} % of the effort in simulation and {100 * real:.0f} % "
        "on real data."
    )
    return Outlook(
        source=EXPERIENCE,
        nature=nature,
        gaps=gaps,
        simulation=1.0 - real,
        real=real,
        sentences=(_expect(gaps), split, _replaced(), *said, *data["experience"]),
        actions=_actions(gaps),
    )


def _measured(nature: Nature, report: GapReport) -> Outlook:
    gaps = _shares({share.gap: max(share.points, 0.0) for share in report.ranked})
    real = sum(part * _IN_REAL.get(gap, _RECORDING) for gap, part in gaps.items())
    label = "" if report.real else " All of it is sim-to-sim: no real robot took part."
    return Outlook(
        source=MEASURED,
        nature=nature,
        gaps=gaps,
        simulation=1.0 - real,
        real=real,
        sentences=(
            f"Measured: most of the loss comes from {_first(gaps)}.",
            f"By these shares {100 * (1 - real):.0f} % of the effort belongs in simulation and "
            f"{100 * real:.0f} % on real data.",
            "`trueup plan` says what to do first." + label,
        ),
        actions=_actions(gaps),
    )


@cache
def _data() -> Mapping[str, Any]:
    text = (resources.files("trueup.plan") / "outlook.json").read_text(encoding="utf-8")
    return json.loads(text)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    ranked = sorted(weights.items(), key=lambda row: -row[1])
    return {gap: weight / total for gap, weight in ranked}


def _expect(gaps: Mapping[str, float]) -> str:
    return f"Expect most of a loss from {_first(gaps)}."


def _first(gaps: Mapping[str, float]) -> str:
    shown = [f"{gap} ({100 * part:.0f} %)" for gap, part in list(gaps.items())[:3] if part > 0]
    return ", ".join(shown)


def _replaced() -> str:
    return (
        f"This is {EXPERIENCE}: try the policy, diagnose, and give --gaps to put measurement in "
        "its place."
    )


def _actions(gaps: Mapping[str, float]) -> dict[str, str]:
    shown = [gap for gap, part in gaps.items() if part >= _SHOWN]
    return {gap: template(gap).actions[0].title for gap in shown if gap in (*Gap, UNEXPLAINED)}


def _is_picture(name: str) -> bool:
    return "image" in name or "camera" in name
