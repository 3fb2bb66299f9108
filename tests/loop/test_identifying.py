"""Identifying in a run: a fit that predicts nothing is not trained with."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.loop.turns import JOINTS, REACH, TINY, job, without_plan
from trueup.loop.estimates import estimates
from trueup.loop.stages import identifying, reading, recording, training, trying


def recorded_robot(tmp_path, values, **settings):
    """A run on a robot with some hidden values, up to its recordings."""
    reality = {"trueup_reality": 1, "story": "Bent.", "world": REACH, "values": values}
    (tmp_path / "bent.json").write_text(json.dumps(reality))
    robot = f"rehearsal:{tmp_path / 'bent.json'}@{REACH}"
    motions = ("prbs", "triangle", "chirp")
    wanted = replace(TINY, robot=robot, motions=motions, seconds=60.0, check=True, **settings)
    made = job(tmp_path, wanted)
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
