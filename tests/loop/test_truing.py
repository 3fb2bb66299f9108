"""The space to train in: what is known as it is known, what is blamed wider, the rest at ease."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.loop.found import estimate, report
from trueup.identify import Misfit
from trueup.identify.check import Check
from trueup.loop import trued_up
from trueup.loop.truing import blamed
from trueup.space import Fixed, JointNormal, LogUniform, Space, Uniform
from trueup.worlds import get

LIFT = get("so101/lift")
DELAY, SHIFT, SLIDING = (
    "latency/action_delay",
    "visual/camera/shift_x",
    "contact/fingertip-object/sliding",
)
NOISE = "actuation/command_noise"


def width(space: Space, name: str) -> float:
    low, high = space[name].belief.support(space[name].low, space[name].high)  # type: ignore[attr-defined]
    return np.log(high / low) if space[name].scale == "log" else high - low


def times(space: Space, name: str) -> float:
    """How wide a prior is, as a multiple of the usual."""
    return width(space, name) / width(LIFT.space, name)


def test_what_was_identified_is_drawn_from_its_posterior():
    space = trued_up(LIFT, report(latency=40), [estimate({DELAY: (0.08, 0.002)})]).space
    drawn = space.sample(np.random.default_rng(0), 4000).column(DELAY)
    assert drawn.mean() == pytest.approx(0.08, abs=0.001)
    assert 0.002 <= drawn.std() < 0.005  # as sure as it is, but no surer than a policy may count on


def test_a_number_that_may_be_nominal_tells_the_one_that_it_was_mistaken_for():
    """A turned base and a turned camera look alike: the camera need not be turned."""
    pan, turn = "actuation/shoulder_pan/zero_offset", "visual/camera/turn_z"
    alike = estimate({pan: (0.05, 0.011), turn: (0.002, 0.011)})
    covariance = 0.011**2 * np.array([[1.0, -0.99], [-0.99, 1.0]])
    belief = JointNormal((pan, turn), np.array([0.05, 0.002]), covariance)
    space = trued_up(LIFT, report(actuation=40), [replace(alike, belief=belief)]).space
    drawn = space.sample(np.random.default_rng(0), 4000)
    assert drawn.column(pan).std() < 0.5 * 0.011
    assert drawn.column(pan).mean() == pytest.approx(0.052, abs=0.002)
    assert np.corrcoef(drawn.column(pan), drawn.column(turn))[0, 1] < -0.8


def test_a_number_that_varies_is_drawn_as_far_as_it_does():
    """Frames that are 0.1 s late, give or take 40 ms from one to the next."""
    name = "visual/tracker/delay"
    known = replace(estimate({name: (0.1, 0.002)}), varies={name: 0.04})
    space = trued_up(LIFT, report(visual=40), [known]).space
    drawn = space.sample(np.random.default_rng(0), 4000).column(name)
    assert drawn.std() == pytest.approx(0.04, rel=0.15)
    assert drawn.mean() == pytest.approx(0.1, abs=0.01)


def test_what_no_number_explains_is_trained_for_as_noise_on_commands():
    """Joints that are 10 mrad off after the fit; and the same, where that is what sensors leave."""
    after = {f"joint_position/{joint}": 0.010 for joint in ("elbow_flex", "gripper")}
    off = Check(excess=dict.fromkeys(("elbow_flex", "gripper"), 20.0))
    known = replace(
        estimate({DELAY: (0.08, 0.002)}),
        check=off,
        fitted=Misfit(episodes=1, before=after, after=after),
    )
    noise = trued_up(LIFT, report(latency=40), [known]).space[NOISE].belief
    assert isinstance(noise, Uniform) and noise.high == pytest.approx(0.020, rel=0.01)
    inside = replace(known, check=replace(off, excess={"elbow_flex": 1.0, "gripper": 1.0}))
    assert times(trued_up(LIFT, report(latency=40), [inside]).space, NOISE) == pytest.approx(0.5)


def test_nothing_is_so_sure_that_a_policy_may_count_on_it():
    space = trued_up(LIFT, report(latency=40), [estimate({DELAY: (0.08, 1e-9)})]).space
    drawn = space.sample(np.random.default_rng(0), 4000).column(DELAY)
    assert drawn.std() == pytest.approx(0.1 * 0.05 / np.sqrt(12), rel=0.1)


def test_a_gap_that_costs_everything_and_was_not_identified_is_three_times_as_wide():
    space = trued_up(LIFT, report(visual=50), []).space
    assert times(space, SHIFT) == pytest.approx(3.0)
    assert times(space, SLIDING) == pytest.approx(0.5)


def test_width_grows_with_the_cost():
    costs = (0, 5, 20, 40)
    found = [
        times(trued_up(LIFT, report(visual=c, contact=50 - c), []).space, SHIFT) for c in costs
    ]
    assert found == sorted(found) and found[0] == pytest.approx(0.5) and found[-1] > 2


def test_a_blamed_gap_with_identified_numbers_is_as_wide_as_usual_in_the_others():
    found = trued_up(LIFT, report(latency=50), [estimate({DELAY: (0.08, 0.002)})])
    assert times(found.space, "latency/action_jitter") == pytest.approx(1.0)


def test_what_nobody_explains_widens_everything():
    space = trued_up(LIFT, report(unexplained=25, visual=25), []).space
    assert times(space, SHIFT) == pytest.approx(1.0 + 2.0 * 0.5 + 0.25)
    assert times(space, SLIDING) == pytest.approx(0.75)


def test_what_recordings_did_not_tell_is_not_held_for_known():
    offset = "actuation/elbow_flex/zero_offset"
    known = estimate({DELAY: (0.08, 0.002), offset: (0.0, 0.008)}, left={offset: 0.95})
    found = trued_up(LIFT, report(latency=25, unexplained=25), [known])
    assert times(found.space, offset) == pytest.approx(0.75)
    assert "1 number as identified" in found.short


def test_a_blamed_gap_outside_the_usual_space_comes_into_it():
    assert not any(name.startswith("human/") for name in LIFT.space.names)
    space = trued_up(LIFT, report(human=50), []).space
    assert "human/reaction_delay" in space.active
    space = trued_up(LIFT, report(visual=50), []).space
    assert not any(name.startswith("human/") for name in space.names)


def test_it_stays_out_for_a_few_points_that_may_be_chance():
    """A person nearby makes it another task: a policy ready for one moves otherwise."""
    told = report(actuation=40, human=5)
    assert "human/reaction_delay" in trued_up(LIFT, told, []).space.active
    shares = tuple(replace(s, low=-2.0) if s.gap == "human" else s for s in told.shares)
    unsure = trued_up(LIFT, replace(told, shares=shares), [])
    assert not any(name.startswith("human/") for name in unsure.space.names)
    assert "Human costs 5 points, which may be chance" in " ".join(unsure.sentences)


def test_no_prior_leaves_its_bounds():
    space = trued_up(LIFT, report(unexplained=10, contact=40), []).space
    for p in space:
        if isinstance(p.belief, (Uniform, LogUniform)):
            assert p.belief.low is None or p.low <= p.belief.low <= p.nominal
            assert p.belief.high is None or p.nominal <= p.belief.high <= p.high
    space.sample(np.random.default_rng(0), 100)


def test_noise_that_was_heard_is_taken_where_it_makes_sense():
    heard = {
        "sensing/encoder/noise": Uniform(0.001, 0.0012),
        "sensing/encoder/quantum": Fixed(1e9),  # beyond the bounds: a strange recording
        "sensing/encoder/nonsense": Fixed(0.0),
    }
    space = trued_up(LIFT, report(visual=50), [], heard).space
    assert space["sensing/encoder/noise"].belief == Uniform(0.001, 0.0012)
    assert space["sensing/encoder/quantum"].belief != Fixed(1e9)


def test_of_what_may_be_nothing_no_more_than_usual_is_trained_for():
    """Who listens to noisy encoders cannot rule out a drift; nobody has seen one for all that."""
    heard = {
        "sensing/encoder/drift": Uniform(0.0, 0.02),
        "sensing/encoder/noise": Uniform(0.0, 1e-4),
    }
    space = trued_up(LIFT, report(visual=50), [], heard).space
    usual = LIFT.space["sensing/encoder/drift"].belief
    assert space["sensing/encoder/drift"].belief == usual
    assert space["sensing/encoder/noise"].belief == Uniform(0.0, 1e-4)


def test_the_last_estimate_counts():
    first, last = estimate({DELAY: (0.02, 0.001)}), estimate({DELAY: (0.09, 0.001)})
    space = trued_up(LIFT, report(latency=50), [first, last]).space
    assert space.sample(np.random.default_rng(0), 500).column(DELAY).mean() > 0.08


def test_it_says_why():
    known = [estimate({DELAY: (0.08, 0.002)})]
    found = trued_up(LIFT, report(latency=30, visual=20), known)
    assert any(
        "Latency costs 30 points" in line and "recordings" in line for line in found.sentences
    )
    assert any("Visual costs 20 points" in line and "1.8 times" in line for line in found.sentences)
    assert any("Contact is not blamed" in line and "0.5 times" in line for line in found.sentences)
    assert "visual 1.8 times as wide" in found.short


def test_nothing_lost_leaves_all_at_ease():
    assert blamed(report()) == ()
    assert times(trued_up(LIFT, report(), []).space, SHIFT) == pytest.approx(0.5)
