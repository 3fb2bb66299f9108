"""What is not known yet about each gap, and how much of it an action would remove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trueup.diagnose import UNEXPLAINED, Departure, GapReport
from trueup.plan.action import GAPS, Action, template
from trueup.worlds import World

_NORMAL_90 = 1.6449
_FARTHEST = 9.0
"""Three standard deviations: how far is far, when a spread of nearly nothing is divided by."""


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """One parameter of a gap.

    Attributes:
        name: Which.
        left: How much of the doubt about it is left: 1 is nothing learned.
        weight: Its part in what the gap costs: the expected square of its distance from nominal,
            in standard deviations of what was believed before, times how much it usually matters.
    """

    name: str
    left: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """What is unknown, gap by gap."""

    unknowns: Mapping[str, tuple[Unknown, ...]]

    def known(self, gap: str) -> float:
        """How much of a gap is known, from 0 to 1: doubt removed, weighted by parameter."""
        rows = self.unknowns[gap]
        total = sum(row.weight for row in rows)
        return sum(row.weight * (1.0 - row.left) for row in rows) / total if total else 0.0

    def after(self, action: Action) -> Doubt:
        """What is unknown when an action has been carried out."""
        return Doubt(
            unknowns={
                gap: tuple(replace(row, left=action.left(row.name, row.left)) for row in rows)
                for gap, rows in self.unknowns.items()
            }
        )


def doubt(report: GapReport, world: World | None = None) -> Doubt:
    """What a gap report leaves unknown.

    A gap whose parameters the report names is as unknown as it says. Of one that it does not, all
    parameters of the world's space count as unknown; without a world, one that stands for all.
    """
    named: dict[str, list[Unknown]] = {gap: [] for gap in GAPS}
    for departure in report.departures:
        gap = departure.name.split("/")[0]
        if gap in named:
            named[gap].append(_unknown(departure))
    return Doubt(unknowns={gap: tuple(rows or _all(gap, world)) for gap, rows in named.items()})


def _unknown(departure: Departure) -> Unknown:
    left = min(max(departure.left, 0.0), 1.0)
    spread = (departure.high - departure.low) / (2.0 * _NORMAL_90)
    before = spread / left if left > 0 and spread > 0 else 0.0
    away = (departure.value - departure.nominal) / before if before else 1.0
    matters = template(departure.name.split("/")[0]).weight(departure.name)
    weight = matters * (min(away**2, _FARTHEST) + left**2)
    return Unknown(name=departure.name, left=left, weight=weight)


def _all(gap: str, world: World | None) -> list[Unknown]:
    if gap == UNEXPLAINED:
        return [Unknown(name=UNEXPLAINED, left=1.0, weight=1.0)]
    names = [p.name for p in world.space if p.gap == gap] if world is not None else []
    weight = template(gap).weight
    return [Unknown(name=n, left=1.0, weight=weight(n)) for n in names or [f"{gap}/?"]]
