"""What comes back when gaps are closed: laws of shares and interactions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.plan.reports import pair, report
from trueup.plan.action import GAPS
from trueup.plan.loss import Loss

CONTACT, LATENCY = GAPS.index("contact"), GAPS.index("latency")


def closed(*gaps: int) -> np.ndarray:
    return np.isin(np.arange(len(GAPS)), gaps).astype(float)


def test_nothing_closed_loses_everything_and_all_closed_loses_nothing():
    found = report(contact=30, latency=20, interactions=(pair("contact", "latency", 12),))
    loss = Loss.of(found)
    assert loss(closed()) == pytest.approx(found.loss)
    assert loss(np.ones(len(GAPS))) == pytest.approx(0.0)


def test_two_that_only_hurt_together_come_back_with_either():
    # each alone costs nothing; Shapley halves what both cost
    loss = Loss.of(report(contact=20, latency=20, interactions=(pair("contact", "latency", 40),)))
    everything = loss(closed())
    assert everything - loss(closed(CONTACT)) == pytest.approx(40.0)
    assert loss(closed(CONTACT)) - loss(closed(CONTACT, LATENCY)) == pytest.approx(0.0)


def test_one_of_two_that_each_suffice_gives_back_less_than_its_share():
    # each alone costs 40, and both together too
    loss = Loss.of(report(contact=20, latency=20, interactions=(pair("contact", "latency", -40),)))
    everything = loss(closed())
    assert everything - loss(closed(CONTACT)) == pytest.approx(0.0)
    assert everything - loss(closed(CONTACT, LATENCY)) == pytest.approx(40.0)


def test_draws_are_as_wide_as_the_report_says():
    found = report(contact=30, half=9.0, interactions=(pair("contact", "visual", 10, half=4.0),))
    drawn = Loss.drawn(found, np.random.default_rng(0), 20_000)
    assert np.quantile(drawn.shares[:, CONTACT], [0.05, 0.95]) == pytest.approx([21, 39], abs=0.4)
    ends = np.quantile(drawn.pairs[:, CONTACT, GAPS.index("visual")], [0.05, 0.95])
    assert ends == pytest.approx([6, 14], abs=0.3)
