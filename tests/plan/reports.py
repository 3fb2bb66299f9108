"""Gap reports as a diagnosis would write them, small and by hand."""

from __future__ import annotations

from trueup.diagnose import UNEXPLAINED, Departure, GapReport, Interaction, Rate, Share
from trueup.space import Gap


def share(gap: str, points: float, half: float = 6.0) -> Share:
    return Share(gap=gap, points=points, low=points - half, high=points + half)


def report(
    *,
    simulated: int = 950,
    measured: tuple[int, int] = (20, 50),
    departures: tuple[Departure, ...] = (),
    interactions: tuple[Interaction, ...] = (),
    world: str = "so101/lift",
    real: bool = False,
    evidence: tuple[str, ...] = ("trials", "recordings"),
    failures: dict | None = None,
    half: float = 6.0,
    **points: float,
) -> GapReport:
    """What gaps cost, in points; what is left of the loss is unexplained."""
    loss = 100.0 * (simulated / 1000 - measured[0] / measured[1])
    shares = [share(str(gap), points.get(str(gap), 0.0), half) for gap in Gap]
    return GapReport(
        world=world,
        policy="lift",
        real=real,
        evidence=evidence,
        simulated=Rate(successes=simulated, trials=1000),
        measured=Rate(successes=measured[0], trials=measured[1]),
        shares=tuple(sorted(shares, key=lambda s: -s.points)),
        unexplained=share(UNEXPLAINED, loss - sum(points.values()), half),
        interactions=interactions,
        departures=departures,
        failures=failures,
    )


def departure(name: str, *, left: float, away: float = 0.0) -> Departure:
    """A parameter that lies `away` of its prior's standard deviations from nominal 0."""
    half = 1.6449 * left
    return Departure(
        name=name, unit="1", nominal=0.0, value=away, low=away - half, high=away + half, left=left
    )


def pair(a: str, b: str, points: float, half: float = 3.0) -> Interaction:
    return Interaction(gaps=(a, b), points=points, low=points - half, high=points + half)
