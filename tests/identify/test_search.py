"""What sticks is found by a search where a descent ends elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify.fitting import fitted
from trueup.identify.problem import Problem
from trueup.identify.search import _CROWD, _Crowd, sticks

STICKY = {
    "actuation/elbow_flex/kp": 11.0,
    "actuation/elbow_flex/frictionloss": 0.16,
    "actuation/elbow_flex/stribeck_torque": 0.12,
    "actuation/elbow_flex/rest_friction": 0.2,
}
SPACE = WORLD.catalogue.select(*STICKY)
NOMINAL = SPACE.encode(SPACE.nominal())[0]


def test_only_spaces_with_friction_at_rest_need_a_search() -> None:
    assert sticks(SPACE)
    assert not sticks(WORLD.catalogue.select("actuation/*/kp", "latency/action_delay"))


def test_a_crowd_never_gets_worse_stays_inside_and_finds_the_lowest_of_many_valleys() -> None:
    target = np.array([0.58, 0.44, 0.93, 0.11])

    def costs(points: np.ndarray) -> np.ndarray:
        off = points - target
        return (off**2 + 0.01 * (1.0 - np.cos(40.0 * off))).sum(axis=1)  # 0 at the target alone

    crowd = _Crowd(0, np.arange(4), NOMINAL, SPACE, np.random.default_rng(0))
    crowd.take(costs(crowd.children))
    crowd.cut()
    assert len(crowd.members) == _CROWD
    lowest = crowd.costs.min()
    for _ in range(60):
        crowd.breed()
        assert ((crowd.children >= 0.0) & (crowd.children <= 1.0)).all()
        crowd.take(costs(crowd.children))
        np.testing.assert_allclose(costs(crowd.members), crowd.costs)
        assert crowd.costs.min() <= lowest
        lowest = crowd.costs.min()
    np.testing.assert_allclose(crowd.members[crowd.costs.argmin()], target, atol=0.02)


@pytest.mark.slow
def test_planted_stiction_is_found_where_a_descent_alone_is_lost() -> None:
    episodes = [recorded(STICKY, seconds=5.0)]
    problem = Problem(WORLD, episodes, SPACE, threads=1)
    alone = fitted(problem, lambda _: None, search=False).u
    found = fitted(Problem(WORLD, episodes, SPACE, threads=1), lambda _: None).u
    truth = SPACE.encode(SPACE.point(STICKY))[0]
    judge = Problem(WORLD, episodes, SPACE, threads=1)
    left = np.sqrt((judge.residual(np.stack([alone, found, truth])).values ** 2).mean(axis=1))
    assert left[1] < 1.1 * left[2]
    assert left[1] < 0.7 * left[0]
