"""Stops: only the jaw goes to the ends of its range, and it rests there and before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.record.arm import CENTRE, body, envelope, situation
from trueup.errors import TrueupError, UnknownName
from trueup.record import Motion, Plan, Stops, Unsafe, get
from trueup.record.motions.stops import AT_HIGH, AT_LOW, DOWN, UP

JAW = body().joints.index("gripper")


def planned(motion: Motion) -> Plan:
    return envelope().checked(motion, situation(CENTRE))


def during(plan: Plan, name: str) -> np.ndarray:
    (phase,) = [phase for phase in plan.phases if phase.name == name]
    return plan.path[phase.first : phase.end, 0]


def test_the_jaw_rests_at_both_ends_and_before_each_and_nothing_else_moves_meanwhile():
    plan = planned(Stops())
    low, high = body().low[JAW], body().high[JAW]
    middle = 0.5 * (low + high)
    for name, where in ((DOWN, middle), (AT_LOW, low), (UP, middle), (AT_HIGH, high)):
        rest = during(plan, name)
        assert np.ptp(rest, axis=0).max() == 0.0
        assert rest[0, JAW] == pytest.approx(where)
        assert len(rest) * plan.period_s == pytest.approx(0.6, abs=plan.period_s)
    first = next(phase.end for phase in plan.phases if phase.name == "to the start")
    others = np.delete(plan.path[first:], JAW, axis=2)
    assert np.ptp(others, axis=0).max() == 0.0


def test_it_comes_to_the_middle_from_the_side_from_which_it_goes_on():
    plan = planned(Stops())
    for name, sign in ((DOWN, -1.0), (UP, 1.0)):
        first = next(phase.first for phase in plan.phases if phase.name == name)
        assert sign * (plan.path[first, 0, JAW] - plan.path[first - 5, 0, JAW]) > 0.0


def test_no_other_joint_may_go_to_its_limit():
    with pytest.raises(Unsafe, match=r"'wrist_roll' would be at -2\.74 rad"):
        envelope().checked(_Elsewhere(joint="wrist_roll"), situation(CENTRE))
    with pytest.raises(Unsafe):  # the arm would meet the table, or itself
        planned(Stops(joint="shoulder_lift"))


class _Elsewhere(Stops):
    """The same, but the plan says that the jaw is meant."""

    def planned(self, situation, *, end=None):
        return replace(super().planned(situation, end=end), stopped="gripper")


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [({"still_s": 0.1}, "0.1 s of rest"), ({"speed_rad_s": 0.0}, "0.0 rad/s")],
)
def test_numbers_that_make_no_sense_are_refused(numbers, sentence):
    with pytest.raises(TrueupError, match=sentence):
        Stops(**numbers)


def test_a_joint_that_the_robot_has_not_is_said():
    with pytest.raises(UnknownName, match="jaw"):
        planned(Stops(joint="jaw"))


def test_it_comes_by_name_and_is_data():
    (motion,) = get("stops", body()).motions
    assert motion == Stops() and Motion.from_json(motion.to_json()) == motion
