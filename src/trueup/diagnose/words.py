"""A gap report in sentences that a tired engineer can act on."""

from __future__ import annotations

from collections.abc import Sequence

from trueup.diagnose.gap_report import UNEXPLAINED, GapReport, Share

_SMALL = 5.0  # points: less is not worth a search
_OF = {
    "contact": "how surfaces stick and slide",
    "visual": "what the camera reports",
    "sensing": "what encoders and currents report",
    "object": "the object itself",
    "environment": "the place: table, clutter, obstacles",
    "human": "what people add",
    "actuation": "how joints follow commands",
    "latency": "when commands act and readings come",
}
_NEXT = {
    "contact": "Probe it: `trueup record` with the contact probes, then `trueup identify contact`.",
    "visual": "Check the camera's mount, its delay and its light; then calibrate it again.",
    "sensing": "Calibrate the encoders; record the arm at rest, then `trueup identify noise`.",
    "object": "Weigh and measure the object; then `trueup identify payload` or enter the numbers.",
    "environment": "Measure the table's height and tilt, and clear or model what stands on it.",
    "human": "Look at who passes commands on, and how late.",
    "actuation": "Record a minute of free motion with `trueup record`, then `trueup identify`.",
    "latency": "Record a minute of free motion with `trueup record`, then `trueup identify`.",
    UNEXPLAINED: "No randomization helps against it: watch the failures (`trueup failures`).",
}
_TOLD = (
    "Recordings told its numbers: train again with them, by `trueup narrow` and `trueup train "
    "--space`, or mend what is off."
)

_STOOD_FOR = (
    "Recordings show it, and numbers that were fitted to it may do in its place: train again with "
    "them once, by `trueup narrow` and `trueup train --space`; what that does not win back, no "
    "randomization will."
)


def sentences(report: GapReport, *, doubted: bool = False) -> tuple[str, ...]:
    """The answer: what was lost, to what, and what to do next; then what else can be said.

    Args:
        report: Of what.
        doubted: Whether recordings show something that nothing in their fit explains.
    """
    found = [_lost(report)]
    if report.loss < _SMALL:
        found.append(_nothing(report))
        return tuple(found)
    if not report.shares:
        return tuple(found)
    if _chance(report):
        found.append(
            f"That may be chance alone: {report.measured.trials} trials do not tell a loss of this "
            "size from none. Try more often before looking for a cause."
        )
        return (*found, _rests_on(report.evidence))
    first = report.ranked[0]
    stood_for = doubted and first.gap == UNEXPLAINED and bool(report.departures)
    found += [_first(report, first), _STOOD_FOR if stood_for else _then(report, first)]
    if doubted and _told(report, first.gap):
        found.append(
            "Recordings also show what no number of the simulator makes the robot do: "
            f"{first.gap} may stand for that."
        )
    found += [
        _together(report, pair.gaps, pair.points) for pair in report.interactions if pair.sure
    ]
    found.append(_rests_on(report.evidence))
    return tuple(found)


def _lost(report: GapReport) -> str:
    low, high = (100 * end for end in report.measured.interval())
    place = "on the robot" if report.real else "on the rehearsal robot, sim-to-sim"
    return (
        f"The policy succeeds in {100 * report.simulated.share:.0f} % of simulated episodes and in "
        f"{report.measured} of its trials {place} ({low:.0f} to {high:.0f} % in truth): "
        f"{report.loss:.0f} points are {'lost' if report.loss >= 0 else 'gained'}."
    )


def _chance(report: GapReport) -> bool:
    """Whether the robot may well do as well as the simulator says."""
    return report.measured.interval()[1] >= report.simulated.interval()[0]


def _nothing(report: GapReport) -> str:
    if report.loss < -_SMALL:
        return (
            "It does better than the simulator says: there is no loss to explain; the simulated "
            "world is harder than the real one, or its success rule is stricter."
        )
    return "That is too little to look for a cause: more trials, or a harder task, would tell more."


def _first(report: GapReport, first: Share) -> str:
    sure = f"{first.points:.0f} (90 % interval {first.low:.0f} to {first.high:.0f})"
    if not first.sure:
        return (
            f"What costs most cannot be told: {first.gap} leads with {sure} points"
            f"{_named(report.ranked[1:])}."
        )
    rest = _named(report.ranked[1:])
    part = "Most of it" if report.mostly else "The largest part"
    if first.gap == UNEXPLAINED:
        return f"{part}, {sure} points, no effect of the simulator explains{rest}."
    return f"{part} is {first.gap}, {_OF[first.gap]}: {sure} points{rest}."


def _named(others: Sequence[Share]) -> str:
    told = [f"{s.gap} {s.points:.0f}" for s in others if s.points >= 0.5 * _SMALL][:3]
    return f"; then {', '.join(told)}" if told else ""


def _then(report: GapReport, first: Share) -> str:
    second = report.ranked[1] if len(report.ranked) > 1 else None
    unsure = second is not None and second.high > first.points and second.gap != first.gap
    also = f" It may as well be {second.gap}: the intervals overlap." if unsure and second else ""
    return f"{_next(report, first.gap)}{also}"


def _next(report: GapReport, gap: str) -> str:
    """What to do about a gap: where recordings told its numbers, there is no need to record."""
    return _TOLD if _told(report, gap) else _NEXT[gap]


def _told(report: GapReport, gap: str) -> bool:
    """Whether recordings told numbers of a gap."""
    return any(departure.name.startswith(f"{gap}/") for departure in report.departures)


def _together(report: GapReport, gaps: tuple[str, str], points: float) -> str:
    a, b = gaps
    if points > 0:
        return (
            f"{a} and {b} interact: together they cost {points:.0f} points more than one by one, "
            "so that mending either alone brings back more than its share says."
        )
    return f"{a} and {b} overlap: mending one alone brings back up to {-points:.0f} points less."


def _rests_on(evidence: Sequence[str]) -> str:
    if "probes" in evidence:
        return "It rests on trials, on free motion and on contact probes: the strongest evidence."
    if "recordings" in evidence:
        return (
            "It rests on trials and on recordings of free motion; contact and object are judged by "
            "the trials alone, where probes would say more."
        )
    return (
        "It rests on trials alone, the weakest evidence: causes that look alike there cannot be "
        "told apart. A minute of free motion (`trueup record`, `trueup identify`) says more."
    )
