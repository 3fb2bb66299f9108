"""What is left of a fit, as a matter of time: told where commands are lost, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.identify.check import Check, checked
from trueup.identify.lateness import Lateness, lateness_of
from trueup.replay import Track
from trueup.space import Point

NOMINAL = Point({"latency/action_delay": 0.0})


def check_of(truth: dict[str, float]) -> Check:
    """What a check says where the simulator knows nothing of the truth."""
    return checked(WORLD, [recorded(truth)], NOMINAL)


@pytest.mark.parametrize(
    "truth",
    [
        {"latency/drop_probability": 0.2},
        {"latency/repeat_probability": 0.1},
        {"latency/action_jitter": 0.01},
    ],
)
def test_lost_repeated_and_late_commands_are_a_matter_of_time(truth):
    found = check_of(truth)
    assert not found.inside and found.random
    assert any("all joints early or late together" in line for line in found.sentences)
    assert not any("No effect of the catalogue" in line for line in found.sentences)


@pytest.mark.parametrize(
    "truth",
    [
        {f"actuation/{joint}/frictionloss": 0.6 for joint in ("elbow_flex", "shoulder_lift")},
        {"actuation/elbow_flex/backlash": 0.05, "actuation/wrist_flex/backlash": 0.05},
        {"actuation/shoulder_lift/kp": 8.0},
    ],
)
def test_joints_that_are_off_each_for_itself_are_not(truth):
    found = check_of(truth)
    assert not found.inside and not found.random


def track(shift: np.ndarray) -> Track:
    """Six joints on paths of their own, measured so much later."""
    time = np.arange(len(shift)) * 0.02
    phase, pace = np.linspace(0.0, 3.0, 6), np.linspace(1.0, 3.0, 6)
    path = [np.sin(pace * t[:, None] + phase) for t in (time, time - shift)]
    return Track(
        time_s=time,
        measured=path[1],
        simulated=path[0][None],
        age_s=time,
        unit="rad",
        names=tuple("abcdef"),
    )


def test_the_shift_is_as_large_as_it_is():
    shift = 0.01 * np.random.default_rng(0).standard_normal(1000)
    found = lateness_of([track(shift)])
    assert found is not None and found.told
    assert found.spread_s == pytest.approx(0.01, rel=0.1)
    assert found.share > 0.98


def test_long_stops_are_not_single_commands():
    shift = np.where(np.arange(1000) % 100 < 30, 0.3, 0.0)
    found = lateness_of([track(shift)])
    assert found is not None and not found.told


def test_a_joint_alone_tells_no_time():
    one = track(np.full(200, 0.01))
    still = np.zeros_like(one.measured)
    still[:, 0] = one.measured[:, 0]
    simulated = np.zeros_like(one.simulated)
    simulated[..., 0] = one.simulated[..., 0]
    alone = Track(
        time_s=one.time_s,
        measured=still,
        simulated=simulated,
        age_s=one.age_s,
        unit="rad",
        names=one.names,
    )
    assert lateness_of([alone]) is None


def test_it_comes_back_from_its_file():
    check = Check(excess={"elbow_flex": 9.0}, lateness=Lateness(share=0.9, spread_s=0.006))
    assert Check.from_json(check.to_json()) == check


def test_a_joint_that_was_never_read_does_not_silence_the_others():
    late = track(0.02 * np.random.default_rng(0).standard_normal(400))
    measured = late.measured.copy()
    measured[:, -1] = np.nan
    found = lateness_of([replace(late, measured=measured)])
    assert found is not None and found.share > 0.9
