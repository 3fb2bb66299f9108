"""How success grows with demonstrations from the robot and from simulation.

In log odds, success lacks two things to its ceiling:

    logit success = ceiling - gap / (1 + real / halved) - scarcity × (all / 100) ** -decay

The first is what only the robot can show, and halves with the first `halved` demonstrations there.
The second is what any demonstration helps with, as in the power laws of learning curves. So more
simulation never replaces the robot where the gap is what is missing, and the robot's demonstrations
count for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import TrueupError
from trueup.mix.runs import Run

LUCK = 0.35
"""Standard deviation, in log odds, of policies that differ in the seed of their training alone."""

_DRAWS, _KEPT = 20_000, 4_000
_ROUNDS, _ENOUGH = 12, 2_000  # rounds of looking where the runs point to; effective draws wanted
_WIDER = 1.3  # the next round looks this much further around
_ODD = 3.0  # standard deviations from which on a run does not fit a curve
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_PRIOR = {  # median and spread of the logarithm, but for the ceiling
    "ceiling": (2.9, 0.7),
    "gap": (2.5, 0.7),
    "halved": (3.0, 0.8),
    "scarcity": (1.0, 0.9),
    "decay": (0.5, 0.5),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Learning curves that fit the runs, each as likely as any other.

    Attributes:
        ceiling: (k,) log odds with demonstrations without end.
        gap: (k,) log odds that only the robot's demonstrations can add.
        halved: (k,) demonstrations from the robot after which half of the gap is left.
        scarcity: (k,) log odds that 100 demonstrations lack to enough of them.
        decay: (k,) exponent with which that falls.
    """

    ceiling: np.ndarray
    gap: np.ndarray
    halved: np.ndarray
    scarcity: np.ndarray
    decay: np.ndarray

    def gapped(self, real: float) -> np.ndarray:
        """(k,) what is left of the gap, in log odds."""
        return self.gap / (1.0 + real / self.halved)

    def scarce(self, total: float | np.ndarray) -> np.ndarray:
        """(k,) what so many demonstrations in all lack to enough of them."""
        return self.scarcity * ((total + 1.0) / 100.0) ** -self.decay

    def odds(self, real: float, synthetic: float) -> np.ndarray:
        """(k,) log odds of success."""
        return self.ceiling - self.gapped(real) - self.scarce(real + synthetic)

    def success(self, real: float, synthetic: float) -> np.ndarray:
        """(k,) success, averaged over the luck of a training."""
        odds = self.odds(real, synthetic)[:, None] + LUCK * _NODES
        return _logistic(odds) @ (_WEIGHTS / _WEIGHTS.sum())


def fitted(runs: Sequence[Run], *, seed: int = 0) -> Curve:
    """The curves that fit the runs, drawn from what learning curves look like.

    Chance decides trials, and luck decides trainings: both are in the fit. Draws are weighed by how
    well they fit, and drawn anew around those that do, until enough of them count (adaptive
    importance sampling).
    """
    if not runs:
        raise TrueupError("There are no runs to fit.", fix="Give at least one.")
    generator = np.random.default_rng(seed)
    middle, spread = np.zeros(len(_PRIOR)), np.eye(len(_PRIOR))
    z, weight = np.zeros((0, len(_PRIOR))), _Weights(np.zeros(0), 0.0)
    for _ in range(_ROUNDS):
        z = generator.multivariate_normal(middle, spread, _DRAWS, method="cholesky")
        away = np.linalg.solve(np.linalg.cholesky(spread), (z - middle).T)
        told = _likelihood(_decoded(z), runs) + 0.5 * (away**2).sum(0) - 0.5 * (z**2).sum(1)
        weight = _tempered(told)
        if weight.power == 1.0:
            break
        middle = weight.share @ z
        spread = _WIDER * np.cov(z.T, aweights=weight.share) + 1e-4 * np.eye(len(_PRIOR))
    rows = generator.choice(_DRAWS, _KEPT, p=weight.share)
    return _decoded(z[rows])


def strange(curve: Curve, runs: Sequence[Run]) -> bool:
    """Whether a run is far from what every curve says, so that a forecast rests on little."""
    for run in runs:
        odds = curve.odds(run.real, run.synthetic)
        share = float(_logistic(odds).mean())
        chance = np.sqrt(max(share * (1 - share), 1e-4) * (1 / run.trials + LUCK**2 / 4))
        if abs(run.share - share) > _ODD * np.hypot(chance, _logistic(odds).std()):
            return True
    return False


@dataclass(frozen=True)
class _Weights:
    """Shares of draws (k,), and the power of the likelihood at which enough of them count."""

    share: np.ndarray
    power: float


def _tempered(told: np.ndarray) -> _Weights:
    """Weights by log likelihood (k,), flattened until enough draws count."""
    share, power = np.zeros_like(told), 1.0
    for power in (1.0, 0.5, 0.2, 0.1, 0.03, 0.01, 0.003):
        share = np.exp(power * (told - told.max()))
        share /= share.sum()
        if 1.0 / (share**2).sum() >= _ENOUGH:
            break
    return _Weights(share, power)


def _decoded(z: np.ndarray) -> Curve:
    """Curves from standard normal numbers (k, 5)."""
    parts = {
        name: median + spread * z[:, i] if name == "ceiling" else median * np.exp(spread * z[:, i])
        for i, (name, (median, spread)) in enumerate(_PRIOR.items())
    }
    return Curve(**parts)


def _likelihood(curve: Curve, runs: Sequence[Run]) -> np.ndarray:
    """(k,) log likelihood of the runs."""
    total = np.zeros(len(curve.gap))
    weights = np.log(_WEIGHTS / _WEIGHTS.sum())
    for run in runs:
        odds = curve.odds(run.real, run.synthetic)[:, None] + LUCK * _NODES
        bad = run.trials - run.good
        each = -run.good * np.logaddexp(0.0, -odds) - bad * np.logaddexp(0.0, odds)
        total += np.logaddexp.reduce(each + weights, axis=1)
    return total


def _logistic(odds: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * odds))
