"""Intervals of predicted success: they hold the truth as often as they say, whoever is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.diagnose.planted_robots import Planted
from trueup.diagnose.prediction import Errors, Joined, Outcomes, combined
from trueup.diagnose.prediction.luck import worth_of_a_trial
from trueup.errors import TrueupError
from trueup.evaluate import wilson


def held(planted: Planted, trials: int, times: int, *, paired: bool = True, others: int = 0) -> int:
    """How many of so many intervals hold the truth; a hair at the ends is rounding."""
    generator = np.random.default_rng([trials, times, others, paired])
    found = 0
    for _ in range(times):
        rows = [planted.played(generator, trials, paired=paired) for _ in range(1 + others)]
        (p,) = combined([outcomes for outcomes, _ in rows], [0], width=0.1)
        found += p.low - 1e-3 <= rows[0][1] <= p.high + 1e-3
    return found


def too_few(found: int, times: int, least: float = 0.86) -> bool:
    """Whether so few would hardly come of a coverage of `least`."""
    return float(stats.binom.cdf(found, times, least)) < 0.01


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("trials", [5, 20])
@pytest.mark.parametrize("share", [0.02, 0.98])
def test_intervals_near_the_edges_hold_the_truth(share, trials, paired):
    assert not too_few(held(Planted(simulated=share), trials, 80, paired=paired), 80)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("trials", [10, 20])
@pytest.mark.parametrize(
    "planted",
    [
        Planted(simulated=0.9, lost=0.05, won=0.05, spread=0.05),
        Planted(simulated=0.9, lost=0.3, won=0.3, spread=0.05),
        Planted(simulated=0.95, lost=0.5, won=0.5),
        Planted(simulated=0.5, lost=0.5, won=0.5),
    ],
    ids=["right", "worse than said", "far worse than said", "a coin"],
)
def test_intervals_hold_the_truth_however_wrong_the_simulator_is(planted, trials, paired):
    assert not too_few(held(planted, trials, 60, paired=paired), 60)


def test_intervals_calibrated_by_other_policies_hold_the_truth():
    planted = Planted(simulated=0.8, lost=0.15, won=0.1, spread=0.05)
    assert not too_few(held(planted, 8, 80, others=4), 80)


@pytest.mark.parametrize("paired", [True, False])
def test_over_all_the_simulators_that_are_believed_possible_coverage_is_90_percent(paired):
    """Truth drawn from the belief itself: neither too narrow nor too wide."""
    generator, errors, found, times = np.random.default_rng(3), Errors.usual(), 0, 400
    for _ in range(times):
        h = generator.choice(len(errors.belief), p=errors.belief)
        size, lost, won = errors.likeness[h], errors.lost[h], errors.won[h]
        planted = Planted(
            simulated=generator.uniform(0.02, 0.98),
            lost=generator.beta(size * lost, size * (1 - lost)),
            won=generator.beta(size * won, size * (1 - won)),
        )
        trials = int(generator.integers(5, 21))
        outcomes, actual = planted.played(generator, trials, paired=paired)
        (p,) = combined([outcomes], width=0.1)
        found += p.low <= actual <= p.high
    assert 0.86 < found / times < 0.94


def test_intervals_that_are_made_too_narrow_are_caught():
    """The test above can fail: half the interval does not hold the truth often enough."""
    generator, times, found = np.random.default_rng(0), 100, 0
    planted = Planted(simulated=0.6, lost=0.2, won=0.2)
    for _ in range(times):
        outcomes, actual = planted.played(generator, 10)
        (p,) = combined([outcomes], width=0.1)
        found += abs(actual - p.share) <= 0.25 * (p.high - p.low)
    assert too_few(found, times)


def test_a_simulator_that_is_right_saves_half_of_the_trials():
    generator = np.random.default_rng(5)
    planted = Planted(simulated=0.7, lost=0.02, won=0.02)
    rows = [planted.played(generator, 20)[0] for _ in range(6)]
    assert min(p.saved for p in combined(rows, width=0.1)) > 0.5


def test_a_simulator_that_says_nothing_is_worth_nothing():
    generator = np.random.default_rng(6)
    coin = Planted(simulated=0.9, lost=0.5, won=0.5)
    found = [combined([coin.played(generator, 20)[0]], width=0.1)[0] for _ in range(20)]
    alone = [wilson(p.trials.successes, 20, 0.9) for p in found]
    ratio = np.mean([p.high - p.low for p in found]) / np.mean([b - a for a, b in alone])
    assert 0.9 < ratio < 1.1


def test_trials_of_other_policies_lower_what_is_expected_of_one_that_was_never_tried():
    generator = np.random.default_rng(7)
    untried = Outcomes(policy="new", fresh=generator.random((12, 48)) < 0.9)
    poor = Planted(simulated=0.9, lost=0.5)
    good = Planted(simulated=0.9)
    after = {
        name: combined([untried, *(p.played(generator, 20)[0] for _ in range(4))], [0], width=0.1)
        for name, p in (("poor", poor), ("good", good))
    }
    before = combined([untried], width=0.1)[0]
    assert after["poor"][0].share < 0.6 < after["good"][0].share
    assert after["good"][0].low > before.low
    assert after["good"][0].needed < before.needed


def sharing(generator: np.random.Generator, seeds: np.ndarray) -> tuple[list[Outcomes], float]:
    """Six policies from one set of starts, a fifth of which the simulator has wrong for all."""
    wrong, easy = generator.random(len(seeds)) < 0.2, generator.random((6, len(seeds))) < 0.7
    fresh = generator.random((6, 12, 48)) < 0.7
    rows = [
        Outcomes(
            policy="p",
            fresh=fresh[k],
            paired=np.tile(easy[k], (12, 1)),
            beside=easy[k] & ~wrong,
            starts=seeds,
        )
        for k in range(6)
    ]
    return rows, 0.7 * 0.8


def test_policies_that_share_their_starts_share_their_luck():
    generator, seeds, held_ = np.random.default_rng(4), np.arange(12), 0
    for _ in range(60):
        rows, actual = sharing(generator, seeds)
        (p,) = combined(rows, [0], width=0.1)
        held_ += p.low <= actual <= p.high
    assert not too_few(held_, 60)
    rows, _ = sharing(generator, np.arange(60))
    assert worth_of_a_trial(rows) < 0.5


def test_policies_with_starts_of_their_own_count_in_full():
    generator, planted = np.random.default_rng(4), Planted(simulated=0.7, lost=0.2)
    rows = [planted.played(generator, 40)[0] for _ in range(5)]
    assert worth_of_a_trial(rows) == 1.0
    alike = [replace(o, starts=np.arange(40)) for o in rows]  # the same starts, each its own luck
    assert worth_of_a_trial(alike) > 0.7


def test_draws_of_the_robot_that_contradict_its_trials_lose_their_weight():
    """Draws 0 to 7 lose every odd start, the others every even one; the robot is of the first."""
    odd = np.arange(12) % 2 == 1
    said = np.array([~odd] * 8 + [odd] * 8)
    fresh = np.array([[True] * 8 + [False] * 2] * 8 + [[False] * 8 + [True] * 2] * 8)
    joined = Joined([Outcomes(policy="p", fresh=fresh, paired=said, beside=~odd)])
    weights = joined.weights.sum(axis=1)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[:8].sum() > 0.9
    assert np.quantile(joined.samples(0), 0.5) > 0.6


def test_no_draw_speaks_for_all_however_well_it_fits():
    said = np.random.default_rng(0).random((32, 40)) < 0.5
    joined = Joined([Outcomes(policy="p", fresh=said, paired=said, beside=said[3])])
    weights = joined.weights.sum(axis=1)
    assert weights.argmax() == 3
    assert 1.0 / (weights**2).sum() > 7.9


def test_the_same_evidence_gives_the_same_answer():
    rows = [Planted(simulated=0.7).played(np.random.default_rng(k), 9)[0] for k in range(3)]
    assert combined(rows, width=0.1) == combined(rows, width=0.1)
    swapped = combined(rows[::-1], width=0.1)
    for p, q in zip(combined(rows, width=0.1), swapped[::-1], strict=True):
        assert p.share == pytest.approx(q.share, abs=0.01)  # other numbers, the same model


def test_policies_of_different_draws_are_refused():
    rows = [Outcomes(policy="p", fresh=np.ones((d, 4), bool)) for d in (3, 4)]
    with pytest.raises(TrueupError, match="cannot be judged together"):
        Joined(rows)


def test_arrays_that_do_not_belong_together_are_refused():
    with pytest.raises(TrueupError, match=r"beside 2 trials"):
        Outcomes(policy="p", fresh=np.ones((3, 4)), paired=np.ones((3, 5)), beside=np.ones(2))


def test_success_below_and_above_simulation_is_said():
    generator = np.random.default_rng(1)
    worse = Outcomes(policy="p", fresh=generator.random((16, 30)) < 0.2, alone=np.ones(12, bool))
    (p,) = combined([worse], width=0.1)
    assert any("does better than simulation" in note for note in p.notes)
    assert any("No trial failed" in note for note in p.notes)
    (p,) = combined([Outcomes(policy="p", fresh=worse.fresh, alone=np.zeros(3, bool))], width=0.1)
    assert any("3 trials say little" in note for note in p.notes)
    assert any("No trial succeeded" in note for note in p.notes)


def test_trials_that_contradict_everything_widen_the_interval():
    """Nine policies that simulation predicts exactly, and a tenth that it has wholly wrong."""
    generator = np.random.default_rng(2)
    rows = [Planted(simulated=0.5).played(generator, 40)[0] for _ in range(9)]
    odd, actual = Planted(simulated=0.9, lost=0.85, won=0.1).played(generator, 20)
    p = combined([*rows, odd], [9], width=0.1)[0]
    assert p.low <= actual <= p.high
