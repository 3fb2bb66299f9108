"""Pairs of episodes: printed values, the coverage promised, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.evaluate.planted import SPACE, outcome, planted
from trueup.errors import TrueupError
from trueup.evaluate import Comparison, compared, trials


def table(both: int, only_a: int, only_b: int, neither: int) -> Comparison:
    return Comparison(both=both, only_a=only_a, only_b=only_b, neither=neither)


def test_intervals_as_printed():
    # Newcombe (1998), method 10; Fagerland, Lydersen and Laake (2013), Newcombe's square-and-add
    assert table(36, 12, 2, 0).interval() == pytest.approx((0.0569, 0.3404), abs=5e-5)
    assert table(1, 1, 7, 12).interval() == pytest.approx((-0.507, -0.026), abs=5e-4)


def test_mcnemar_as_another_implementation_has_it():
    assert table(1, 1, 7, 12).p_value == pytest.approx(0.0703, abs=5e-5)
    for b, c in ((0, 0), (0, 5), (3, 3), (40, 20)):
        expected = stats.binomtest(b, b + c).pvalue if b + c else 1.0
        assert table(9, b, c, 9).p_value == pytest.approx(expected)


@pytest.mark.parametrize("cells", [(50, 0, 0, 0), (0, 0, 0, 50), (25, 0, 0, 25), (1, 0, 0, 0)])
def test_no_pair_that_differs_still_leaves_doubt(cells):
    low, high = table(*cells).interval()
    assert -1.0 <= low < 0.0 < high <= 1.0
    assert low == pytest.approx(-high)
    assert table(*cells).p_value == 1.0
    assert table(*cells).still_needed is None


@pytest.mark.parametrize("cells", [(0, 9, 0, 0), (0, 0, 9, 0), (0, 5, 5, 0), (9, 1, 0, 0)])
def test_intervals_stay_inside_and_hold_the_difference(cells):
    low, high = table(*cells).interval()
    assert -1.0 <= low <= table(*cells).difference <= high <= 1.0


def test_swapping_the_two_turns_the_sign():
    one, other = table(30, 9, 4, 7), table(30, 4, 9, 7)
    assert one.difference == -other.difference
    assert one.interval() == pytest.approx(tuple(-x for x in other.interval()[::-1]))
    assert one.p_value == other.p_value


@pytest.mark.parametrize(
    "shares",
    [
        (0.85, 0.05, 0.05, 0.05),
        (0.6, 0.25, 0.05, 0.1),
        (0.93, 0.02, 0.04, 0.01),
        (0.3, 0.2, 0.2, 0.3),
    ],
)
def test_the_interval_covers_what_it_promises(shares):
    generator = np.random.default_rng(1)
    truth = shares[1] - shares[2]
    for n in (40, 300):
        drawn = generator.multinomial(n, shares, 1500)
        inside = [
            low <= truth <= high for low, high in (table(*map(int, c)).interval() for c in drawn)
        ]
        assert 0.93 <= np.mean(inside) <= (1.0 if n < 100 else 0.985)


def test_pairing_narrows_the_interval():
    paired = table(880, 15, 5, 100)
    apart = table(801, 94, 84, 21)  # the same shares, without anything in common
    widths = [high - low for low, high in (paired.interval(), apart.interval())]
    assert widths[0] < 0.5 * widths[1]


def test_the_pairs_still_needed_would_do():
    few = table(80, 8, 4, 8)
    needed = few.still_needed
    assert needed is not None and needed > 0
    assert not few.told_apart
    drawn = np.random.default_rng(2).multinomial(100 + needed, (0.8, 0.08, 0.04, 0.08), 2000)
    power = np.mean([table(*map(int, cells)).told_apart for cells in drawn])
    assert 0.74 < power < 0.84  # 80 %; the exact test gives a little away


def test_it_says_so_in_words():
    clear = table(700, 90, 20, 190)
    assert clear.still_needed == 0
    words = clear.words("new", "old")
    assert (
        "In 1,000 pairs of episodes in the same worlds, new succeeds 7.0 points more often" in words
    )
    assert "They differ (p < 0.001" in words
    assert "less often than" in table(700, 20, 90, 190).words()
    assert "more pairs would do it" in table(80, 8, 4, 8).words()
    assert "each won as many pairs" in table(80, 4, 4, 12).words()
    same = table(80, 0, 0, 20).words("new", "old")
    assert "new succeeds as often as old" in same
    assert "no pair differs" in same


def test_two_policies_in_one_space():
    a = planted(lambda points: np.array(0.9), 400)
    b = outcome(a.points, a.seeds, a.success & (np.arange(400) % 10 > 0))
    comparison = compared(a, b)
    assert comparison.same_worlds
    assert comparison.only_b == 0
    assert comparison.difference == pytest.approx(a.success_share - b.success_share)
    assert comparison.pairs == 400


def test_one_policy_in_two_spaces():
    narrow = SPACE.select("latency")
    parts = []
    for space in (SPACE, narrow):
        points, seeds = trials(space, 200, 5)
        parts.append(outcome(points, seeds, points.column("latency/delay") < 0.06))
    comparison = compared(*parts)
    assert not comparison.same_worlds
    assert "different worlds with the same starts" in comparison.words()


def test_other_episodes_are_not_paired():
    a = planted(lambda points: np.array(0.9), 50)
    with pytest.raises(TrueupError, match=r"50 and 40 episodes, of which 40 share a seed\."):
        compared(a, a.subset(slice(40)))
    with pytest.raises(TrueupError, match=r"of which 0 share a seed"):
        compared(a, planted(lambda points: np.array(0.9), 50, seed=1))
    with pytest.raises(TrueupError, match=r"of which 50 share a seed, not row by row"):
        compared(a, a.subset(np.arange(50)[::-1]))
    other = outcome(a.points, a.seeds, a.success)
    object.__setattr__(other, "world", "test/other")
    with pytest.raises(TrueupError, match="cannot be paired with one of 'test/other'"):
        compared(a, other)
