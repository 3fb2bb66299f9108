"""A forecast in sentences that a tired engineer can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueup.diagnose.gap_report import Rate
from trueup.evaluate import wilson

if TYPE_CHECKING:
    from trueup.diagnose.prediction.prediction import Prediction

FEW = 5
CONTRADICTED = (
    "Its paired trials contradict what simulation and the other policies lead to expect: the "
    "interval holds both. Something that matters to this policy is not in the simulator."
)


def sentences(
    predictions: Sequence[Prediction], calibration: Rate, width: float
) -> tuple[str, ...]:
    """What to expect, what it rests on, what to do next."""
    return (_expected(predictions), _rests_on(predictions, calibration), _next(predictions, width))


def _expected(predictions: Sequence[Prediction]) -> str:
    if len(predictions) == 1:
        p = predictions[0]
        return (
            f"Expect {p.policy} to succeed in {_percent(p.share)} of its trials on the robot, with "
            f"90 % confidence between {_percent(p.low)} and {_percent(p.high)}; simulation says "
            f"{_percent(p.simulated.share)}."
        )
    best, second = sorted(predictions, key=lambda p: -p.share)[:2]
    clear = (
        "and it leads clearly"
        if best.low > second.high
        else f"but {second.policy} ({_percent(second.share)}) cannot be told from it yet"
    )
    return (
        f"Of {len(predictions)} policies expect most of {best.policy}: {_percent(best.share)} on "
        f"the robot, with 90 % confidence between {_percent(best.low)} and "
        f"{_percent(best.high)}, {clear}."
    )


def _rests_on(predictions: Sequence[Prediction], calibration: Rate) -> str:
    trials = sum(p.trials.trials for p in predictions)
    if not trials + calibration.trials:
        return (
            "No policy was tried on this robot, so nothing says how often the simulator is wrong: "
            "the interval allows for anything from an exact simulator to a useless one."
        )
    paired = sum(p.paired for p in predictions)
    starts = f", {paired} of them from starts that simulation repeated" if paired else ""
    comma = "," if paired else ""
    beyond = f"{comma} and {calibration.trials} of other policies" if calibration.trials else ""
    equal = sum(p.worth for p in predictions if p.trials.trials)
    if not trials:
        return f"It rests on simulation and {calibration.trials} trials of other policies."
    return (
        f"It rests on {trials} trials{starts}{beyond}; with simulation they are worth about "
        f"{equal} trials without it."
    )


def _next(predictions: Sequence[Prediction], width: float) -> str:
    short = [p for p in predictions if p.needed]
    if not short:
        return f"Every interval is within ± {100 * width:.0f} points: no further trial is needed."
    most = max(short, key=lambda p: p.needed)
    total, alone = sum(p.needed for p in short), sum(p.needed_alone for p in short)
    where = f"{most.policy} needs" if len(short) == 1 else f"{len(short)} policies need"
    return (
        f"For ± {100 * width:.0f} points {where} about {total} more trials"
        f"{'' if len(short) == 1 else ' in all'}, instead of {alone} without simulation."
    )


def about_trials(successes: int, trials: int) -> list[str]:
    """What so few or so uniform trials can say, and what they cannot."""
    if not trials:
        return []
    found = []
    if trials < FEW:
        found.append(
            f"{trials} trials say little: the interval is mostly what is believed of the simulator."
        )
    low, high = wilson(successes, trials, 0.9)
    if successes == trials:
        found.append(
            f"No trial failed: by themselves {trials} trials leave everything above "
            f"{_percent(low)} possible, and they cannot show how it fails."
        )
    if successes == 0:
        found.append(
            f"No trial succeeded: by themselves {trials} trials leave everything below "
            f"{_percent(high)} possible. Look for a fault of the setup before a gap."
        )
    return found


def above(simulated: Rate, trials: Rate) -> list[str]:
    """Whether the robot does better than simulation, beyond luck."""
    if not trials.trials or trials.interval()[0] <= simulated.interval()[1]:
        return []
    return [
        f"The robot does better than simulation ({trials} against {_percent(simulated.share)}): "
        "the believed space is harsher than the robot, so nothing was lost that could be "
        "diagnosed. Identify again, or narrow what was never measured."
    ]


def unused(policy: str, trials: int) -> str:
    """Of trials whose policy is not at hand."""
    return (
        f"{trials} trials of {policy or 'an unnamed policy'} are not used: that policy is not "
        "here to be simulated. Give its folder as one more POLICY to calibrate with them."
    )


def robots(names: Sequence[str]) -> list[str]:
    """Of trials that several robots made."""
    if len(names) < 2:
        return []
    return [f"The trials are of {len(names)} robots ({', '.join(names)}), taken here as one."]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
