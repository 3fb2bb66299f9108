"""Zeros and camera are found again from a thing that was carried, and what is not told is said."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trueup.diagnose.hearing import doubts_of
from trueup.episodes import Channel
from trueup.errors import TrueupError
from trueup.hardware import open_robot
from trueup.identify import Estimate
from trueup.identify.probing import identify_hand_eye
from trueup.identify.probing.agreement import usual_of
from trueup.identify.probing.grasps import grasps_in, seen_in
from trueup.record import Carry, Tilt, record
from trueup.worlds import get

WORLD = get("so101/lift")
ZEROS = {
    "actuation/shoulder_lift/zero_offset": 0.06,
    "actuation/elbow_flex/zero_offset": -0.05,
    "actuation/wrist_flex/zero_offset": 0.04,
}
SEEN = {"visual/tracker/noise": 0.001, "visual/tracker/delay": 0.06}


def carried(folder, values, cells=2, probe=None, beyond=()):
    file = folder / "reality.json"
    reality = {"trueup_reality": 1, "story": "Off.", "values": values, "beyond": list(beyond)}
    file.write_text(json.dumps(reality))
    with open_robot(f"rehearsal:{file}@so101/lift", cells=cells, threads=1) as robot:
        return record(robot, probe or Carry(), world=WORLD, seeds=np.arange(cells)).episodes


@pytest.fixture(scope="module")
def off(tmp_path_factory):
    return carried(tmp_path_factory.mktemp("off"), {**ZEROS, **SEEN}, cells=3)


def test_zeros_are_found_again_with_what_they_cost_in_the_hand(off):
    found = identify_hand_eye(WORLD, off)
    by_name = {finding.name: finding for finding in found.findings}
    total = {j: by_name[f"actuation/{j}/zero_offset"].value for j in ("elbow_flex", "wrist_flex")}
    assert found.point["actuation/shoulder_lift/zero_offset"] == pytest.approx(0.06, abs=0.03)
    assert total["elbow_flex"] == pytest.approx(-0.05, abs=0.03)
    assert found.point["visual/tracker/delay"] == pytest.approx(0.06, abs=0.01)
    before, after = (found.held.before["cube_position"], found.held.after["cube_position"])
    assert after < 0.7 * before


def test_the_truth_lies_within_what_is_believed(off):
    found = identify_hand_eye(WORLD, off)
    truth = {**dict(WORLD.catalogue.nominal()), **ZEROS, "visual/tracker/delay": 0.06}
    scaled = [WORLD.catalogue[n].scale == "log" for n in found.belief.names]
    at = np.array([truth[n] for n in found.belief.names])
    at = np.where(scaled, np.log(np.maximum(at, 1e-9)), at)
    z = (at - found.belief.mean) / np.sqrt(np.diag(found.belief.covariance))
    assert np.abs(z).max() < 3.5


def test_a_camera_that_leans_is_told_from_the_table_by_how_the_thing_lies(tmp_path):
    """A thing that lies on a table lies flat: a camera that sees it lean leans itself."""
    leaning = {"visual/camera/turn_x": 0.012, "visual/camera/turn_y": -0.012}
    episodes = carried(tmp_path, {**leaning, "visual/tracker/noise": 0.001})
    assert grasps_in(seen_in(WORLD), episodes)[0].upright[:2] == pytest.approx(
        [-0.012, -0.012], abs=1e-3
    )
    found = identify_hand_eye(WORLD, episodes)
    for name, truth in leaning.items():
        assert found.point[name] == pytest.approx(truth, abs=0.005), name
    for name in ("environment/table/tilt_x", "environment/table/tilt_y"):
        assert found.point[name] == pytest.approx(0.0, abs=0.003), name


def test_a_thing_that_lies_on_no_face_does_not_tell_how_a_camera_leans(off):
    episode = off[0]
    turn = episode["cube_orientation"]
    tilted = Rotation.from_euler("x", 0.6) * Rotation.from_quat(turn.values, scalar_first=True)
    other = Channel(
        values=tilted.as_quat(scalar_first=True),
        time_s=turn.time_s,
        unit=turn.unit,
        names=turn.names,
    )
    signals = {**episode.signals, "cube_orientation": other}
    unseen = np.where(turn.time_s[:, None] < 0.5, 0.0, turn.values)  # no orientation at first
    blind = Channel(values=unseen, time_s=turn.time_s, unit=turn.unit, names=turn.names)
    hidden = {**episode.signals, "cube_orientation": blind}
    both = [replace(episode, signals=some) for some in (signals, hidden)]
    grasps = grasps_in(seen_in(WORLD), both)
    assert grasps and not any(len(grasp.upright) for grasp in grasps)


def test_frames_that_come_late_at_random_are_not_taken_for_wrong_zeros(tmp_path):
    late = {"effect": "late_frames", "frame_s": 0.135, "chance": 0.37, "late_s": 0.43}
    episodes = carried(tmp_path, {}, cells=3, beyond=[late])
    assert all(grasp.stale_s > 0.03 for grasp in grasps_in(seen_in(WORLD), episodes))
    found = identify_hand_eye(WORLD, episodes)
    assert "early or late" in found.notes[0]
    assert found.accounted["visual/tracker/delay"] < 0.5
    assert found.varies["visual/tracker/delay"] == pytest.approx(0.2, abs=0.1)
    for finding in found.findings:
        if finding.name != "visual/tracker/delay":
            assert finding.low <= finding.before <= finding.high, finding.name
    assert found.point["visual/tracker/delay"] == pytest.approx(0.2, abs=0.05)


def test_a_long_delay_of_all_frames_is_found_and_is_none_by_chance(tmp_path):
    found = identify_hand_eye(WORLD, carried(tmp_path, {"visual/tracker/delay": 0.24}, cells=3))
    assert found.point["visual/tracker/delay"] == pytest.approx(0.24, abs=0.005)
    assert not found.varies and not found.notes


def test_encoders_that_are_late_beside_the_eye_are_told_where_they_are_asked_for(tmp_path):
    episodes = carried(tmp_path, {"latency/encoder_delay": 0.05}, cells=3)
    found = identify_hand_eye(WORLD, episodes, read_late=True)
    late = next(f for f in found.findings if f.name == "latency/encoder_delay")
    assert late.value == pytest.approx(0.05, abs=0.005)
    assert late.low <= 0.05 <= late.high
    on_time = identify_hand_eye(WORLD, carried(tmp_path, SEEN, cells=3), read_late=True)
    assert on_time.point["latency/encoder_delay"] == 0.0


def test_frames_that_are_missed_are_what_the_catalogue_has(tmp_path):
    found = identify_hand_eye(WORLD, carried(tmp_path, {"visual/tracker/dropout": 0.7}, cells=3))
    assert found.varies["visual/tracker/delay"] > 0.03
    assert found.accounted["visual/tracker/delay"] > 0.9


def test_encoders_that_say_the_last_again_do_not_part_hand_and_eye(tmp_path):
    found = identify_hand_eye(WORLD, carried(tmp_path, {"sensing/encoder/dropout": 0.3}, cells=3))
    assert found.fitted.after["cube_position"] < 0.0015


def test_encoders_that_are_noisy_do_not_part_hand_and_eye(tmp_path):
    """A hand that is read 14 mrad off, from joint to joint, is some 3 mm off, and nothing else."""
    found = identify_hand_eye(WORLD, carried(tmp_path, {"sensing/encoder/noise": 0.014}))
    assert found.each is not None and found.each.after["cube_position"] > 1.5 * 0.0015
    assert not doubts_of([found])


def test_one_hold_in_which_the_thing_slips_is_no_doubt_about_the_others(tmp_path):
    first, *others = carried(tmp_path, {**ZEROS, **SEEN}, cells=5)
    seen = first["cube_position"]
    jumps = np.sign(np.sin(seen.time_s))[:, None] * [0.01, 0.005, 0.0]
    moved = replace(seen, values=seen.values + jumps)
    slipped = replace(first, signals={**first.signals, "cube_position": moved})
    found = identify_hand_eye(WORLD, [*others, slipped])
    apart = max(side.after["cube_position"] for side in (found.fitted, found.held))
    assert apart > 3.0 * found.noise["cube_position"]
    assert found.each is not None
    assert found.each.after["cube_position"] < found.noise["cube_position"]
    assert doubts_of([found]) == ()
    assert Estimate.from_json(found.to_json()).each == found.each


@pytest.mark.parametrize(("sizes", "usual"), [([5.0, 1.0], 1.0), ([9.0, 1.0, 2.0], 2.0)])
def test_of_two_holds_the_better_is_the_usual_one(sizes, usual):
    """In the other the thing may have slipped."""
    assert usual_of(sizes) == usual


def test_the_same_holds_told_again_make_nobody_surer_how_the_thing_lies_along_the_fingers(tmp_path):
    """The eye leads the hand: a marker that is off is off in the same way in every hold."""
    once = carried(tmp_path, {"visual/tracker/bias_x": 0.012}, cells=3)
    spread = {}
    for times in (1, 8):
        found = identify_hand_eye(WORLD, list(once) * times)
        marker = {f.name[-1]: f for f in found.findings if "tracker/bias" in f.name}
        spread[times] = {axis: f.high - f.low for axis, f in marker.items()}
        assert marker["x"].low <= 0.012 <= marker["x"].high
    assert spread[8]["x"] > 0.9 * spread[1]["x"]
    assert spread[8]["y"] < 0.5 * spread[1]["y"]  # between the jaws it lies anew in each


def test_frames_in_step_are_said_nothing_of(off):
    assert all(grasp.stale_s == 0.0 for grasp in grasps_in(seen_in(WORLD), off))
    found = identify_hand_eye(WORLD, off)
    assert not found.notes and not found.varies


def test_a_thing_that_is_raised_is_held_and_one_that_stands_is_not(off):
    seen = seen_in(WORLD)
    grasps = grasps_in(seen, off)
    assert len(grasps) >= 3
    for grasp in grasps:
        assert (grasp.place[:, 2] > grasp.rest[2] + 0.015).all()
        assert len(grasp.turn) == len(grasp.place) == len(grasp.time_s)


def test_an_arm_that_is_as_drawn_is_left_alone(tmp_path):
    found = identify_hand_eye(WORLD, carried(tmp_path, {"visual/tracker/noise": 0.001}))
    for finding in found.findings:
        assert finding.low <= finding.before <= finding.high, finding.name


def test_without_a_hold_it_says_what_to_record(tmp_path):
    far = {"visual/tracker/bias_x": 0.03, "visual/camera/shift_y": 0.04}
    episodes = carried(tmp_path, far, cells=1, probe=Tilt())
    with pytest.raises(TrueupError, match="record --motion carry"):
        identify_hand_eye(WORLD, episodes)


def test_a_world_without_a_camera_is_refused():
    with pytest.raises(TrueupError, match="no camera follows a thing"):
        seen_in(get("so101/arm"))
