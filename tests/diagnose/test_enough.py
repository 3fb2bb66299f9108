"""Whether identified numbers are all there is: as likely as it is, for robots drawn at random."""

import numpy as np
import pytest

from trueup.diagnose.enough import Enough
from trueup.diagnose.gap_report import Rate
from trueup.diagnose.inference import Answer
from trueup.diagnose.planted import GAPS
from trueup.diagnose.shapley import Attribution, Cost
from trueup.diagnose.splitting import Split, split

SPREAD, TRIALS, MOST, ROBOTS = 0.08, 20, 0.95, 3000
VISUAL = np.eye(len(GAPS))[GAPS.index("visual")]


def robots() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether nothing else costs, how likely that seemed, and how far intervals are off."""
    generator = np.random.default_rng(3)
    alone, likely, inside = [], [], []
    for _ in range(ROBOTS):
        cost = generator.uniform(0.1, 0.8)
        nothing = generator.random() < 0.6
        lost = cost if nothing else generator.uniform(cost, MOST)
        seen = generator.binomial(TRIALS, MOST - lost) / TRIALS
        fitted = cost + SPREAD * generator.standard_normal()
        wide = np.sqrt(seen * (1.0 - seen) / TRIALS + 0.02**2)
        maybe = MOST - seen + wide * generator.standard_normal(400)
        found = Enough.of([fitted], [SPREAD], maybe, MOST, 0.6)
        alone.append(nothing)
        likely.append(found.likely)
        if nothing:
            low, high = np.quantile(found.drawn(maybe, generator)[:, 0], [0.05, 0.95])
            inside.append(low <= cost <= high)
    return np.array(alone), np.array(likely), np.array(inside)


ALONE, LIKELY, INSIDE = robots()


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)])
def test_it_is_as_likely_as_it_is_often_so(low, high):
    there = (low <= LIKELY) & (high > LIKELY)
    assert there.sum() > 100
    assert ALONE[there].mean() == pytest.approx(LIKELY[there].mean(), abs=0.08)


def test_nine_in_ten_intervals_hold_what_it_costs_alone():
    assert 0.84 <= INSIDE.mean() <= 0.95


def test_what_is_surest_changes_least():
    found = Enough.of([0.5, 0.1, 0.0], [0.06, 0.02, 0.0], np.full(9, 0.7), 1.0, 0.6)
    costs = found.given(found.costs[None], np.array([0.7]))[0]
    assert costs.sum() == pytest.approx(0.7)
    assert costs[2] == pytest.approx(0.0, abs=1e-6)
    assert (costs[0] - 0.5) / (costs[1] - 0.1) == pytest.approx(9.0)


def of(lost: int, elsewhere: float) -> Split:
    """Visual, identified, costs 69 points, and trials blame another gap for the rest of a loss."""
    cost = Cost(value=0.69, spread=0.1)
    found = Attribution(
        gaps=("visual",),
        nominal=np.ones(20),
        identified=np.repeat([0.0, 1.0], [14, 6]),
        shares={"visual": cost},
        alone={"visual": cost},
        pairs={},
    )
    parts = 0.3 * VISUAL + 0.7 * np.eye(len(GAPS))[GAPS.index("sensing")]
    rates = Rate(successes=400, trials=400), Rate(successes=20 - lost, trials=20)
    generator = np.random.default_rng(0)
    answer = Answer(parts=parts, low=parts, high=parts)
    return split(answer, found, *rates, 0.05, generator, elsewhere=elsewhere)


def points(told: Split) -> dict[str, float]:
    return {share.gap: share.points for share in (*told.shares, told.unexplained)}


def test_a_gap_that_costs_about_what_was_lost_shares_it_with_nobody():
    told = of(17, 0.3)
    before = points(of(17, 1.0))["visual"]
    assert points(told)["visual"] > before + 10.0
    share = next(s for s in told.shares if s.gap == "visual")
    assert share.low < before and share.high >= 85.0
    assert sum(points(told).values()) == pytest.approx(85.0)


def test_one_that_costs_less_than_was_lost_does():
    """A robot that never succeeds loses 31 points more: that is hardly chance."""
    few, many = (points(of(20, elsewhere)) for elsewhere in (0.3, 1.0))
    assert few["visual"] - many["visual"] < 30.0
    assert few["sensing"] > 3.0
