"""Identifying in a run: a fit that predicts nothing is not trained with."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from tests.loop.turns import JOINTS, REACH, TINY, job, without_plan
from trueup.diagnose.hearing import doubts_of
from trueup.episodes import Dataset
from trueup.identify.residual import SHARE
from trueup.loop.estimates import DATA, estimates, identified_in, residual_of
from trueup.loop.settings import FITTED
from trueup.loop.stages import identifying, reading, recording, training, trying
from trueup.loop.stages.controlling import CONTROLS
from trueup.replay import replayed
from trueup.space import Fixed, Space

JOINT = "joint_position"


def recorded_robot(
    tmp_path, values, *, beyond=(), wanted=None, motions=("prbs", "triangle", "chirp"), **settings
):
    """A run on a robot with some hidden values, up to its recordings."""
    reality = {"trueup_reality": 1, "story": "Bent.", "world": REACH, "values": values}
    reality["beyond"] = list(beyond)
    (tmp_path / "bent.json").write_text(json.dumps(reality))
    robot = f"rehearsal:{tmp_path / 'bent.json'}@{REACH}"
    thorough = replace(TINY, motions=motions, seconds=60.0, check=True, **settings)
    made = job(tmp_path, replace(wanted or thorough, robot=robot))
    training.start(made)
    trying.tried(made, "train/policy", "before", check=False)
    without_plan(made)
    recording.record(made)
    return made


def test_a_fit_that_is_no_better_than_the_model_is_left_aside(tmp_path):
    """Encoders that all read 50 mrad too much, and only a delay to explain it by."""
    made = recorded_robot(tmp_path, {f"sensing/{joint}/bias": 0.05 for joint in JOINTS})
    assert "no better than the model did, and was left aside" in identifying.identified(made)
    assert estimates(made) == ()
    reading.bank(made)
    reading.diagnosed(made)
    assert identifying.narrowed(made).startswith("0 numbers as identified")


def test_where_the_usual_numbers_do_not_explain_the_arm_others_are_tried(tmp_path):
    """A weak servo, and only a delay to explain it by: gains are found among other effects."""
    values = {f"actuation/{joint}/kp": 6.0 for joint in JOINTS}
    made = recorded_robot(tmp_path, values, fitted=("latency/action_delay",))
    identifying.identified(made)
    arm = estimates(made)[0]
    taken = [choice for choice in arm.choices if choice.taken]
    assert taken and any("kp" in name for choice in taken for name in choice.suspect.parameters)
    off = max(arm.held.after.values())
    assert off < 0.2 * max(arm.held.before.values())


def test_numbers_far_from_usual_are_found_where_nothing_else_explains_the_arm(tmp_path):
    """An armature sixteen times the usual one, held back by what was believed of it."""
    heavy = "actuation/wrist_flex/armature"
    usual = ("actuation/*/kp", "actuation/*/damping", "actuation/*/armature")
    made = recorded_robot(tmp_path, {heavy: 0.32}, fitted=usual)
    identifying.identified(made)
    arm = estimates(made)[0]
    assert abs(arm.point[heavy] / 0.32 - 1.0) < 0.02
    assert arm.check is not None and arm.check.inside and not arm.choices
    assert residual_of(made) is None


def test_a_low_supply_is_found_although_soft_servos_fit_nearly_all_of_it(tmp_path):
    supply = "actuation/supply_voltage"
    values = {supply: 0.62, **{f"actuation/{joint}/frictionloss": 0.4 for joint in JOINTS}}
    usual = ("actuation/*/kp", "actuation/*/frictionloss")
    made = recorded_robot(tmp_path, values, fitted=usual, motions=("multisine", "steps"))
    identifying.identified(made)
    assert abs(estimates(made)[0].point[supply] - 0.62) < 0.02


def test_zeros_are_found_by_what_little_the_weight_of_links_shows_of_them(tmp_path):
    zero = "actuation/shoulder_lift/zero_offset"
    values = {f"actuation/{joint}/zero_offset": 0.04 for joint in JOINTS}
    made = recorded_robot(tmp_path, values, fitted=("actuation/*/kp", "sensing/*/bias"))
    identifying.identified(made)
    assert abs(estimates(made)[0].point[zero] - 0.04) < 0.01


def test_commands_of_a_hand_that_trembles_are_late_by_a_person_and_not_by_a_bus(tmp_path):
    """Free motion tells how late they are; who makes them so, that somebody trembles."""
    tremor = {"human/tremor_amplitude": 0.03, "human/tremor_frequency": 9.0}
    usual = ("latency/action_delay", "actuation/*/kp", "actuation/*/frictionloss")
    person = {"human/reaction_delay": 0.1, **tremor}
    made = recorded_robot(tmp_path, person, fitted=usual, motions=("multisine", "steps"))
    identifying.identified(made)
    arm = estimates(made)[0]
    assert abs(arm.point["human/reaction_delay"] - 0.1) < 0.01
    assert "latency/action_delay" not in arm.point


def test_a_person_who_answers_late_leaves_nothing_that_no_number_explains(tmp_path):
    """Motions begin while the arm still does what the one before has told."""
    made = recorded_robot(tmp_path, {"human/reaction_delay": 0.35}, fitted=FITTED)
    identifying.identified(made)
    arm = estimates(made)[0]
    assert abs(arm.point["human/reaction_delay"] - 0.35) < 0.002
    assert not doubts_of((arm,)) and max(arm.fitted.after.values()) < 0.001
    assert residual_of(made) is None


def test_a_jaw_whose_zero_is_off_is_told_by_its_stops(tmp_path):
    """No motion in free air shows it: the servo drives what it reads to what it is told."""
    zero = "actuation/gripper/zero_offset"
    wanted = replace(TINY, motions=("prbs", "stops"), seconds=60.0)
    made = recorded_robot(tmp_path, {zero: -0.2}, wanted=wanted)
    assert identifying.identified(made).endswith("; its stops say that the jaw's zero is off")
    assert abs(estimates(made)[-1].point[zero] + 0.2) < 0.02
    reading.bank(made)
    reading.diagnosed(made)
    identifying.narrowed(made)
    space = Space.load(made.path("narrow/space.json"))
    drawn = space.sample(np.random.default_rng(0), 200).values[:, space.index(zero)]
    assert abs(drawn.mean() + 0.2) < 0.01 and drawn.std() < 0.03
    without = replace(made, settings=replace(made.settings, motions=("prbs",)))
    recording.record(without)
    identifying.identified(without)
    assert zero not in {name for one in estimates(without) for name in one.point}


def test_what_no_number_explains_is_learnt_and_trained_with(tmp_path):
    """Teeth of gears that no parameter has."""
    teeth = {"effect": "gear_ripple", "torque": 0.5, "teeth": 16}
    made = recorded_robot(tmp_path, {}, beyond=[teeth], fitted=("latency/action_delay",))
    told = identifying.identified(made)
    assert "was left aside; of what no number explains" in told and "% was learnt" in told
    reading.bank(made)
    reading.diagnosed(made)
    identifying.narrowed(made)
    space = Space.load(made.path("narrow/space.json"))
    assert SHARE in space
    why = json.loads(made.path("narrow/why.json").read_text())["sentences"]
    assert "was learnt from recordings" in why[-1]
    motion = Dataset.open(made.path(DATA))[1]
    off = [
        replayed(world, [motion], at, signals=[JOINT]).tracks[0][JOINT].rmse.mean()
        for world, at in ((made.bare, {}), identified_in(made, made.bare))
    ]
    assert off[1] < 0.95 * off[0]
    assert "trued-up simulator" in training.retrain(made)
    mean = CONTROLS["mean"][1](made)
    assert mean[SHARE].belief == Fixed(1.0)


def test_an_arm_that_its_numbers_explain_has_nothing_to_learn(tmp_path):
    made = recorded_robot(
        tmp_path, {"latency/action_delay": 0.06}, fitted=("latency/action_delay",)
    )
    assert "learnt" not in identifying.identified(made)
    assert residual_of(made) is None
