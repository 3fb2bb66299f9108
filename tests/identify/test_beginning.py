"""A fit with one effect more begins where joints are least off, and not only where it stood."""

from __future__ import annotations

import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify.beginning import best_start
from trueup.identify.problem import Problem

NAMES = (
    "actuation/shoulder_lift/kp",
    "actuation/elbow_flex/kp",
    "actuation/shoulder_lift/load_friction",
    "actuation/elbow_flex/load_friction",
)
STOOD: dict[str, float] = dict(zip(NAMES, (6.0, 9.0, 0.05, 0.05), strict=True))


def begun(truth: dict[str, float]) -> dict[str, float]:
    space = WORLD.catalogue.select(*NAMES)
    problem = Problem(WORLD, [recorded(truth, seconds=6.0)], space, coupled=False)
    start = space.encode(space.points({**space.nominal(), **STOOD}))[0]
    found = best_start(problem, start, NAMES[2:])
    return dict(space.decode(found[None])[0])


def test_what_stood_for_an_effect_goes_back_to_nominal_where_the_effect_makes_up_for_it():
    """Gears that rub look like a soft servo; the other joint is soft."""
    found = begun({NAMES[2]: 0.5, NAMES[1]: 9.0})
    assert found[NAMES[0]] == pytest.approx(WORLD.catalogue[NAMES[0]].nominal)
    assert found[NAMES[2]] > 0.2
    assert (found[NAMES[1]], found[NAMES[3]]) == pytest.approx((9.0, 0.05))


def test_what_is_right_stays_where_it_stood():
    assert begun(STOOD) == pytest.approx(STOOD)
