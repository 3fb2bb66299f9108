"""What trials show beyond those of the identified world."""

from __future__ import annotations

import numpy as np
import pytest

from tests.diagnose.test_core import SMALL, SPACE, WORLD, begin
from trueup.diagnose import Rate, built
from trueup.diagnose.echo import Echo, echoed
from trueup.diagnose.inference import Reader
from trueup.diagnose.planted import GAPS
from trueup.space import Fixed, Uniform

VISUAL, ACTUATION = GAPS.index("visual"), GAPS.index("actuation")
ALL, HALF = Rate(successes=40, trials=40), Rate(successes=10, trials=20)


def points(**of: float) -> np.ndarray:
    return np.array([[of.get(gap, 0.0) for gap in GAPS]])


def test_what_both_show_tells_of_no_other_cause():
    """Who takes a soft arm for a camera that is off takes both soft arms for it."""
    echo = Echo(points=points(visual=0.4, actuation=0.1), weights=np.ones(1))
    again = echo.beyond(points(visual=0.4, actuation=0.1), np.array([0.5]))
    assert again == pytest.approx(np.zeros((1, 8)))
    more = echo.beyond(points(visual=0.4, actuation=0.1, human=0.3), np.array([0.8]))
    assert more == pytest.approx(points(human=0.3))


def test_where_the_identified_world_loses_nothing_trials_count_as_they_are_read():
    none = Echo(points=np.zeros((1, 8)), weights=np.ones(1))
    read = points(visual=0.4, sensing=0.2)
    assert none.beyond(read, np.array([0.6])) == pytest.approx(read)


def test_no_more_is_beyond_than_the_identified_world_leaves_of_the_loss():
    echo = Echo(points=points(visual=0.4), weights=np.ones(1))
    found = echo.beyond(points(actuation=0.5), np.array([0.5]))
    assert found == pytest.approx(points(actuation=0.1))


def test_points_are_drawn_as_often_as_they_are_likely():
    echo = Echo(
        points=np.concatenate([points(visual=0.5), points(human=0.5)]), weights=np.array([0.8, 0.2])
    )
    assert echo.mean.points == pytest.approx(points(visual=0.4, human=0.1))
    drawn = echo.some(4000, np.random.default_rng(0)).points.mean(axis=0)
    assert drawn == pytest.approx(points(visual=0.4, human=0.1)[0], abs=0.02)


@pytest.fixture(scope="module")
def reader():
    return Reader(built(WORLD, begin, SPACE, np.random.default_rng(1), size=SMALL), 10)


@pytest.mark.parametrize(
    ("prior", "least", "most"),
    [(Fixed(1.0), 0.0, 0.05), (Uniform(low=0.6, high=0.601), 0.5, 1.0)],
)
def test_a_weak_supply_is_heard_as_far_as_it_costs_something(reader, prior, least, most):
    belief = SPACE.select("actuation/supply_voltage").narrowed({"actuation/supply_voltage": prior})
    none = Rate(successes=0, trials=20)
    echo = echoed(WORLD, begin, belief, reader, ALL, none, {}, np.random.default_rng(0))
    assert echo.weights.sum() == pytest.approx(1.0)
    assert least <= echo.mean.points.sum() <= most


def test_a_point_at_which_more_is_lost_than_on_the_robot_counts_less(reader):
    belief = SPACE.select("actuation/supply_voltage").narrowed(
        {"actuation/supply_voltage": Uniform(low=0.6, high=1.0)}
    )
    echo = echoed(WORLD, begin, belief, reader, ALL, HALF, {}, np.random.default_rng(0))
    lost = echo.points.sum(axis=1)
    assert lost.max() > 0.8 > 0.3 > lost.min()
    assert echo.weights[lost > 0.8].mean() < 0.2 * echo.weights[lost < 0.3].mean()
