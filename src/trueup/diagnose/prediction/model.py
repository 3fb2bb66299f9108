"""Simulation and robot in one model, in closed form for each possible robot and each kind of error.

A start that succeeds in simulation fails on the robot with a chance `lost`; one that fails in
simulation succeeds there with a chance `won`. Both chances differ from policy to policy around
values that belong to the simulator and the robot, and are learned from the trials of all policies.
Where trials have a known start, this is post-stratification by what simulation says of each: for
outcomes that are yes or no the same thing as prediction-powered inference with tuned power, with a
prior in place of the normal approximation. Given a draw and the two values all of it is Beta, so
the rest is a sum over a table: no chain has to converge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy import special

from trueup.diagnose.prediction.luck import worth_of_a_trial
from trueup.diagnose.prediction.outcomes import Outcomes
from trueup.diagnose.prediction.overdispersion import shares
from trueup.errors import TrueupError

_CHANCES = np.array([0.003, 0.01, 0.03, 0.07, 0.15, 0.25, 0.37, 0.5, 0.65, 0.85])
_BELIEF = np.array([0.10, 0.11, 0.12, 0.12, 0.12, 0.12, 0.11, 0.09, 0.07, 0.04])
_LIKENESS = np.array([2.0, 8.0, 32.0, 128.0])  # trials that another policy's error is worth
_SAMPLES = 4096
_LEAST_DRAWS = 8.0  # that the weights must leave, or a few lucky draws would speak for all


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Ways in which a simulator may be wrong, as a table with a belief.

    Attributes:
        lost: (h,) chance that what succeeds in simulation fails on the robot.
        won: (h,) chance that what fails in simulation succeeds on the robot.
        likeness: (h,) how alike policies are in that, in trials.
        belief: (h,) before any trial.
    """

    lost: np.ndarray
    won: np.ndarray
    likeness: np.ndarray
    belief: np.ndarray

    @classmethod
    @cache
    def usual(cls) -> Errors:
        """Anything from a simulator that is hardly ever wrong to one that says nothing."""
        lost, won, likeness = (
            a.ravel() for a in np.meshgrid(_CHANCES, _CHANCES, _LIKENESS, indexing="ij")
        )
        each = _BELIEF[:, None, None] * _BELIEF[None, :, None] * np.ones(len(_LIKENESS))
        return cls(lost=lost, won=won, likeness=likeness, belief=each.ravel() / each.sum())


class Joined:
    """Policies of one robot, judged together.

    Args:
        policies: Simulated with the same draws, in the same order.
        errors: What may be wrong with the simulator.
    """

    def __init__(self, policies: Sequence[Outcomes], errors: Errors | None = None) -> None:
        draws = {outcomes.draws for outcomes in policies}
        if len(draws) != 1:
            raise TrueupError(
                f"Policies with {sorted(draws)} draws cannot be judged together.",
                fix="Simulate all of them with the same draws of the robot.",
            )
        self.errors = errors or Errors.usual()
        self._parts = [_Part(outcomes, self.errors) for outcomes in policies]
        self.worth = worth_of_a_trial(policies)

    @cached_property
    def weights(self) -> np.ndarray:
        """(draws, h) how much the trials of all policies speak for each robot and each error."""
        told = np.sum([part.log_evidence for part in self._parts], axis=0)
        log = np.log(self.errors.belief) + self.worth * told
        given_draw = np.asarray(special.logsumexp(log, axis=1, keepdims=True))
        return np.exp(log - given_draw) * _tempered(given_draw[:, 0])[:, None]

    def samples(self, row: int, seed: int = 0) -> np.ndarray:
        """Shares of success on the robot that are possible for policy `row`, as likely as not."""
        generator = np.random.default_rng([seed, row])
        evenly = (np.arange(_SAMPLES) + generator.random(_SAMPLES)) / _SAMPLES
        flat = np.searchsorted(np.cumsum(self.weights), evenly * self.weights.sum())
        flat = np.minimum(flat, self.weights.size - 1)
        return self._parts[row].sampled(generator, *np.unravel_index(flat, self.weights.shape))

    def spread_of_a_trial(self, row: int) -> float:
        """Variance that one more trial of policy `row` has, within what simulation says of it."""
        return self._parts[row].spread(self.weights)


def _tempered(log_evidence: np.ndarray) -> np.ndarray:
    """(draws,) weights that sum to 1, flattened until enough draws count."""
    least = min(_LEAST_DRAWS, 0.5 * len(log_evidence))

    def weights(power: float) -> np.ndarray:
        w = np.exp(power * (log_evidence - log_evidence.max()))
        return w / w.sum()

    low, high = 0.0, 1.0
    if 1.0 / (weights(1.0) ** 2).sum() >= least:
        return weights(1.0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        enough = 1.0 / (weights(middle) ** 2).sum() >= least
        low, high = (middle, high) if enough else (low, middle)
    return weights(low)


class _Part:
    """One policy at every draw and every error: arrays (draws, h)."""

    def __init__(self, outcomes: Outcomes, errors: Errors) -> None:
        assert outcomes.paired is not None
        counts = outcomes.agreement().astype(float)
        said_no, said_yes = counts[:, 0, :, None], counts[:, 1, :, None]
        size = errors.likeness
        kept = (size * (1.0 - errors.lost), size * errors.lost)
        won = (size * errors.won, size * (1.0 - errors.won))
        self.log_evidence = _betas(kept, said_yes) + _betas(won, said_no)
        self._kept = (kept[0] + said_yes[:, 1], kept[1] + said_yes[:, 0])
        self._won = (won[0] + said_no[:, 1], won[1] + said_no[:, 0])
        self._share = shares(outcomes.fresh, outcomes.paired)
        self._yes, self._no = outcomes.alone.sum(), (~outcomes.alone).sum()
        if outcomes.alone.size:
            self._blend = self._blended()
            alone = np.array([[self._no, self._yes]], float)[:, :, None]
            self.log_evidence = self.log_evidence + _betas(self._blend, alone)

    def sampled(self, generator: np.random.Generator, d: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Shares of success at these draws and errors."""
        if self._yes + self._no:
            return generator.beta(self._blend[0][d, h] + self._yes, self._blend[1][d, h] + self._no)
        share = generator.beta(self._share[0][d], self._share[1][d])
        kept = generator.beta(self._kept[0][d, h], self._kept[1][d, h])
        won = generator.beta(self._won[0][d, h], self._won[1][d, h])
        return share * kept + (1.0 - share) * won

    def spread(self, weights: np.ndarray) -> float:
        share = (self._share[0] / (self._share[0] + self._share[1]))[:, None]
        kept, won = (a / (a + b) for a, b in (self._kept, self._won))
        within = share * kept * (1.0 - kept) + (1.0 - share) * won * (1.0 - won)
        if self._yes + self._no:  # starts are not known: nothing is explained by them
            mean = share * kept + (1.0 - share) * won
            within = mean * (1.0 - mean)
        return float((weights * within).sum())

    def _blended(self) -> tuple[np.ndarray, np.ndarray]:
        """The Beta with the mean and the variance of success over all starts."""
        (s, vs), (k, vk), (w, vw) = (
            _moments(a, b) for a, b in (self._share, self._kept, self._won)
        )
        s, vs = s[:, None], vs[:, None]
        mean = s * k + (1.0 - s) * w
        variance = s**2 * vk + (1.0 - s) ** 2 * vw + vs * ((k - w) ** 2 + vk + vw)
        size = np.maximum(mean * (1.0 - mean) / variance - 1.0, 1e-3)
        return size * mean, size * (1.0 - mean)


def _betas(prior: tuple[np.ndarray, np.ndarray], counts: np.ndarray) -> np.ndarray:
    """(draws, h) log evidence of counts (draws, 2, 1) of no and yes under Betas."""
    a, b = prior
    return special.betaln(a + counts[:, 1], b + counts[:, 0]) - special.betaln(a, b)


def _moments(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = a / (a + b)
    return mean, mean * (1.0 - mean) / (a + b + 1.0)
