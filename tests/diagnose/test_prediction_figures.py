"""Prediction-powered shares, orders of policies, and how many trials are still needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.diagnose.planted_robots import Planted
from trueup.diagnose.prediction import (
    agreement,
    combined,
    mmrv,
    pearson,
    powered,
    spearman,
    trials_alone,
    trials_more,
)
from trueup.diagnose.prediction.needed import half_width_alone
from trueup.diagnose.prediction.ranking import Figure
from trueup.errors import TrueupError
from trueup.evaluate import wilson

CASES = [(0.02, 0.0, 0.0), (0.98, 0.0, 0.0), (0.6, 0.1, 0.1), (0.9, 0.3, 0.3), (0.5, 0.5, 0.5)]


@pytest.mark.parametrize("trials", [5, 10, 20])
@pytest.mark.parametrize(("said", "lost", "won"), CASES)
def test_powered_intervals_hold_the_truth_at_least_as_often_as_wilsons(trials, said, lost, won):
    generator, times = np.random.default_rng(trials), 400
    truth, held, alone = said * (1 - lost) + (1 - said) * won, 0, 0
    for _ in range(times):
        f, luck = generator.random(trials) < said, generator.random(trials)
        y = np.where(f, luck >= lost, luck < won)
        found = powered(y, f, generator.random(1000) < said)
        held += found.low <= truth <= found.high
        low, high = wilson(int(y.sum()), trials, 0.9)
        alone += low <= truth <= high
    assert held >= min(alone, 0.9 * times) - 2.0 * np.sqrt(0.09 * times)


def test_power_is_nil_without_agreement_and_nearly_full_with_it():
    y = np.arange(20) % 2 == 0
    fresh = np.random.default_rng(0).random(4000) < 0.5
    same, opposite = powered(y, y, fresh), powered(y, ~y, fresh)
    assert same.power > 0.9
    assert same.worth > 60
    assert opposite.power == 0.0
    assert opposite.share == y.mean()


def test_a_share_moves_with_what_fresh_starts_say():
    y = np.array([1, 1, 1, 0, 0, 1, 1, 0, 1, 1], bool)
    easy, hard = powered(y, y, np.ones(500)), powered(y, y, np.zeros(500))
    assert easy.share > y.mean() > hard.share


@pytest.mark.parametrize(
    ("done", "said", "why"),
    [
        ([1, 0, 1], [1, 0, 1], "too few"),
        ([1] * 9 + [0], [1] * 9 + [0], "1 failures among 10"),
        ([1, 0] * 5, [1] * 10, "the same of every trial"),
    ],
)
def test_where_power_cannot_be_tuned_the_trials_stand_alone(done, said, why):
    found = powered(done, said, np.ones(10))
    assert why in found.why_alone
    assert (found.low, found.high) == wilson(sum(done), len(done), 0.9)
    assert found.power == 0.0


def test_predictions_that_are_missing_are_refused():
    with pytest.raises(TrueupError, match="2 trials have 1 predictions"):
        powered([1, 0], [1], [1])


# Orders ---------------------------------------------------------------------------------------


def test_mmrv_is_what_a_wrong_choice_costs():
    assert mmrv([0.1, 0.5, 0.9], [0.2, 0.4, 0.6]) == 0.0
    assert mmrv([0.9, 0.5, 0.1], [0.2, 0.4, 0.6]) == pytest.approx((0.4 + 0.2 + 0.4) / 3)
    assert mmrv([0.5, 0.1, 0.9], [0.2, 0.3, 0.6]) == pytest.approx((0.1 + 0.1 + 0.0) / 3)
    assert mmrv([0.5, 0.5], [0.2, 0.6]) == pytest.approx(0.2)  # a tie wrongs the better one only
    assert mmrv([0.2, 0.6], [0.5, 0.5]) == 0.0  # the wrong order of equals costs nothing


def test_correlations_agree_with_the_textbook():
    generator = np.random.default_rng(0)
    a, b = generator.random(9).round(1), generator.random(9).round(1)
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b)[0])
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b)[0])
    assert spearman(a**3, b) == pytest.approx(spearman(a, b))
    assert np.isnan(pearson([0.5, 0.5], [0.1, 0.9]))


def width(figure: Figure) -> float:
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


def test_the_order_of_policies_gets_an_interval_that_shrinks_with_trials():
    said = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    few, many = (agreement(said, (n * said).round(), [n] * 5) for n in (10, 1000))
    for found in (few, many):
        for name in ("pearson", "spearman", "mmrv"):
            figure = getattr(found, name)
            assert figure.low <= figure.value <= figure.high
    assert width(many.mmrv) < width(few.mmrv)
    assert width(many.pearson) < width(few.pearson)
    assert few.to_json()["policies"] == 5


def test_equal_policies_have_no_correlation():
    found = agreement([0.5, 0.5, 0.5], [3, 5, 7], [10, 10, 10])
    assert found.pearson.value is None
    assert found.mmrv.value is not None


def test_two_policies_have_no_order_to_judge():
    with pytest.raises(TrueupError, match="order of 2 policies"):
        agreement([0.1, 0.9], [1, 9], [10, 10])
    with pytest.raises(TrueupError, match="cannot be compared"):
        mmrv([0.1], [0.1, 0.2])


# Trials that are needed -----------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.98])
@pytest.mark.parametrize("wanted", [0.02, 0.1, 0.3])
def test_so_many_trials_alone_are_enough_and_one_less_is_not(share, wanted):
    n = trials_alone(share, wanted)
    assert half_width_alone(share, n) <= wanted
    assert n == 1 or half_width_alone(share, n - 1) > wanted


def test_a_width_that_is_reached_needs_no_trial():
    assert trials_more(0.05, 0.1, 0.2) == 0
    assert trials_more(0.1, 0.05, 0.2) > trials_more(0.1, 0.05, 0.02) >= 1


def test_as_many_trials_as_are_said_to_be_needed_bring_the_wanted_width():
    planted, wanted, reached = Planted(simulated=0.6, lost=0.1, won=0.1), 0.08, []
    for k in range(12):
        (now,) = combined([planted.played(np.random.default_rng(k), 10)[0]], width=wanted)
        assert 0 < now.needed < now.needed_alone
        later = planted.played(np.random.default_rng(k), 10 + now.needed)[0]
        (then,) = combined([later], width=wanted)
        reached.append(0.5 * (then.high - then.low))
    assert 0.75 * wanted < np.mean(reached) < 1.25 * wanted
