"""What more demonstrations from the robot are worth: in success, and in simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.errors import TrueupError
from trueup.mix.curve import LUCK, Curve, fitted, strange
from trueup.mix.runs import Run

ENOUGH = 1_000_000
"""Simulated demonstrations that nobody makes for want of ten real ones: more is no exchange."""

_INTERVAL = (0.05, 0.5, 0.95)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A number, and where it lies with 90 % confidence.

    Attributes:
        middle: The median.
        low: Lower end.
        high: Upper end.
    """

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: np.ndarray) -> Amount:
        """The median and the middle 90 % of draws."""
        low, middle, high = np.quantile(draws, _INTERVAL)
        return cls(middle=float(middle), low=float(low), high=float(high))


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What the next demonstrations would bring.

    Attributes:
        runs: What it rests on.
        real: Demonstrations from the robot now: those of the run with most.
        synthetic: Simulated ones now.
        more: How many more from the robot are asked about.
        now: Success now, as a share.
        then: Success with them, over the luck of another training.
        gain: By how much it rises, as a share.
        worth: Simulated demonstrations that would bring as much; `ENOUGH` where none would.
        never: Share of the curves that fit, by which no number of simulated ones does.
        simulated: Gain from ten times as many simulated ones instead.
        doubtful: Whether hardly any learning curve fits the runs.
    """

    runs: tuple[Run, ...]
    real: int
    synthetic: int
    more: int
    now: Amount
    then: Amount
    gain: Amount
    worth: Amount
    never: float
    simulated: Amount
    doubtful: bool

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        amounts = {
            name: vars(getattr(self, name))
            for name in ("now", "then", "gain", "worth", "simulated")
        }
        return {
            "runs": [vars(run) for run in self.runs],
            "real": self.real,
            "synthetic": self.synthetic,
            "more": self.more,
            **amounts,
            "confidence": 0.9,
            "never_worth": self.never,
            "doubtful": self.doubtful,
        }


def advised(
    runs: Sequence[Run],
    *,
    more: int = 10,
    real: int | None = None,
    synthetic: int | None = None,
    seed: int = 0,
) -> Advice:
    """Forecast what `more` demonstrations from the robot bring, before they are recorded.

    Args:
        runs: Trainings with their trials.
        more: How many more.
        real: How many there are now; by default those of the run with most of them.
        synthetic: How many simulated ones; by default those of the same run.
        seed: Of the draws.
    """
    if more < 1:
        raise TrueupError(
            f"{more} more demonstrations cannot be judged.", fix="Ask for at least 1."
        )
    curve = fitted(runs, seed=seed)
    last = max(runs, key=lambda run: (run.real, run.synthetic))
    real = last.real if real is None else real
    synthetic = last.synthetic if synthetic is None else synthetic
    now, then = curve.success(real, synthetic), curve.success(real + more, synthetic)
    worth = _worth(curve, real, synthetic, more)
    many = curve.success(real, 10 * max(1, synthetic))
    return Advice(
        runs=tuple(runs),
        real=real,
        synthetic=synthetic,
        more=more,
        now=Amount.of(now),
        then=Amount.of(_lucky(curve, real + more, synthetic, seed)),
        gain=_gain(now, then),
        worth=Amount.of(worth),
        never=float(np.mean(worth >= ENOUGH)),
        simulated=_gain(now, many),
        doubtful=strange(curve, runs),
    )


def _gain(now: np.ndarray, then: np.ndarray) -> Amount:
    """By the mean curve, as a mean errs least on average."""
    amount = Amount.of(then - now)
    return Amount(middle=float(np.mean(then - now)), low=amount.low, high=amount.high)


def _lucky(curve: Curve, real: int, synthetic: int, seed: int) -> np.ndarray:
    """Success of single trainings, with their luck."""
    luck = np.random.default_rng([seed, 1]).standard_normal(len(curve.gap))
    return 0.5 * (1.0 + np.tanh(0.5 * (curve.odds(real, synthetic) + LUCK * luck)))


def _worth(curve: Curve, real: int, synthetic: int, more: int) -> np.ndarray:
    """(k,) simulated demonstrations that would raise success as much as `more` from the robot."""
    total = real + synthetic
    wanted = curve.odds(real + more, synthetic) - curve.odds(real, synthetic)
    left = curve.scarce(total) - wanted  # what would have to be left of the scarcity
    share = np.maximum(left, 1e-300) / curve.scarcity
    with np.errstate(over="ignore"):  # as many as that is without end
        needed = 100.0 * share ** (-1.0 / curve.decay) - 1.0 - total
    return np.where(left > 0, np.clip(needed, 0.0, ENOUGH), ENOUGH)
