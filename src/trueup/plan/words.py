"""A plan in words: three sentences for a tired engineer, reasons, and what cannot be planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.diagnose import UNEXPLAINED, GapReport, Share
from trueup.identify.check import Check
from trueup.plan.action import Action, Kind, template
from trueup.plan.protocol import Item, in_points
from trueup.plan.stopping import MOST, told_loss, trials_to_see, worth_trying

FEWEST = 5
"""Trials below which shares say next to nothing."""
_ALIKE = 0.8  # of the largest gap's points: a second one that is named beside it
_LOOK = {
    "approach": "a camera that moved, joints that do not reach where they are told, a loose mount",
    "contact": "worn or soft finger pads, another object, a surface that no friction number fits",
    "transport": "cables that drag, servos that grow warm or weak, an object that gives way",
    "release": "pads that stick, a jaw that opens late or not all the way",
}
_RESULT = {True: "", False: " All of it is sim-to-sim: no real robot took part."}


def sentences(report: GapReport, items: Sequence[Item], check: Check | None) -> tuple[str, ...]:
    """What was lost to what, what to do first, and how to see whether it helped."""
    low, _ = told_loss(report)
    if report.loss <= 0:
        return (
            f"Nothing was lost: real success is {report.measured}, simulated {report.simulated}.",
            "There is no gap to close, so there is nothing to record.",
            "Make the task harder, or train for more success in simulation." + _RESULT[report.real],
        )
    first = _lost(report) if low > 0 else _not_told(report)
    beyond = low > 0 and beyond_simulation(report)
    if beyond:
        first = f"{first} {_beyond(report)}"
    found = [first, _begin(items), _judge(items, report) + _RESULT[report.real]]
    if check is not None and not check.inside:
        found.append(
            "The check of the estimate says that reality lies outside what the fitted parameters "
            f"can produce ({', '.join(check.outside)}): randomizing them wider does not help there."
        )
    if beyond:
        found.append(_look_for(report))
    return tuple(found)


def beyond_simulation(report: GapReport) -> bool:
    """Whether the largest part of the loss has no cause in the simulator."""
    return report.loss > 0 and report.ranked[0].gap == UNEXPLAINED and report.unexplained.points > 0


def why(gap: str, action: Action, report: GapReport) -> str:
    """Why an action stands in the list."""
    if action.kind is Kind.TRAIN:
        return "what the recordings told already is not in the policy yet; this costs no robot time"
    share = report.share(gap)
    told = "" if share.sure else ", not told from nothing"
    text = f"{template(gap).why}: {_points(share)}{told}"
    for pair in report.interactions:
        if gap in pair.gaps and pair.sure:
            other = next(g for g in pair.gaps if g != gap)
            text += (
                f"; part of that is lost only together with {other}: closing either gives it back"
                if pair.points > 0
                else f"; part of that is lost to {other} alone too, and comes back with both only"
            )
    return text


def notes(report: GapReport, worth: float, needless: Sequence[Action]) -> tuple[str, ...]:
    """What the plan rests on, and what it leaves out."""
    found = []
    if report.measured.trials < FEWEST:
        are = "is" if report.measured.trials == 1 else "are"
        found.append(
            f"{_trials(report.measured.trials)} {are} fewer than {FEWEST}: the shares, and so this "
            "ranking, say next to nothing."
        )
    if set(report.evidence) <= {"trials"}:
        found.append(
            "The gap report rests on trials alone, the weakest evidence: a recording of free "
            "motion would also make the next plan surer."
        )
    if needless:
        titles = "; ".join(_lowered(action.title) for action in needless)
        found.append(f"Not listed, as the items above would tell the same: {titles}.")
    found.append(
        f"Actions that are expected to give back less than {worth:g} points are left out. What an "
        "action pins and what training gives back are stated in its template, not measured."
    )
    return tuple(found)


def _lost(report: GapReport) -> str:
    first, second = report.ranked[0], report.ranked[1]
    lost = in_points(report.loss).replace(" ", " lost ")
    text = (
        f"Of {lost} ({report.simulated} simulated, {report.measured} measured), "
        f"{_points(first, verb=True)}"
    )
    if second.points > _ALIKE * first.points:
        text += f", and {_points(second, verb=True)}"
    return f"{text}."


def _not_told(report: GapReport) -> str:
    more = trials_to_see(report.measured.share, report.simulated.share)
    need = f"about {more}" if more is not None else f"more than {MOST}"
    return (
        f"A loss of {in_points(report.loss)} in {_trials(report.measured.trials)} is not told from "
        f"none: {need} trials would show it, so make those first."
    )


def _beyond(report: GapReport) -> str:
    sure = "" if report.unexplained.sure else ", as far as can be told,"
    return (
        f"No randomization can help{sure} with the {in_points(report.unexplained.points)} left "
        "unexplained: the cause is not in the simulator."
    )


def _begin(items: Sequence[Item]) -> str:
    if not items:
        return "No action that we know is expected to be worth its time; look at failures first."
    item = items[0]
    time = f"{item.minutes:.0f} min" if item.minutes else "no robot time"
    return f"Begin with item 1: {_lowered(item.title)}, {time}, expected {item.recovery}."


def _judge(items: Sequence[Item], report: GapReport) -> str:
    if not items:
        return "Then diagnose again."
    count, trials = worth_trying(report, items)
    made = report.measured.trials
    if trials is None:
        return (
            f"What it gives is too small to be seen in {MOST} trials: judge by the next estimate."
        )
    others = "item 2" if count == 2 else f"items 2 to {count}"
    then = f"Then carry out {others} too, train" if count > 1 else "Then train"
    if count == 1 and items[0].kind is not Kind.TRAIN:
        then = "Then identify and train"
    more = f" (and the policy of now {trials - made} times more)" if trials > made else ""
    early = "; trials before that would show nothing" if count > 1 else ""
    trained = count == 1 and items[0].kind is Kind.TRAIN
    then = "Then try" if trained else f"{then} again, and try"
    return f"{then} {trials} times{more}: that shows it with 80 % power{early}."


def _look_for(report: GapReport) -> str:
    phase = _phase(report.failures)
    if phase in _LOOK:
        return (
            f"Most failures fall into the {phase} phase. Look for {_LOOK[phase]}. Then learn a "
            "residual from recordings, or collect real demonstrations in the deployment place."
        )
    return (
        "Watch failures to see in which phase they happen (`trueup failures`). Then learn a "
        "residual from recordings, or collect real demonstrations in the deployment place."
    )


def _phase(failures: Mapping[str, Any] | None) -> str:
    """The phase with most failures, as the analysis counts them; empty where it does not."""
    counts = (failures or {}).get("by_phase")
    known = {p: n for p, n in counts.items() if p in _LOOK and n} if counts else {}
    return max(known, key=lambda phase: known[phase]) if known else ""


def _trials(n: int) -> str:
    return f"{n} {'trial' if n == 1 else 'trials'}"


def _points(share: Share, *, verb: bool = False) -> str:
    span = f"{round(share.points)} (90 %: {round(share.low)} to {round(share.high)})"
    if not verb:
        return f"{span} points lost"
    if share.gap == UNEXPLAINED:
        return f"{span} are unexplained"
    return f"{share.gap} costs {span}"


def _lowered(title: str) -> str:
    return title[:1].lower() + title[1:]
