"""Estimates that predict nothing new, joint by joint."""

from __future__ import annotations

import numpy as np

from trueup.episodes.episode import JOINTS
from trueup.identify import Estimate, Finding, Misfit
from trueup.identify.check import Check
from trueup.space import JointNormal


def planted(**off):
    """An estimate of two joints, with how far off each is before and after, in rad."""
    names = ("actuation/elbow_flex/kp", "actuation/gripper/kp", "latency/action_delay")
    before, after = ({f"{JOINTS}/{j}": o[k] for j, o in off.items()} for k in (0, 1))
    misfit = Misfit(episodes=2, before=before, after=after)
    return Estimate(
        world="so101/arm",
        belief=JointNormal(names, np.zeros(3), np.eye(3)),
        findings=tuple(
            Finding(name=n, unit="1", value=0.0, low=-1.0, high=1.0, before=0.0, left=0.2)
            for n in names
        ),
        unseen=(),
        fitted=misfit,
        held=misfit,
        noise={},
        check=Check(excess={"gripper": 9.0}, allowed={"gripper": 2.0}),
    )


def test_one_joint_that_nothing_explains_does_not_take_the_others_with_it():
    found = planted(elbow_flex=(0.03, 0.002), gripper=(0.2, 0.2))
    assert found.hollow
    solid = found.solid()
    assert solid is not None
    assert solid.belief.names == ("actuation/elbow_flex/kp", "latency/action_delay")
    assert set(solid.point) == set(solid.belief.names)
    assert "gripper were left aside" in solid.notes[-1]
    assert solid.held.after[f"{JOINTS}/gripper"] == 0.2


def test_where_every_joint_is_as_far_off_as_before_nothing_is_solid():
    found = planted(elbow_flex=(0.03, 0.03), gripper=(0.2, 0.2))
    assert found.hollow and found.solid() is None
