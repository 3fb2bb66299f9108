"""How many trials show a recovery: power by counting, and what cannot be seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.plan.reports import report
from trueup.errors import TrueupError
from trueup.plan import planned, power_of, trials_to_see
from trueup.plan.stopping import FEW, told_loss, trials_after, worth_trying


@pytest.mark.parametrize(("before", "after"), [(0.4, 0.6), (0.4, 0.9), (0.1, 0.2), (0.0, 0.3)])
def test_the_power_is_what_experiments_find(before, after):
    n = trials_to_see(before, after)
    assert n is not None
    rng = np.random.default_rng(0)
    a, b = rng.binomial(n, before, 20_000) / n, rng.binomial(n, after, 20_000) / n
    pooled = (a + b) / 2
    spread = np.sqrt(np.maximum(2 * pooled * (1 - pooled) / n, 1e-12))
    assert np.mean((b - a) / spread > 1.6449) == pytest.approx(0.8, abs=0.06)
    assert power_of(before, after, n, n) >= 0.8
    assert power_of(before, after, n - 2, n - 2) < 0.83


def test_a_chance_rise_is_rarely_seen():
    assert power_of(0.4, 0.4, 60, 60) < 0.07


def test_smaller_rises_take_more_trials_and_none_takes_none():
    found = [trials_to_see(0.4, after) or 0 for after in (0.9, 0.7, 0.6, 0.5)]
    assert 0 < found[0] < found[1] < found[2] < found[3]
    assert trials_to_see(0.4, 0.4) is None
    assert trials_to_see(0.4, 0.41) is None
    with pytest.raises(TrueupError, match=r"after is 1\.2"):
        trials_to_see(0.4, 1.2)


def test_many_trials_made_before_save_some_afterwards():
    few, many = report(measured=(20, 50), contact=50), report(measured=(200, 500), contact=50)
    each, fewer = trials_after(few, 17), trials_after(many, 17)
    assert each is not None
    assert fewer is not None
    assert fewer < each


def test_items_are_gathered_until_trials_can_show_something():
    found = report(contact=18, visual=18, latency=18)
    items = planned(found).items
    count, trials = worth_trying(found, items)
    assert count > 1
    assert trials is not None
    assert trials <= FEW
    assert trials_after(found, items[0].recovery.points) != trials


def test_the_interval_of_the_loss_holds_the_loss():
    found = report(measured=(20, 50), contact=50)
    low, high = told_loss(found)
    assert low < found.loss < high
    assert told_loss(report(measured=(9, 10), contact=5))[0] < 0
