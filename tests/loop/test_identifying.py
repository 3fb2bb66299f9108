"""Identifying in a run: a fit that predicts nothing is not trained with."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.loop.turns import JOINTS, REACH, TINY, job, without_plan
from trueup.loop.estimates import estimates
from trueup.loop.stages import identifying, reading, recording, training, trying


def test_a_fit_that_is_no_better_than_the_model_is_left_aside(tmp_path):
    """Encoders that all read 50 mrad too much, and only a delay to explain it by."""
    values = {f"sensing/{joint}/bias": 0.05 for joint in JOINTS}
    reality = {"trueup_reality": 1, "story": "Shifted.", "world": REACH, "values": values}
    (tmp_path / "shifted.json").write_text(json.dumps(reality))
    settings = replace(
        TINY,
        robot=f"rehearsal:{tmp_path / 'shifted.json'}@{REACH}",
        motions=("prbs", "triangle", "chirp"),
        seconds=60.0,
        check=True,
    )
    made = job(tmp_path, settings)
    training.start(made)
    trying.tried(made, "train/policy", "before", check=False)
    without_plan(made)
    recording.record(made)
    assert "no better than the model did, and was left aside" in identifying.identified(made)
    assert estimates(made) == ()
    reading.bank(made)
    reading.diagnosed(made)
    assert identifying.narrowed(made).startswith("0 numbers as identified")
