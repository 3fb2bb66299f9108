"""A payload is weighed, taken away again, and not claimed where it cannot be told."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.identify.planted import WORLD, recorded
from trueup.errors import TrueupError
from trueup.identify import Estimate
from trueup.identify.probing import identify_payload
from trueup.identify.probing.weighing import thinned
from trueup.replay import replayed
from trueup.worlds.tabletop import tcp_kinematics

GRAVITY = ("shoulder_lift", "elbow_flex", "wrist_flex")
ARM = {"actuation/shoulder_lift/kp": 11.2, "actuation/elbow_flex/kp": 14.6}
SPACE = WORLD.catalogue.select(*(f"actuation/{joint}/kp" for joint in GRAVITY))
MASS, OUT = 0.05, -0.02
"""kg, and how far from the middle of the hand along its z, m."""
OWN = WORLD.catalogue["actuation/gripper/mass"].nominal
CARRYING = {
    "actuation/gripper/mass": OWN + MASS,
    "actuation/gripper/com_z": MASS * OUT / (OWN + MASS),
}


@pytest.fixture(scope="module")
def bare():
    return recorded(ARM, seconds=8.0)


@pytest.fixture(scope="module")
def loaded():
    return recorded({**ARM, **CARRYING}, seconds=8.0)


@pytest.fixture(scope="module")
def payload(loaded, bare):
    return identify_payload(WORLD, [loaded], [bare], SPACE, threads=1)


def test_a_payload_is_weighed(payload):
    assert payload.told
    assert payload.mass_kg == pytest.approx(MASS, rel=0.02)
    assert payload.low_kg < MASS < payload.high_kg
    assert payload.place_m[2] == pytest.approx(OUT, abs=3 * payload.place_std_m[2])
    assert "as right as their masses" in payload.sentence


def test_without_the_payload_the_fitted_arm_is_the_true_one(payload, bare):
    """The edit test: what was added is taken away, and nothing of it stays in the stiffness."""

    def tcp(point):
        replay = replayed(WORLD, [bare], point, signals=["joint_position"])
        return tcp_kinematics(WORLD)(replay.tracks[0]["joint_position"].simulated[0])

    off = np.linalg.norm(tcp(dict(payload.bare)) - tcp(ARM), axis=1)
    assert np.sqrt((off**2).mean()) < 0.2e-3
    assert payload.bare["actuation/gripper/mass"] == OWN


def test_the_recording_without_it_makes_it_surer(payload, loaded):
    alone = identify_payload(WORLD, [loaded], space=SPACE, threads=1)
    assert alone.low_kg < MASS < alone.high_kg
    assert alone.high_kg - alone.low_kg > payload.high_kg - payload.low_kg


def test_an_empty_hand_carries_nothing_that_could_be_told(bare):
    found = identify_payload(WORLD, [recorded(ARM, seconds=8.0, seed=1)], [bare], SPACE, threads=1)
    assert not found.told
    assert found.low_kg < 0.0 < found.high_kg
    assert "cannot tell whether there is a payload" in found.sentence


def test_a_payload_is_weighed_against_the_arm_and_as_uncertain_as_that(payload):
    """All masses, gains and frictions times 1.1: every encoder reads the same."""
    heavier = {**WORLD.catalogue.nominal(), **ARM, **CARRYING}
    scaled = ("mass", "kp", "damping", "frictionloss", "armature", "force_limit")
    heavier = {n: 1.1 * v for n, v in heavier.items() if n.split("/")[-1] in scaled}
    some = [{k: v for k, v in CARRYING.items() if "com_" in k}, {}]
    some[1] = {"actuation/gripper/mass": 1.1 * OWN}
    episodes = [recorded({**heavier, **change}, seconds=8.0) for change in some]
    found = identify_payload(WORLD, episodes[:1], episodes[1:], SPACE, masses_known=0.1, threads=1)
    assert found.mass_kg == pytest.approx(payload.mass_kg, rel=0.01)
    assert found.low_kg < 1.1 * MASS < found.high_kg
    assert payload.high_kg < 1.1 * MASS


def test_what_was_found_is_an_estimate_like_any_other(payload, tmp_path):
    payload.loaded.save(tmp_path / "estimate.json")
    again = Estimate.load(tmp_path / "estimate.json")
    assert again.point["actuation/gripper/mass"] == pytest.approx(OWN + payload.mass_kg)
    assert json.loads(json.dumps(payload.to_json()))["told"]


def test_what_the_catalogue_has_no_room_for_is_said(bare):
    """The hand at twice its mass is as heavy as the catalogue has it; the payload may be more."""
    most = WORLD.catalogue["actuation/gripper/mass"].high
    heavy = recorded({**ARM, "actuation/gripper/mass": most}, seconds=8.0)
    found = identify_payload(WORLD, [heavy], [bare], SPACE, threads=1)
    assert not found.told
    assert "heavier, or sits further out" in found.sentence


def test_recordings_that_cannot_be_used_take_no_part(payload, loaded, bare):
    joints = loaded["joint_position"]
    degrees = replace(
        loaded,
        signals={
            **loaded.signals,
            "joint_position": replace(joints, values=np.degrees(joints.values)),
        },
    )
    found = identify_payload(WORLD, [loaded, degrees], [bare], SPACE, threads=1)
    assert found.mass_kg == pytest.approx(payload.mass_kg, rel=1e-3)
    assert any("degrees" in note for note in found.loaded.notes)


def test_a_link_that_is_none_is_a_sentence(loaded):
    with pytest.raises(TrueupError, match="'hand' can carry nothing"):
        identify_payload(WORLD, [loaded], link="hand")


def test_an_encoder_that_stands_on_a_tick_counts_once():
    values = np.array([[1, 1, 1, 1, 1, 2, 2, 3, 4, 4, 4], np.arange(11)], float).T
    episode = recorded({}, seconds=3.0)
    channel = replace(
        episode["joint_position"], values=values, time_s=np.arange(11.0), names=("a", "b")
    )
    left = thinned(replace(episode, signals={"joint_position": channel}))["joint_position"].values
    none = np.nan
    np.testing.assert_array_equal(left[:, 0], [none, none, 1, none, none, 2, 2, 3, none, 4, none])
    np.testing.assert_array_equal(left[:, 1], values[:, 1])


def test_masses_that_nobody_can_know_so_badly_are_refused(loaded):
    with pytest.raises(TrueupError, match="cannot be known to 5"):
        identify_payload(WORLD, [loaded], masses_known=5.0)
