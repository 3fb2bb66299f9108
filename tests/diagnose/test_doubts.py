"""What a simulator misses is a doubt only where a policy could notice it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.loop.found import estimate
from trueup.diagnose.hearing import doubts_of, evidence_of
from trueup.identify import Misfit
from trueup.identify.check import Check
from trueup.identify.lateness import Lateness

OFF = Check(excess={"elbow_flex": 20.0}, allowed={"elbow_flex": 1.2})
SAID = (OFF.sentences[0],)
LATE = ("visual/tracker/delay",)


def doubts(check: Check, **off_rad: float) -> tuple[str, ...]:
    after = {f"joint_position/{name}": off for name, off in off_rad.items()}
    known = estimate({"latency/action_delay": (0.05, 0.001)})
    told = replace(known, check=check, fitted=Misfit(episodes=1, before={}, after=after))
    return tuple(doubt.what for doubt in doubts_of([told]))


def test_ten_milliradians_that_nothing_explains_are_a_doubt():
    assert doubts(OFF, elbow_flex=0.010, gripper=0.0001) == SAID


def test_a_tenth_of_a_milliradian_is_none_however_sure_it_is():
    assert doubts(OFF, elbow_flex=0.0001) == ()


def test_readings_that_are_coarse_are_none():
    """Ten milliradians of steps and noise, and a hundredth beyond that what they should leave."""
    coarse = replace(OFF, excess={"elbow_flex": 1.01}, allowed={"elbow_flex": 1.0})
    assert doubts(coarse, elbow_flex=0.010) == ()
    assert doubts(replace(coarse, excess={"elbow_flex": 1.1}), elbow_flex=0.010) != ()


def test_commands_that_were_late_by_chance_are_none():
    """The catalogue has lost commands; a replay cannot repeat which ones were lost."""
    assert doubts(replace(OFF, lateness=Lateness(share=0.9, spread_s=0.006)), elbow_flex=0.01) == ()
    stopped = Lateness(share=0.9, spread_s=0.2)
    assert doubts(replace(OFF, lateness=stopped), elbow_flex=0.01) == SAID


@pytest.mark.parametrize(("wander", "doubted"), [(0.007, False), (0.002, True)])
def test_joints_that_are_no_further_off_than_their_encoders_drift_are_none(wander, doubted):
    known = estimate({"latency/action_delay": (0.05, 0.001)})
    after = {"joint_position/elbow_flex": 0.010, "joint_position/gripper": 0.004}
    told = replace(known, check=OFF, fitted=Misfit(episodes=1, before={}, after=after))
    assert bool(doubts_of([told], wander=wander)) is doubted


def test_what_the_simulator_can_produce_is_none():
    assert doubts(replace(OFF, excess={"elbow_flex": 1.1}), elbow_flex=0.010) == ()


def test_a_doubt_says_whose_numbers_stand_for_it_and_how_much_of_it_they_explain():
    known = estimate({"latency/action_delay": (0.05, 0.001), "actuation/gripper/kp": (9.0, 0.1)})
    off = {"joint_position/elbow_flex": 0.0050}, {"joint_position/elbow_flex": 0.0040}
    fitted = Misfit(episodes=1, before=off[0], after=off[1])
    (doubt,) = doubts_of([replace(known, check=OFF, fitted=fitted)])
    assert doubt.gaps == ("latency", "actuation")
    assert doubt.explained == pytest.approx((1 - 0.8) / 1.16, rel=0.01)
    worse = replace(fitted, after={"joint_position/elbow_flex": 0.02})
    assert doubts_of([replace(known, check=OFF, fitted=worse)])[0].explained == 0.0


def test_numbers_that_leave_a_hand_beside_the_thing_are_not_believed_however_much_they_explain():
    known = estimate({"actuation/gripper/kp": (9.0, 0.1)})

    def explained(before: float, after: float) -> float:
        misfit = Misfit(
            episodes=1,
            before={"joint_position/elbow_flex": before},
            after={"joint_position/elbow_flex": after},
        )
        return doubts_of([replace(known, check=OFF, fitted=misfit)])[0].explained

    assert explained(0.1, 0.004) > 0.8
    assert explained(0.1, 0.02) < 0.2


def test_frames_that_are_late_and_not_missed_are_a_doubt_about_the_camera():
    known = estimate({"visual/tracker/delay": (0.05, 0.001)})
    late = replace(known, varies={"visual/tracker/delay": 0.16}, accounted=dict.fromkeys(LATE, 0.2))
    (doubt,) = doubts_of([late])
    assert doubt.gaps == ("visual",) and doubt.explained == 0.2
    assert "visual/tracker/delay" in doubt.what and "20 %" in doubt.what
    assert doubts_of([replace(late, accounted=dict.fromkeys(LATE, 1.0))]) == ()


def held(before: float, after: float, usual: float = 0.0015):
    """An estimate of hand and eye: by how much they were apart, in m, and by how much they are."""
    known = estimate({"visual/camera/shift_x": (0.02, 0.001), "actuation/gripper/kp": (9.0, 0.1)})
    apart = Misfit(episodes=3, before={"cube_position": before}, after={"cube_position": after})
    return replace(known, noise={"cube_position": usual}, each=apart)


def test_hand_and_eye_that_no_number_makes_agree_are_a_doubt_about_all_that_was_fitted():
    """As where a mount wobbles: 3.2 mm before, and 3 mm afterwards."""
    (doubt,) = doubts_of([held(0.0032, 0.0030)])
    assert doubt.gaps == ("visual", "actuation")
    assert doubt.explained == pytest.approx(1 - 3.0 / 3.2)
    assert "3.0 mm" in doubt.what and "1.5 mm would be usual" in doubt.what


def test_a_thing_that_turns_in_the_hand_slips_and_is_no_doubt_about_the_camera():
    known = held(0.0116, 0.0118)

    def turned(angle: float):
        after = {"cube_position": 0.0118, "cube_orientation": angle}
        return doubts_of([replace(known, each=Misfit(episodes=2, before=after, after=after))])

    assert turned(0.02)
    assert turned(0.17) == ()


def test_what_a_hold_and_a_noisy_tracker_leave_is_none():
    assert doubts_of([held(0.020, 0.0014)]) == ()
    assert doubts_of([held(0.007, 0.0038, usual=0.0043)]) == ()


def test_frames_that_are_late_by_chance_are_not_said_twice():
    late = {"visual/tracker/delay": 0.1}
    assert doubts_of([replace(held(0.02, 0.02), varies=late)]) == ()


def test_signals_other_than_joints_always_may_matter():
    assert doubts(OFF) == SAID


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["latency/action_delay"], ("trials", "recordings")),
        (["visual/camera/shift_x", "object/cube/size_z"], ("trials", "recordings")),
        (["contact/fingertip-object/sliding"], ("trials", "probes")),
        ([], ("trials",)),
    ],
)
def test_a_hold_tells_how_large_a_thing_is_and_is_no_probe(names, words):
    known = [estimate({name: (0.01, 0.001)}) for name in names]
    assert evidence_of(known) == words


ZERO = "actuation/shoulder_lift/zero_offset"


def arm_and_eye(told: float, *, check: Check = OFF):
    """Motions say that a zero is where it should be; what the hand holds says that it is not."""
    off = {"joint_position/elbow_flex": 0.004}
    arm = replace(
        estimate({ZERO: (0.0, 0.01)}),
        check=check,
        fitted=Misfit(episodes=1, before={"joint_position/elbow_flex": 0.01}, after=off),
    )
    return [arm, estimate({ZERO: (told, 0.01), "visual/camera/shift_x": (0.02, 0.001)})]


def test_a_number_that_motions_and_the_eye_tell_otherwise_stands_for_something_else():
    """As where a base tilts under its arm."""
    _, doubt = doubts_of(arm_and_eye(-0.25))
    assert doubt.gaps == ("actuation", "visual")
    assert doubt.explained < 0.05
    assert ZERO in doubt.what and "disagree" in doubt.what


def test_numbers_that_agree_or_that_nobody_doubts_are_not_at_odds():
    assert len(doubts_of(arm_and_eye(0.02))) == 1
    inside = replace(OFF, excess={"elbow_flex": 1.0})
    assert doubts_of(arm_and_eye(-0.25, check=inside)) == ()


def test_what_was_learnt_is_no_reason_to_believe_numbers_less():
    """What it costs is played, and need not be guessed."""
    arm = arm_and_eye(0.0)[:1]
    guessed, played = (doubts_of(arm, learnt=share)[0].explained for share in (0.0, 0.9))
    assert guessed == pytest.approx(0.6 / 1.16, rel=0.01)
    assert played == pytest.approx(0.6, rel=0.01)
