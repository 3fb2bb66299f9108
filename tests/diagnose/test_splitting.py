"""Shares of a loss: they add up, and their intervals hold what chance may have hidden."""

import numpy as np
import pytest

from trueup.diagnose.gap_report import Rate
from trueup.diagnose.inference import Answer
from trueup.diagnose.planted import GAPS
from trueup.diagnose.splitting import split

LATENCY = np.eye(len(GAPS))[GAPS.index("latency")]
SURE = Answer(parts=LATENCY, low=LATENCY, high=LATENCY)
SIMULATED = Rate(successes=376, trials=400)


def latency(successes, trials=20, simulated=SIMULATED):
    measured = Rate(successes=successes, trials=trials)
    found = split(SURE, None, simulated, measured, 0.0, np.random.default_rng(0))
    return next(share for share in found.shares if share.gap == "latency"), found


def test_shares_and_the_rest_add_up_to_what_was_lost():
    _, found = latency(7)
    total = sum(share.points for share in found.shares) + found.unexplained.points
    assert total == pytest.approx(100 * (376 / 400 - 7 / 20))


def test_where_nothing_succeeds_all_may_be_lost():
    share, _ = latency(0)
    assert share.high >= 94.0
    assert share.low > 70.0


def test_few_simulated_episodes_leave_more_open():
    counts = ((9, 10), (900, 1000))
    few, many = (latency(7, simulated=Rate(successes=s, trials=n))[0] for s, n in counts)
    assert few.high - few.low > many.high - many.low


@pytest.mark.parametrize("truth", [0.0, 0.05, 0.3, 0.6])
def test_of_many_robots_that_lose_as_much_nine_in_ten_intervals_say_so(truth):
    """Both successes are counted, and counted anew for every robot."""
    generator = np.random.default_rng(5)
    inside = []
    for _ in range(200):
        simulated = Rate(successes=int(generator.binomial(400, 0.95)), trials=400)
        share, _ = latency(int(generator.binomial(20, truth)), simulated=simulated)
        inside.append(share.low <= 100 * (0.95 - truth) <= share.high)
    assert np.mean(inside) >= 0.85
