"""Intervals of a share: printed values, and the coverage they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trueup.errors import TrueupError
from trueup.evaluate import exact, jeffreys, wilson
from trueup.evaluate.chance import share_interval


def test_wilson_intervals():
    # Brown, Cai and DasGupta (2001) and Newcombe (1998), to their printed digits
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(10, 10)[1] == pytest.approx(1.0)
    assert wilson(0, 0) == (0.0, 1.0)


def test_intervals_agree_with_another_implementation():
    for successes, n in ((0, 7), (3, 7), (7, 7), (841, 1000)):
        for confidence in (0.8, 0.95):
            told = stats.binomtest(successes, n)
            for ours, theirs in ((wilson, "wilson"), (exact, "exact")):
                expected = told.proportion_ci(confidence, method=theirs)
                assert ours(successes, n, confidence) == pytest.approx(
                    (expected.low, expected.high)
                )
    tails = stats.beta(3.5, 7.5).ppf([0.025, 0.975])
    assert jeffreys(3, 10) == pytest.approx(tuple(tails))
    assert jeffreys(0, 10)[0] == 0.0 and jeffreys(10, 10)[1] == 1.0


@pytest.mark.parametrize(("method", "least", "most"), [(wilson, 0.93, 0.97), (exact, 0.95, 1.0)])
def test_intervals_cover_what_they_promise(method, least, most):
    covered = []
    for n in (30, 200):
        intervals = np.array([method(k, n) for k in range(n + 1)])
        for share in np.linspace(0.05, 0.95, 19):
            inside = (intervals[:, 0] <= share) & (share <= intervals[:, 1])
            covered.append(stats.binom.pmf(np.arange(n + 1), n, share)[inside].sum())
    assert least < np.mean(covered) < most
    if method is exact:
        assert min(covered) >= 0.95


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "wald"}, "no interval named 'wald'. Take one of wilson, jeffreys, exact."),
        ({"confidence": 95}, "An interval of confidence 95 cannot be given."),
    ],
)
def test_what_is_no_interval_is_refused(options, words):
    with pytest.raises(TrueupError, match=words):
        share_interval(1, 2, **options)


@pytest.mark.parametrize("n", [1, 7, 256, 1000, 10_000])
def test_an_interval_holds_what_was_seen_however_numbers_are_rounded(n):
    for successes in {0, 1, n // 2, n - 1, n}:
        for interval in (wilson, jeffreys, exact):
            low, high = interval(successes, n)
            assert low <= successes / n <= high
