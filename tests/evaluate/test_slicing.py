"""Where it fails: planted effects are found and named, and nothing is claimed of noise."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from tests.evaluate.planted import DELAY, MASS, SPACE, idle, planted
from trueup.errors import TrueupError
from trueup.evaluate import Slice, described, slices
from trueup.evaluate.association import associations
from trueup.evaluate.words import number, percent, scaled
from trueup.space import Space


def late(points):
    """Fails more and more often beyond 20 ms."""
    return np.interp(points.column(DELAY.name), [0.02, 0.08], [0.99, 0.5])


def off(points):
    """Fails where the mass is far from nominal, on either side."""
    return np.where(np.abs(points.column(MASS.name) - 0.05) > 0.02, 0.6, 0.98)


def claimed(found: list[Slice]) -> list[str]:
    return [s.name for s in found if s.claimed]


def test_a_planted_trend_is_found_and_told():
    done = planted(late, 1000)
    found = slices(done, SPACE)
    assert claimed(found) == [DELAY.name]
    (sentence,) = described(found, done)
    assert re.fullmatch(
        r"latency/delay: 9\d % below 1\d\.\d ms, [56]\d % above 6\d\.\d ms", sentence
    )
    assert sum(b.n for b in found[0].bins) == 1000
    shares = [b.share for b in found[0].bins]
    assert shares[0] > 0.95 and shares[-1] < 0.7


def test_what_is_bad_at_both_ends_is_found_and_told():
    done = planted(off, 1000, seed=1)
    found = slices(done, SPACE)
    assert claimed(found) == [MASS.name]
    assert found[0].p_bins < 1e-6 < found[0].p_trend
    sentence = str(found[0])
    assert "g or above" in sentence and sentence.endswith("between")


def test_what_is_bad_in_the_middle_is_found_and_told():
    done = planted(
        lambda points: np.where(np.abs(points.column(MASS.name) - 0.05) < 0.006, 0.5, 0.97), 1000
    )
    found = slices(done, SPACE)
    assert claimed(found) == [MASS.name]
    assert " between " in str(found[0]) and str(found[0]).endswith("elsewhere")


def test_two_planted_effects_are_both_found():
    both, more = 0, 0
    for seed in range(30):
        found = set(claimed(slices(planted(lambda p: late(p) * off(p), 800, seed), SPACE)))
        both += {DELAY.name, MASS.name} <= found
        more += bool(found - {DELAY.name, MASS.name})
    assert both >= 29
    assert more <= stats.binom.ppf(0.999, 30, 0.05)


def test_a_gap_is_told_where_none_of_its_parameters_is():
    space = Space((DELAY, *idle(30)))

    def far(points):
        away = np.abs(np.log(points.values[:, 1:]) / np.log(2.0)).mean(axis=1)
        return np.where(away > np.median(away), 0.75, 0.97)

    found = slices(planted(far, 1000, space=space), space)
    assert found[0].name == "contact"
    assert found[0].parameters == 30
    assert re.fullmatch(
        r"contact \(all 30\): 9\d % near nominal, \d\d % far from it", str(found[0])
    )


def test_no_claim_where_nothing_is_planted():
    claims = sum(
        bool(claimed(slices(planted(lambda p: np.array(0.9), 200, seed), SPACE)))
        for seed in range(40)
    )
    assert claims <= stats.binom.ppf(0.999, 40, 0.05)


@pytest.mark.parametrize(("n", "failures"), [(200, 30), (300, 5), (60, 2)])
def test_the_level_holds_however_few_the_failures(n, failures):
    generator = np.random.default_rng(4)
    repetitions, claims = 300, 0
    success = np.arange(n) >= failures
    for _ in range(repetitions):
        values = generator.random((n, 20))
        bins = (5 * values).astype(int)
        found = associations(values, bins, success, generator, shuffles=99)
        claims += bool((found.corrected < 0.05).any())
    assert claims / repetitions <= stats.binom.ppf(0.999, repetitions, 0.05) / repetitions


def test_corrected_values_are_never_below_the_smallest_possible():
    done = planted(late, 500)
    for s in slices(done, SPACE):
        assert 0.001 <= s.p_value <= 1.0


def test_the_same_evaluation_is_told_in_the_same_words():
    done = planted(late, 400)
    assert slices(done, SPACE) == slices(done, SPACE)


@pytest.mark.parametrize(
    ("share", "words"), [(1.0, "No episode failed"), (0.0, "Every episode failed")]
)
def test_all_or_nothing_is_explained_by_nothing(share, words):
    done = planted(lambda points: np.array(share), 100)
    found = slices(done, SPACE)
    assert claimed(found) == []
    assert described(found, done)[0].startswith(words)


def test_noise_is_said_to_explain_nothing():
    done = planted(lambda points: np.array(0.8), 100, seed=5)
    assert described(slices(done, SPACE), done) == ["No parameter explains the failures at 5 %."]


def test_pinned_parameters_have_no_slice():
    space = SPACE.pinned({MASS.name: 0.05})
    names = [s.name for s in slices(planted(late, 100, space=space), space)]
    assert MASS.name not in names
    assert DELAY.name in names


def test_values_that_repeat_share_a_bin():
    space = Space((DELAY, MASS))
    done = planted(late, 300, space=space)
    values = done.points.values.copy()
    values[:, 0] = np.where(values[:, 0] > 0.06, 0.06, 0.01)
    from trueup.space import Points

    object.__setattr__(done, "points", Points(space.names, values))
    delay = next(s for s in slices(done, space) if s.name == DELAY.name)
    assert [b.n for b in delay.bins] == [int((values[:, 0] == v).sum()) for v in (0.01, 0.06)]


def test_another_space_is_refused():
    done = planted(late, 50, space=Space((DELAY,)))
    with pytest.raises(TrueupError, match="has none of the 1 free ones"):
        slices(done, Space((MASS,)))
    assert slices(done, Space(())) == []


def test_ranks_and_trend_agree_with_another_implementation():
    generator = np.random.default_rng(6)
    values = np.round(generator.random((80, 1)), 1)  # with ties
    success = generator.random(80) < 0.3 + 0.4 * values[:, 0]
    bins = (3.999 * values / values.max()).astype(int)
    found = associations(values, bins, success, generator, shuffles=9)
    rank = np.corrcoef(stats.rankdata(values[:, 0]), success)[0, 1]
    assert found.trend[0] == pytest.approx(stats.chi2.sf(79 * rank**2, 1), rel=1e-4)
    counts = np.array([np.bincount(bins[success == s, 0], minlength=4) for s in (True, False)])
    _, chance, *_ = stats.chi2_contingency(counts, correction=False)
    assert found.bins[0] == pytest.approx(chance, rel=1e-4)


def test_numbers_are_told_as_people_do():
    assert [percent(x) for x in (0.0, 0.0001, 0.611, 0.9996, 1.0)] == [
        "0 %",
        "0.1 %",
        "61 %",
        "99.9 %",
        "100 %",
    ]
    assert scaled("s", 0.08) == ("ms", 1e3)
    assert scaled("s", 3.0) == ("s", 1.0)
    assert scaled("1", 0.3) == ("", 1.0)
    assert [number(x) for x in (-0.00123, 12345.6, 0.5)] == ["−0.00123", "12,300", "0.5"]
