"""Advice in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from trueup.mix.advice import ENOUGH, Advice, Amount

_LITTLE = 0.02  # of success: a gain under this is within the luck of a training
_SURE = 0.5


def sentences(advice: Advice) -> Iterator[str]:
    """The gain, the exchange rate, and what both rest on."""
    yield (
        f"With {advice.real:,} real and {advice.synthetic:,} synthetic demonstrations, success is "
        f"{_share(advice.now)}. The next {advice.more:,} real ones bring it to "
        f"{_share(advice.then)}: {_points(advice.gain)}."
    )
    yield _exchange(advice)
    yield (f"Ten times as many synthetic ones instead would bring {_points(advice.simulated)}.")
    if advice.gain.middle < _LITTLE:
        yield "That is within the luck of a training: record more only if trials are cheap."
    yield _rests(advice)


def _exchange(advice: Advice) -> str:
    start = f"The next {advice.more:,} real demonstrations are worth "
    if advice.never > _SURE:
        return (
            f"{start}more than any number of synthetic ones: by {advice.never:.0%} of the curves "
            "that fit, what is missing is what only the robot can show."
        )
    high = "no end" if advice.worth.high >= ENOUGH else f"{_round(advice.worth.high):,}"
    return (
        f"{start}about {_round(advice.worth.middle):,} synthetic ones "
        f"(90 %: {_round(advice.worth.low):,} to {high})."
    )


def _rests(advice: Advice) -> str:
    trials = sum(run.trials for run in advice.runs)
    counts = sorted({run.real for run in advice.runs})
    trainings = "1 training" if len(advice.runs) == 1 else f"{len(advice.runs)} trainings"
    text = (
        f"This rests on {trainings} with {', '.join(map(str, counts))} real "
        f"demonstrations and {trials:,} trials, and on what learning curves usually look like."
    )
    if advice.doubtful:
        return f"{text} Hardly any curve fits these runs: check them, and expect little of it."
    if len(counts) < 2:
        return f"{text} With one number of real demonstrations alone, it is mostly the latter."
    return text


def _share(amount: Amount) -> str:
    return f"{amount.middle:.0%} ({amount.low:.0%} to {amount.high:.0%})"


def _points(amount: Amount) -> str:
    return (
        f"{100 * amount.middle:+.1f} points ({100 * amount.low:+.1f} to {100 * amount.high:+.1f})"
    )


def _round(value: float) -> int:
    """Two figures: there are no more."""
    whole = max(0, round(value))
    digits = len(str(whole)) - 2
    return round(whole, -digits) if digits > 0 else whole
