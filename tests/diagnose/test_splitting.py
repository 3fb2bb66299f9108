"""Shares of a loss: they add up, and their intervals hold what chance may have hidden."""

import numpy as np
import pytest

from trueup.diagnose.doubt import Doubt
from trueup.diagnose.gap_report import Rate
from trueup.diagnose.inference import Answer
from trueup.diagnose.planted import GAPS
from trueup.diagnose.shapley import Attribution, Cost, cost_of, weights_of
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


def test_points_that_lose_more_than_the_robot_hardly_count_and_those_that_lose_less_do_somewhat():
    """What recordings leave wide open would else pass for a cost, or for none."""
    won = np.array([[0.0] * 12, [1.0] * 6 + [0.0] * 6, [1.0] * 12])
    low, same, high = weights_of(won, Rate(successes=13, trials=20))
    assert low < 0.01 * high and 1.5 * high < same < 4.0 * high
    assert low + same + high == pytest.approx(3.0)
    few = weights_of(won, Rate(successes=2, trials=3))
    assert few[0] / few[2] > low / high  # three trials hardly tell


def test_weighted_costs_are_those_of_the_points_that_count():
    lost = np.repeat([0.8, 0.1, 0.2], 4)
    cost = cost_of(lost, 4, np.array([0.0, 1.5, 1.5]))
    assert cost.value == pytest.approx(0.15)
    assert cost.spread < cost_of(lost, 4).spread


def test_where_identified_gaps_explain_the_loss_trials_blame_nothing_beside_them():
    """Trials say latency, and recordings that actuation alone costs as much as was lost."""
    costs = {"actuation": Cost(value=0.5, spread=0.05), "latency": Cost(value=0.02, spread=0.02)}
    found = Attribution(
        gaps=("actuation", "latency"),
        nominal=np.ones(1),
        identified=np.zeros(1),
        shares=costs,
        alone=costs,
        pairs={},
    )
    measured = Rate(successes=9, trials=20)
    told = split(SURE, found, SIMULATED, measured, 0.0, np.random.default_rng(0))
    points = {share.gap: share.points for share in told.shares}
    assert points["actuation"] == pytest.approx(50.0 * 49.0 / 52.0)
    assert sum(points.values()) == pytest.approx(49.0)
    assert points["latency"] < 5.0


def test_few_trials_that_went_well_by_chance_do_not_shut_out_what_recordings_say():
    """The robot loses 28 points, and 16 of 20 trials succeed."""
    costs = {"actuation": Cost(value=0.28, spread=0.03)}
    found = Attribution(
        gaps=("actuation",),
        nominal=np.ones(100),
        identified=np.append(np.ones(72), np.zeros(28)),
        shares=costs,
        alone=costs,
        pairs={},
    )
    measured = Rate(successes=16, trials=20)
    told = split(SURE, found, SIMULATED, measured, 0.0, np.random.default_rng(0))
    (share,) = (share for share in told.shares if share.gap == "actuation")
    lost = 100 * (SIMULATED.share - 0.8)
    assert share.points == pytest.approx(lost)
    assert share.low < lost and share.high > 27.0


def doubted(explained: float):
    """Latency, identified, seems to cost all that was lost; recordings show something else too."""
    lost = SIMULATED.share - 0.35
    costs = {"latency": Cost(value=lost, spread=0.01)}
    found = Attribution(
        gaps=("latency",),
        nominal=np.ones(20),
        identified=np.ones(20) * 0.35,
        shares=costs,
        alone=costs,
        pairs={},
    )
    doubt = Doubt(what="Unmodelled.", gaps=("latency",), explained=explained)
    measured = Rate(successes=7, trials=20)
    generator = np.random.default_rng(0)
    return split(SURE, found, SIMULATED, measured, 0.0, generator, doubts=(doubt,))


@pytest.mark.parametrize(("explained", "first"), [(0.3, "unexplained"), (0.97, "latency")])
def test_numbers_that_stand_for_something_else_are_believed_as_far_as_they_explain_it(
    explained, first
):
    found = doubted(explained)
    latency = next(share for share in found.shares if share.gap == "latency")
    lost = 100 * (SIMULATED.share - 0.35)
    assert latency.points == pytest.approx(explained * lost)
    assert latency.points + found.unexplained.points == pytest.approx(lost)
    assert max((latency, found.unexplained), key=lambda share: share.points).gap == first


def test_how_much_is_theirs_nobody_knows():
    half, most = (next(s for s in doubted(e).shares if s.gap == "latency") for e in (0.5, 0.97))
    assert half.high - half.low > 40.0 > most.high - most.low
    assert half.low < 10.0 and half.high > 45.0


@pytest.mark.parametrize(("explained", "points"), [(1.0, -8.0), (0.0, 6.0)])
def test_a_gap_is_not_thanked_for_what_it_saves_from_one_that_is_not_believed(explained, points):
    """A soft arm makes up for a late camera; a camera that is late at random it cannot help."""
    found = Attribution(
        gaps=("visual", "actuation"),
        nominal=np.ones(40),
        identified=np.repeat([0.0, 1.0], 20),
        shares={"visual": Cost(value=0.58, spread=0.0), "actuation": Cost(value=-0.08, spread=0.0)},
        alone={"visual": Cost(value=0.72, spread=0.0), "actuation": Cost(value=0.06, spread=0.0)},
        pairs={("visual", "actuation"): Cost(value=-0.28, spread=0.0)},
    )
    visual = np.eye(len(GAPS))[GAPS.index("visual")]
    doubt = Doubt(what="Frames are late at random.", gaps=("visual",), explained=explained)
    made = split(
        Answer(parts=visual, low=visual, high=visual),
        found,
        Rate(successes=400, trials=400),
        Rate(successes=10, trials=20),
        0.0,
        np.random.default_rng(0),
        doubts=(doubt,),
    )
    share = next(share for share in made.shares if share.gap == "actuation")
    assert share.points == pytest.approx(points)


@pytest.mark.parametrize(("learnt", "rest"), [(0.0, 0.0), (0.4, 40.0), (2.0, 65.0)])
def test_what_was_learnt_beside_all_gaps_is_unexplained_as_far_as_it_costs(learnt, rest):
    """Trials blame latency for all of it; played, what was learnt costs this much."""
    found = Attribution(
        gaps=("latency",),
        nominal=np.ones(20),
        identified=np.ones(20),
        shares={"latency": Cost(value=0.0, spread=0.0)},
        alone={"latency": Cost(value=0.0, spread=0.0)},
        pairs={},
        beyond=Cost(value=learnt, spread=0.02),
    )
    simulated, measured = Rate(successes=400, trials=400), Rate(successes=7, trials=20)
    told = split(SURE, found, simulated, measured, 0.0, np.random.default_rng(0))
    assert told.unexplained.points == pytest.approx(rest)
    assert told.unexplained.low <= rest <= told.unexplained.high
    assert sum(s.points for s in told.shares) == pytest.approx(65.0 - rest)


def identified(alone: float, *, spread: float = 0.01) -> Attribution:
    """Latency costs as much alone, and is known."""
    cost = Cost(value=alone, spread=spread)
    return Attribution(
        gaps=("latency",),
        nominal=np.ones(20),
        identified=np.full(20, 1.0 - alone),
        shares={"latency": cost},
        alone={"latency": cost},
        pairs={},
    )


def both(other: float) -> dict:
    """Shares where trials blame sensing for a part of it, too."""
    parts = (1.0 - other) * LATENCY + other * np.eye(len(GAPS))[GAPS.index("sensing")]
    answer = Answer(parts=parts, low=parts, high=parts)
    rates = Rate(successes=1000, trials=1000), Rate(successes=10, trials=20)
    found = split(answer, identified(0.35), *rates, 0.0, np.random.default_rng(0))
    return {share.gap: share for share in found.shares}


def test_an_identified_gap_shares_what_it_costs_alone_with_one_that_nobody_identified():
    """Alone it costs 35 of 50 points; what both cost, each has half of."""
    shares = both(0.3)
    assert shares["latency"].points == pytest.approx(0.75 * 35.0, abs=0.5)
    assert shares["latency"].points + shares["sensing"].points == pytest.approx(50.0, abs=0.5)
    assert shares["latency"].low < 0.65 * 35.0 < 35.0 <= shares["latency"].high


def test_where_nothing_else_is_blamed_it_keeps_all_that_it_costs():
    assert both(0.0)["latency"].points == pytest.approx(50.0, abs=0.5)


def test_however_sure_a_fit_is_a_robot_is_never_quite_so():
    share = both(0.0)["latency"]
    assert share.low < 35.0 - 1.0
