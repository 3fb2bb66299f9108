"""What recordings leave open is no reason to take a robot for an unusual one."""

import numpy as np
import pytest

from trueup.loop.sober import sober, usual_width
from trueup.space import JointNormal
from trueup.worlds import get

LIFT = get("so101/lift")
ZERO, SHIFT = "actuation/elbow_flex/zero_offset", "visual/camera/shift_x"


def belief(mean: tuple[float, float], covariance: np.ndarray) -> JointNormal:
    return JointNormal((ZERO, SHIFT), np.array(mean), covariance)


def test_what_may_well_be_nominal_is_as_near_it_as_usual():
    found = sober(belief((0.01, 0.0), np.diag([0.05**2, 0.05**2])), LIFT.catalogue)
    spread = np.sqrt(np.diag(found.covariance))
    usual = [usual_width(LIFT.catalogue[name]) for name in (ZERO, SHIFT)]
    assert (spread < usual).all() and abs(found.mean[0]) < 0.001


def test_what_surely_differs_stays_as_it_was_found():
    there = belief((0.1, 0.03), np.diag([0.01**2, 0.004**2]))
    found = sober(there, LIFT.catalogue)
    np.testing.assert_allclose(found.mean, there.mean)
    np.testing.assert_allclose(found.covariance, there.covariance)


def test_of_two_that_are_told_together_the_one_that_need_not_differ_tells_the_other():
    """The zero of a joint, and a camera that would have to be off by half as much: one is known."""
    way = np.array([1.0, 0.5])
    loose = 0.05**2 * np.outer(way, way) + 1e-8 * np.eye(2)
    found = sober(belief((0.0, 0.05), loose), LIFT.catalogue)
    sure = np.sqrt(np.diag(found.covariance))
    assert sure[0] == pytest.approx(usual_width(LIFT.catalogue[ZERO]), rel=0.2)
    assert sure[1] == pytest.approx(0.5 * sure[0], rel=0.2)
