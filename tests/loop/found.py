"""Findings as rooms before the loop would store them, planted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trueup.diagnose import UNEXPLAINED, GapReport, Rate, Share
from trueup.identify import Estimate, Finding, Misfit
from trueup.space import Gap, JointNormal
from trueup.worlds import get


def report(*, trials: int = 100, unexplained: float = 0.0, **points: float) -> GapReport:
    """A gap report in which gaps cost so many points of a hundred."""
    lost = sum(points.values()) + unexplained
    shares = [_share(str(gap), points.get(str(gap), 0.0)) for gap in Gap]
    return GapReport(
        world="so101/lift",
        policy="a policy",
        real=False,
        evidence=("trials",),
        simulated=Rate(successes=trials, trials=trials),
        measured=Rate(successes=round(trials * (1 - lost / 100)), trials=trials),
        shares=tuple(sorted(shares, key=lambda share: -share.points)),
        unexplained=_share(UNEXPLAINED, unexplained),
    )


def _share(gap: str, points: float) -> Share:
    return Share(gap=gap, points=points, low=0.9 * points, high=1.1 * points)


def estimate(
    values: Mapping[str, tuple[float, float]], left: Mapping[str, float] | None = None
) -> Estimate:
    """What recordings say of linear parameters: value and standard deviation.

    `left` is how much of the doubt before is left, a tenth by default.
    """
    catalogue = get("so101/lift").catalogue
    mean, std = (np.array(side) for side in zip(*values.values(), strict=True))
    findings = [
        Finding(
            name=name,
            unit=catalogue[name].unit,
            value=value,
            low=value - 1.645 * std,
            high=value + 1.645 * std,
            before=catalogue[name].nominal,
            left=(left or {}).get(name, 0.1),
        )
        for name, (value, std) in values.items()
    ]
    nothing = Misfit(episodes=1, before={}, after={})
    return Estimate(
        world="so101/arm",
        belief=JointNormal(tuple(values), mean, np.diag(std**2)),
        findings=tuple(findings),
        unseen=(),
        fitted=nothing,
        held=nothing,
        noise={},
    )
